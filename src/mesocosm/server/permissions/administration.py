"""Administration: accounts, signing keys, the audit log, the state of the server."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from pydantic import SecretStr

from mesocosm import __version__
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.auth.passwords import generated
from mesocosm.server.auth.principal import SERVER, Role
from mesocosm.server.managed_models import ManagedModel, managed_models, save_model, seal_key
from mesocosm.server.model_catalogue import Offer, ServedModel, name_fault, served_fault
from mesocosm.server.model_check import forget_check
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.account import AuditPage, AuditRow, KeyRotated, UserCreated, UserPage, UserRow
from mesocosm.server.schemas.document import discreet, instant, moment
from mesocosm.server.schemas.model import (
    ManagedModelDocument,
    ManagedModelList,
    ManagedModelWorkspace,
    ModelInput,
    ModelPrice,
)
from mesocosm.server.schemas.system import (
    FailedRun,
    InFlightDocument,
    ObjectCounts,
    QueueDocument,
    StatusDocument,
    WorkerDocument,
)
from mesocosm.server.service import Service
from mesocosm.server.settings import ModelEntry
from mesocosm.server.workspace_secrets import encrypting_keys
from mesocosm.store.counts import FailedRequest
from mesocosm.store.users import User
from mesocosm.store.workers import Worker

if TYPE_CHECKING:
    from mesocosm.server.auth.accounts import Accounts

FIRST_ADMIN = "admin"
"""User name of the first administrator of a new server."""

_ACTORS = {"user": "member", "guest": "guest"}


class Administration(GrantedObject):
    """Actions of administrators. Raises Refusal 403 for other callers.

    Every change is recorded under `actor`, by default the caller. Administrators cannot disable or demote themselves,
    and at least one always remains.
    """

    def __init__(self, service: Service, viewer: Viewer, actor: str = "") -> None:
        if not viewer.sees_all:
            raise Refusal(403, "only administrators may do that")
        super().__init__(service, viewer)
        self._actor = actor or viewer.caller.actor

    @property
    def _accounts(self) -> "Accounts":
        return self._service.accounts

    def users(self, limit: int, cursor: int | None = None) -> UserPage:
        """Return a page of accounts, newest first; `cursor` is the last id seen."""
        found = self._store.users.list(limit=limit + 1, cursor=cursor)
        page = found[:limit]
        more = page[-1].id if len(found) > limit else None
        return UserPage(users=[_row(user) for user in page], next_cursor=more)

    def find(self, name: str) -> UserRow:
        """Return an account by its name or its id. Raises Refusal 404."""
        user = self._store.users.named(name)
        if user is None and name.isascii() and name.isdigit():
            user = self._store.users.get(int(name[:20]))
        if user is None:
            raise Refusal(404, f"there is no user {name!r}; `mesocosm admin user list` shows who there is")
        return _row(user)

    def add(self, username: str, password: str | None, role: str) -> UserCreated:
        """Create an account, with a generated password if `password` is None. Raises Refusal 409, 422."""
        made = generated() if password is None else None
        user = self._accounts.add_user(username, made or password or "", role)
        self._note("user.add", user, {"username": user.username, "role": role})
        return UserCreated(**_fields(user), password=made)

    def disable(self, user_id: int) -> UserRow:
        """Disable an account and end all its tokens and logins. Raises Refusal 404, 409."""
        user = self._get(user_id)
        self._keep_one(user, "disable")
        self._store.users.set_disabled(user_id, disabled=True)
        self._accounts.end_sessions(user)
        self._note("user.disable", user)
        return _row(self._get(user_id))

    def enable(self, user_id: int) -> UserRow:
        """Enable an account again. Raises Refusal 404."""
        user = self._get(user_id)
        self._store.users.set_disabled(user_id, disabled=False)
        self._note("user.enable", user)
        return _row(self._get(user_id))

    def set_role(self, user_id: int, role: str) -> UserRow:
        """Change the role of an account. Raises Refusal 404, 409."""
        user = self._get(user_id)
        if role != Role.ADMIN:
            self._keep_one(user, "demote")
        self._store.users.set_role(user_id, role)
        self._note("user.role", user, {"role": role})
        return _row(self._get(user_id))

    def set_budget(self, user_id: int, budget_usd: float | None) -> UserRow:
        """Set the budget of an account per 24 hours, in US dollars. Raises Refusal 404."""
        user = self._get(user_id)
        self._store.users.set_budget(user_id, budget_usd)
        self._note("user.budget", user, {"budget_usd": budget_usd})
        return _row(self._get(user_id))

    def reset_password(self, user_id: int, password: str | None = None) -> UserCreated:
        """Replace the password of an account and end all its logins and tokens. Raises Refusal 404, 422."""
        user = self._get(user_id)
        made = generated() if password is None else None
        user = self._accounts.change_password(user, made or password or "")
        self._store.personal_tokens.remove_all(user_id)
        self._note("user.reset", user)
        return UserCreated(**_fields(user), password=made)

    def end_sessions(self, user_id: int) -> UserRow:
        """End all logins of an account; personal tokens stay valid. Raises Refusal 404."""
        user = self._accounts.end_sessions(self._get(user_id))
        self._note("user.end_sessions", user)
        return _row(user)

    def rotate_keys(self, *, at_once: bool) -> KeyRotated:
        """Sign tokens with a new key; older tokens stay valid until they expire, with `at_once` they end."""
        key = self._accounts.rotate_keys(at_once=at_once)
        self._store.audit.note(self._actor, "keys.rotate", f"key:{key}", {"at_once": at_once}, self._viewer.address)
        return KeyRotated(key_id=key)

    def audit(self, cursor: str | None, limit: int) -> AuditPage:
        """Return a page of the audit log, newest first; `cursor` is the last id seen."""
        found = self._store.audit.list(cursor, limit + 1)
        page = found[:limit]
        rows = [
            AuditRow.model_validate({**msgspec.structs.asdict(entry), "at": instant(entry.at), "object": entry.target})
            for entry in page
        ]
        return AuditPage(entries=rows, next_cursor=page[-1].id if len(found) > limit else None)

    def status(self) -> StatusDocument:
        """Return counts of all objects, the queue, the workers and the latest failures."""
        counts, lease_s = self._store.counts, self._service.settings.lease_s
        taken, queue = counts.take(lease_s), self._store.workers.queue()
        return StatusDocument(
            counts=ObjectCounts(
                runs=taken.runs,
                episodes=taken.episodes,
                developer_envs=taken.environments,
                bench_jobs=taken.batch_runs,
                builds=taken.builds,
                orders=taken.requests,
            ),
            in_flight=InFlightDocument(
                active_run_tasks=queue.runs_claimed,
                active_episode_tasks=counts.going(),
                active_builds=queue.builds_claimed,
                sandbox_port_pool_in_use=0,
                sandbox_port_pool_total=0,
                sandbox_reachable=taken.workers > 0,
            ),
            queue=QueueDocument(runs=queue.runs_queued, builds=queue.builds_queued, oldest_seconds=taken.queue_age_s),
            workers=[_worker(worker, lease_s) for worker in self._store.workers.list()],
            recent_failures=[_failure(failed) for failed in counts.recent_failures()],
            reaper_enabled=taken.workers > 0,
            tokens={"input": taken.input_tokens, "output": taken.output_tokens},
            cost_usd=taken.cost_usd,
            version=__version__,
        )

    def models(self) -> ManagedModelList:
        """Return all models of the server; no key is shown."""
        return ManagedModelList(models=[self._model(offer) for offer in self._service.catalogue.offers()])

    def set_model(self, name: str, given: ModelInput) -> ManagedModelDocument:
        """Add a model, or change one. Raises Refusal 422 for what cannot be used, InfrastructureError without a key to
        encrypt with; 409 on a laptop.
        """
        if self._service.local:
            raise Refusal(409, "models are managed on servers only; on this machine, name any model in the command")
        if fault := name_fault(name):
            raise Refusal(422, f"the name {name[:200]!r} {fault}")
        served = given.served_as.strip()
        if served and (fault := served_fault(served)):
            raise Refusal(422, f"{served[:200]!r} {fault}", field="served_as")
        before = self._managed(name)
        kept = before.sealed if before is not None and before.entry.served_as == served else ""
        entry = ModelEntry(
            name=name,
            served_as=served,
            workspaces=tuple(self._workspace_id(one) for one in given.workspaces),
            **given.model_dump(exclude={"served_as", "key", "workspaces"}),
        )
        if given.key is not None:
            value = given.key.get_secret_value().strip()
            kept = seal_key(encrypting_keys(self._service), name, SecretStr(value)) if value else ""
        save_model(self._store, ManagedModel(entry, kept))
        detail = {key: value for key, value in entry.model_dump(mode="json").items() if key not in {"name", "key"}}
        changed = "unchanged" if given.key is None else "set" if kept else "removed"
        self._note_model("set", name, {**detail, "served_as": discreet(served), "key": changed})
        forget_check(self._service, name, served or name)
        found = next(offer for offer in self._service.catalogue.offers() if offer.entry.name == name)
        return self._model(found)

    def delete_model(self, name: str) -> None:
        """Remove a model that was added here, or undo the changes of one of the settings. Raises Refusal 404."""
        known = self._managed(name)
        if known is None:
            raise Refusal(
                404, f"the model {name[:200]!r} was not added or changed here; those of the settings can be disabled"
            )
        self._store.models.delete(name)
        forget_check(self._service, name, known.entry.served_as or name)
        self._note_model("delete", name, {})

    def _managed(self, name: str) -> ManagedModel | None:
        return next((one for one in managed_models(self._store) if one.entry.name == name), None)

    def _model(self, offer: Offer) -> ManagedModelDocument:
        entry, managed = offer.entry, offer.managed
        price = ServedModel(entry.name, entry.served_as or entry.name, entry).price
        return ManagedModelDocument(
            name=entry.name,
            served_as=discreet(entry.served_as),
            title=entry.title,
            provider=offer.provider,
            guests=entry.guests,
            full_bench=entry.full_bench,
            disabled=entry.disabled,
            available=not offer.reason,
            reason=offer.reason,
            source="settings" if managed is None else "added" if offer.base is None else "changed",
            key="stored" if managed is not None and managed.sealed else "variable" if entry.key else "none",
            variable="" if managed is not None and managed.sealed else entry.key,
            price=None if price is None else ModelPrice(input=price.input, output=price.output),
            own_price=entry.price is not None,
            parallel=entry.parallel,
            workspaces=[self._named_workspace(one) for one in entry.workspaces],
        )

    def _workspace_id(self, reference: str) -> str:
        found = self._store.workspaces.membership(reference, self._viewer.user_id)
        if found is None:
            raise Refusal(422, f"there is no workspace {reference[:200]!r}", field="workspaces")
        return found.workspace.id

    def _named_workspace(self, reference: str) -> ManagedModelWorkspace:
        found = self._store.workspaces.membership(reference, self._viewer.user_id)
        known = None if found is None else found.workspace
        return ManagedModelWorkspace(
            id="" if known is None else known.id, name=reference if known is None else known.name
        )

    def _note_model(self, action: str, name: str, detail: dict[str, object]) -> None:
        self._store.audit.note(self._actor, f"model.{action}", f"model:{name}", detail, self._viewer.address)

    def _get(self, user_id: int) -> User:
        user = self._store.users.get(user_id)
        if user is None:
            raise Refusal(404, f"there is no user {user_id}; `mesocosm admin user list` shows who there is")
        return user

    def _keep_one(self, user: User, what: str) -> None:
        if user.actor == self._actor:
            raise Refusal(409, f"you cannot {what} yourself; ask another administrator")
        if user.role == Role.ADMIN and not user.disabled and self._store.users.count_admins() < 2:
            raise Refusal(409, f"{user.username!r} is the only administrator; make another one first")

    def _note(self, action: str, user: User, detail: dict[str, object] | None = None) -> None:
        self._store.audit.note(self._actor, action, user.actor, detail or {}, self._viewer.address)


def system_administration(service: Service, actor: str) -> Administration:
    """Return the administration of a server for a command run on its machine."""
    return Administration(service, service.viewer(SERVER), actor)


def first_admin(service: Service) -> tuple[str, str] | None:
    """Create an administrator and return their name and password; return None if an enabled one exists."""
    accounts, password = service.accounts, generated()
    for name in _names():
        # Another server of the same database may have created one.
        if service.store.users.count_admins() > 0:
            return None
        try:
            user = accounts.add_user(name, password, role="admin")
        except Refusal:
            continue
        service.store.audit.note("system:serve", "user.add", user.actor, {"username": name, "role": "admin"})
        return name, password
    return None


def _names() -> Iterator[str]:
    """Yield names to try, because members may have taken the first ones."""
    yield FIRST_ADMIN
    yield from (f"{FIRST_ADMIN}-{number}" for number in range(2, 100))


def _fields(user: User) -> dict[str, Any]:
    return {
        "id": user.id,
        "username": user.username,
        "role": user.role,
        "disabled": user.disabled,
        "oidc": user.subject is not None,
        "budget_usd": user.budget_usd,
        "created_at": instant(user.created_at),
        "last_login_at": moment(user.last_login_at),
    }


def _row(user: User) -> UserRow:
    return UserRow(**_fields(user))


def _worker(worker: Worker, lease_s: float) -> WorkerDocument:
    return WorkerDocument(
        id=worker.id,
        host=worker.holder.host,
        pid=worker.holder.pid,
        version=worker.version,
        capacity=worker.capacity,
        running=worker.running,
        started_at=instant(worker.started_at),
        heartbeat_at=instant(worker.heartbeat_at),
        alive=not worker.dead(lease_s, time.time()),
    )


def _failure(failed: FailedRequest) -> FailedRun:
    kind = _ACTORS.get(failed.actor.partition(":")[0], "system")
    changed = {"actor_type": kind, "actor_id": failed.actor, "ended_at": moment(failed.ended_at)}
    return FailedRun.model_validate({**msgspec.structs.asdict(failed), **changed})
