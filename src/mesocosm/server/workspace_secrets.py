"""Secrets of workspaces: setting them, giving them to runs, hiding them in output, and changing the key.

Values are encrypted by `key_ring` and leave this module for a run's process alone, as `SecretStr`, which shows
asterisks wherever it is printed. No route calls `secrets_for`.
"""

import os
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal

import msgspec
from pydantic import SecretStr
from sqlalchemy.exc import IntegrityError

from mesocosm.core.failure import InfrastructureError, InvalidInput, Problem
from mesocosm.core.redact import SHORTEST, Redactor, secret_values
from mesocosm.server.key_ring import FILE_NAME, PREFIX, SETTINGS, KeyRing, add_key, missing_key, read_keys
from mesocosm.server.managed_models import managed_models, seal_again
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.workspace_secret import name_fault, value_fault
from mesocosm.server.service import Service
from mesocosm.store.workspace_secrets import WORKSPACE, SecretRow, StoredSecret, personal_holder, run_holder
from mesocosm.store.workspaces import ROLES

MOST = 200
"""Maximum number of secrets of a workspace, and of each member in it."""
_BATCH = 100
NO_SECRETS: Mapping[str, SecretStr] = MappingProxyType({})
"""The values of a run that comes without any."""


class SecretsRotation(msgspec.Struct, frozen=True):
    """What a change of keys did: the newest key, whether it is new, how many secrets it got, and which it could not."""

    key: str
    made: bool
    encrypted: int
    unreadable: tuple[StoredSecret, ...]


def set_secret(
    service: Service, workspace_id: str, holder: str, name: str, value: SecretStr, created_by: int | None
) -> SecretRow:
    """Encrypt and store a value. Raises Refusal, InfrastructureError without a usable key."""
    _check_server(service)
    if fault := name_fault(name):
        raise Refusal(422, fault)
    if fault := value_fault(value):
        raise Refusal(422, f"the value for {name} {fault}")
    ciphertext = encrypting_keys(service).encrypt(value, (workspace_id, holder, name))
    secrets = service.store.workspace_secrets
    try:
        done = secrets.put(workspace_id, holder, name, ciphertext, created_by, MOST)
    except IntegrityError:
        # Its text would repeat the row, so it is not passed on.
        raise Refusal(404, "the workspace was deleted, or your account is gone") from None
    if not done:
        raise Refusal(409, f"there are {MOST} secrets already, the most there may be; delete one first")
    row = secrets.get(workspace_id, holder, name, PREFIX)
    if row is None:
        raise Refusal(409, f"the secret {name} was deleted while it was set; set it again")
    return row


def provide_secrets(
    service: Service, workspace_id: str, run_id: str, values: Mapping[str, SecretStr], created_by: int | None
) -> None:
    """Encrypt and store the values that one run is submitted with, until it ends. Raises as `set_secret`."""
    for name, value in values.items():
        set_secret(service, workspace_id, run_holder(run_id), name, value, created_by)


def secrets_for(
    service: Service, workspace_id: str, user_id: int | None, names: Iterable[str], run_id: str = ""
) -> dict[str, SecretStr]:
    """Return the values that a run gets, by name; that they are used is noted and in the audit log.

    Only for what starts the run.

    Those that it was submitted with take precedence over secrets of the user, and these over those of the workspace;
    `user_id` None: none of a user. Raises
    Refusal 403 if the user may not submit there (any more), InvalidInput with all names without a value,
    InfrastructureError if one cannot be decrypted.
    """
    wanted = tuple(dict.fromkeys(names))
    if not wanted:
        return {}
    _check_member(service, workspace_id, user_id)
    found = _stored(service, workspace_id, user_id, wanted, run_id)
    if lacking := [name for name in wanted if name not in found]:
        fix = "mesocosm secret set NAME stores one"
        raise InvalidInput("secrets of the run", [Problem(name, "has no value", fix) for name in lacking])
    ring = read_keys(service.settings)
    values = {name: _opened(ring, found[name]) for name in wanted}
    service.store.workspace_secrets.note_used(found[name].id for name in wanted)
    scopes = {WORKSPACE: "workspace", run_holder(run_id): "run"}
    used = {name: scopes.get(found[name].holder, "personal") for name in wanted}
    what = f"run:{run_id}" if run_id else f"workspace:{workspace_id}"
    actor = "system:worker" if user_id is None else f"user:{user_id}"
    service.store.audit.note(actor, "secret.use", what, {"secrets": used})
    return values


def open_secrets(service: Service, workspace_id: str, holder: str, names: Iterable[str]) -> dict[str, SecretStr]:
    """Return the values of a holder that no run is, such as a repository, and note that they are used.

    Names without a value are left out. Raises InfrastructureError if one cannot be decrypted.
    """
    secrets = service.store.workspace_secrets
    found = secrets.stored(workspace_id, [holder], list(names))
    ring = read_keys(service.settings) if found else None
    values = {name: _opened(ring, secret) for name, secret in found.items()}
    if found:
        secrets.note_used(secret.id for secret in found.values())
    return values


def missing_secrets(service: Service, workspace_id: str, user_id: int | None, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names without a value for a user's run. Raises InfrastructureError if the key of one is missing."""
    wanted = tuple(dict.fromkeys(names))
    found = secret_scopes(service, workspace_id, user_id, wanted)
    return tuple(name for name in wanted if name not in found)


def secret_scopes(
    service: Service, workspace_id: str, user_id: int | None, names: Iterable[str]
) -> dict[str, Literal["workspace", "personal"]]:
    """Return whose value a run of a user gets for each name that has one.

    Raises InfrastructureError if the key of one is missing.
    """
    _check_server(service)
    found = _stored(service, workspace_id, user_id, tuple(dict.fromkeys(names)))
    ring = read_keys(service.settings) if found else None
    for secret in found.values():
        if ring is None or not ring.opens(secret.value):
            raise missing_key(secret.place, secret.value[:PREFIX], _source(ring))
    return {name: "workspace" if secret.holder == WORKSPACE else "personal" for name, secret in found.items()}


def hidden_texts(secrets: Mapping[str, SecretStr]) -> set[str]:
    """Return what must not be seen of the values of a run's secrets.

    Output arrives line by line, so long lines of a value are among it on their own too.
    """
    values = {secret.get_secret_value() for secret in secrets.values()}
    lines = {line for value in values for line in map(str.strip, value.splitlines()) if len(line) >= SHORTEST}
    return values | lines | {value.strip() for value in values}


def redactor_for(secrets: Mapping[str, SecretStr]) -> Redactor:
    """Return what hides the values of a run's secrets, besides those of this process's own variables."""
    return Redactor(hidden_texts(secrets) | secret_values(os.environ))


def usable_keys(service: Service) -> KeyRing | None:
    """Return the keys; None if there are none or they cannot be read. Only to show which secrets can be used."""
    try:
        return read_keys(service.settings)
    except InfrastructureError:
        return None


def rotate(service: Service, actor: str) -> SecretsRotation:
    """Encrypt every secret with the newest key, and before that, make one if the keys are in the data directory.

    Each value is replaced on its own and stays readable at every moment, so this may be killed and called again. Older
    keys are kept: copies of the database that were made before need them. Raises InfrastructureError.
    """
    settings, secrets = service.settings, service.store.workspace_secrets
    made = not settings.secrets_key.get_secret_value() and settings.secrets_key_file is None
    if made and read_keys(settings) is None and secrets.exist():
        raise _lost()
    ring = add_key(settings, first=False) if made else read_keys(settings)
    assert ring is not None
    prefix, count, unreadable, after = ring.prefix, 0, list[StoredSecret](), ""
    while batch := secrets.under_other_keys(prefix, after, _BATCH):
        for secret in batch:
            try:
                value = ring.decrypt(secret.value, secret.place)
            except InfrastructureError:
                later = None if ring.opens(secret.value) else read_keys(settings)
                if later is None or not later.opens(secret.value):
                    unreadable.append(secret)
                # Otherwise somebody else changes the keys at the same time, and this one has a newer key already.
                continue
            count += secrets.replace(secret, ring.encrypt(value, secret.place))
        after = batch[-1].id
    count += seal_again(service.store, ring)
    key = prefix.split(".")[1]
    service.store.audit.note(
        actor, "secret.rotate", f"key:{key}", {"encrypted": count, "unreadable": len(unreadable), "new_key": made}
    )
    return SecretsRotation(key, made, count, tuple(unreadable))


def encrypting_keys(service: Service) -> KeyRing:
    """Return the keys, the first of which is made if nothing is encrypted yet."""
    ring = read_keys(service.settings)
    if ring is None:
        # A new key where secrets exist would hide that theirs is lost, or that another host has it.
        if service.store.workspace_secrets.exist() or any(one.sealed for one in managed_models(service.store)):
            raise _lost()
        ring = add_key(service.settings, first=True)
    return ring


def _check_server(service: Service) -> None:
    if service.local:
        raise Refusal(409, "secrets are stored on servers only; on this machine, export the variable before the run")


def _check_member(service: Service, workspace_id: str, user_id: int | None) -> None:
    """Raise Refusal unless a user may submit runs in a workspace: they may have left after they submitted this one."""
    if user_id is None or service.settings.auth_disabled:
        return
    user, found = service.store.users.get(user_id), service.store.workspaces.membership(workspace_id, user_id)
    working = found is not None and found.role in ROLES[ROLES.index("member") :]
    if user is None or user.disabled or not (working or user.role == "admin"):
        raise Refusal(403, f"user {user_id}, whose run this is, is no working member of its workspace any more")


def _stored(
    service: Service, workspace_id: str, user_id: int | None, names: Iterable[str], run_id: str = ""
) -> Mapping[str, StoredSecret]:
    holders = [WORKSPACE, *([] if user_id is None else [personal_holder(user_id)])]
    holders += [run_holder(run_id)] if run_id else []
    return service.store.workspace_secrets.stored(workspace_id, holders, list(names))


def _opened(ring: KeyRing | None, secret: StoredSecret) -> SecretStr:
    if ring is None:
        raise missing_key(secret.place, secret.value[:PREFIX], _source(ring))
    return ring.decrypt(secret.value, secret.place)


def _source(ring: KeyRing | None) -> str:
    return f"{FILE_NAME} of the data directory, for there is no such file" if ring is None else ring.source


def _lost() -> InfrastructureError:
    return InfrastructureError(
        f"the database has secrets, but this server has no key for them: {FILE_NAME} is not in its data directory. "
        f"Bring the file back, or set {SETTINGS} to the key of the other hosts; docs/operate.md says what to do if "
        "the key is lost"
    )
