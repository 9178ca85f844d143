"""The repository of a workspace and its syncs, reached from a workspace that was granted."""

import secrets
from collections.abc import Iterable, Sequence

from pydantic import SecretStr

from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.builds.commit_status import kind_of_host
from mesocosm.server.builds.git_credentials import (
    DEPLOY_KEY,
    HOST_KEYS,
    OPERATORS_HOST_KEYS,
    TOKEN,
    credential_holder,
)
from mesocosm.server.builds.repository_address import SSH_PORT, RepositorySource
from mesocosm.server.builds.sync import identity_of, read_repository
from mesocosm.server.builds.synced_commit import find_sync
from mesocosm.server.key_ring import PREFIX
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.permissions.repository_hooks import HOOK_SECRET
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.document import instant, moment
from mesocosm.server.schemas.git_credential import CredentialKind, GitCredentialDocument, GitCredentialInput
from mesocosm.server.schemas.repository import (
    RepositoryDocument,
    RepositoryHookDocument,
    RepositoryInput,
    RolloutDocument,
    SyncDetail,
    SyncDocument,
    SyncedConfigurationDocument,
    SyncedRolloutDocument,
    SyncFaultDocument,
    SyncInput,
)
from mesocosm.server.service import Service
from mesocosm.server.workspace_secrets import set_secret, usable_keys
from mesocosm.store.repositories import Repository, Sync, new_repository
from mesocosm.store.workspaces import Workspace

_KINDS: dict[str, CredentialKind] = {TOKEN: "token", DEPLOY_KEY: "deploy-key"}
_SECRETS = (HOOK_SECRET, TOKEN, DEPLOY_KEY, HOST_KEYS)


class VisibleRepository(GrantedObject):
    """The repository of a workspace that the caller is a member of."""

    def __init__(self, service: Service, viewer: Viewer, workspace: Workspace) -> None:
        super().__init__(service, viewer)
        self._workspace = workspace

    def document(self) -> RepositoryDocument:
        """Return the repository. Raises Refusal 404 if none is connected."""
        return self._document(self._connected())

    def syncs(self, limit: int, before: int | None) -> Sequence[SyncDocument]:
        """Return its syncs, the newest first, or those before a number; none if no repository is connected."""
        repository = self._store.repositories.of(self._workspace.id)
        if repository is None:
            return []
        return [_sync(one) for one in self._store.syncs.list(repository.id, limit=limit, before=before)]

    def sync(self, number: int) -> SyncDetail:
        """Return one sync with what it found. Raises Refusal 404."""
        repository = self._connected()
        found = self._store.syncs.get(repository.id, number)
        if found is None:
            raise Refusal(404, f"{repository.identity} has no sync {number}; list its syncs")
        return SyncDetail(
            sync=_sync(found),
            rollouts=[RolloutDocument.of(one) for one in found.rollouts],
            configurations=[SyncedConfigurationDocument.of(one) for one in found.configurations],
            faults=[
                SyncFaultDocument(path=one.path, line=one.line or None, message=one.message, fix=one.fix)
                for one in found.faults
            ],
        )

    def rollouts(self, branch: str) -> Sequence[SyncedRolloutDocument]:
        """Return the rollouts at the newest synced commit of a branch, by default of the followed one.

        Raises Refusal 404 if the branch was never synced; none if no repository is connected.
        """
        repository = self._store.repositories.of(self._workspace.id)
        if repository is None:
            return []
        newest = self._store.syncs.newest(repository.id, branch or repository.branch)
        if newest is None and branch:
            raise Refusal(404, f"the branch {branch!r} of {repository.identity} was never synced; sync it first")
        if newest is None:
            return []
        at = instant(newest.ended_at or newest.created_at)
        return [
            SyncedRolloutDocument(
                name=one.name,
                entrypoints=list(one.entrypoints),
                requirements=list(one.requirements),
                requires_python=one.requires_python,
                commit=newest.commit_id,
                branch=newest.branch,
                synced_at=at,
            )
            for one in newest.rollouts
        ]

    def _document(self, row: Repository) -> RepositoryDocument:
        credentials = self._credentials(row)
        has_token = any(one.kind == "token" for one in credentials)
        return RepositoryDocument(
            id=row.id,
            identity=row.identity,
            url=row.url,
            folder=row.folder,
            branch=row.branch,
            credentials=credentials,
            statuses=has_token and kind_of_host(self._service.settings, row.url) is not None,
            status_error=row.status_error,
            checked_at=moment(row.checked_at),
            error=row.error,
            created_at=instant(row.created_at),
        )

    def _credentials(self, row: Repository) -> list[GitCredentialDocument]:
        holder, ring = credential_holder(row.id), usable_keys(self._service)
        return [
            GitCredentialDocument(
                kind=_KINDS[secret.name],
                created_by=secret.creator,
                updated_at=instant(secret.updated_at),
                last_used_at=moment(secret.used_at),
                usable=ring is not None and ring.opens(secret.key),
            )
            for secret in self._store.workspace_secrets.list(self._workspace.id, [holder], PREFIX)
            if secret.name in _KINDS
        ]

    def _connected(self) -> Repository:
        found = self._store.repositories.of(self._workspace.id)
        if found is None:
            raise Refusal(
                404, f"the workspace {self._workspace.name!r} has no repository; one of its admins can connect one"
            )
        return found

    def _note(self, action: str, detail: dict[str, object]) -> None:
        self._store.audit.note(
            self._viewer.caller.actor, f"workspace.{action}", f"workspace:{self._workspace.id}", detail
        )


class WorkingRepository(VisibleRepository):
    """The repository of a workspace in which the caller may submit."""

    def start(self, wanted: SyncInput) -> SyncDocument:
        """Queue a sync, or return one of the same that has not begun, with `reuse` also one that has.

        Raises Refusal: 404 without a repository, 422 for what is no branch.
        """
        repository, user_id = self._connected(), self._viewer.account_id
        if wanted.reuse:
            return _sync(find_sync(self._service, repository, wanted.branch.strip(), wanted.commit, user_id))
        branch = wanted.branch.strip() or repository.branch
        if branch:
            branch = read_repository(self._service.settings, repository.url, "", branch).ref
        return _sync(self._queue(repository, branch, wanted.commit, user_id))

    def _queue(self, repository: Repository, branch: str, commit: str, user_id: int | None) -> Sync:
        wanted = Sync(repository_id=repository.id, number=0, branch=branch, wanted=commit, requested_by=user_id)
        found = self._store.syncs.add(wanted)
        if found is None:
            raise Refusal(404, f"the repository {repository.identity} was disconnected")
        return found


class ManagedRepository(WorkingRepository):
    """The repository of a workspace that the caller manages."""

    def connect(self, wanted: RepositoryInput) -> RepositoryDocument:
        """Connect a repository, and queue its first sync.

        Raises Refusal: 409 if the workspace has another one, 422 for an address that this server does not take.
        """
        source = read_repository(self._service.settings, wanted.url, wanted.folder, wanted.branch)
        if wanted.credentials is not None:
            _check_credentials(source, wanted.credentials)
        elif source.ssh:
            raise Refusal(
                422, f"{source.url} is read over SSH, which needs a deploy key; give one with it, or the https URL"
            )
        identity = identity_of(source)
        row = new_repository(
            self._workspace.id,
            identity,
            source.url,
            folder=source.folder,
            branch=source.ref,
            created_by=self._viewer.account_id,
        )
        known = self._store.repositories.of(self._workspace.id)
        if known is None and wanted.credentials is not None:
            # They come first, because the first sync needs them.
            self._store_credentials(row.id, wanted.credentials)
        if known is not None or self._store.repositories.connect(row) is None:
            self._delete_secrets(row.id)
            raise self._not_connected()
        self._note("connect", {"identity": identity, "folder": source.folder, "branch": source.ref})
        self._queue(row, source.ref, "", self._viewer.account_id)
        return self._document(row)

    def _not_connected(self) -> Refusal:
        known = self._store.repositories.of(self._workspace.id)
        name = f"the workspace {self._workspace.name!r}"
        if known is None:
            return Refusal(404, f"{name} was deleted")
        return Refusal(409, f"{name} is connected with {known.identity} already; disconnect it first")

    def set_credentials(self, wanted: GitCredentialInput) -> RepositoryDocument:
        """Set the token, the deploy key, or both; return the repository.

        Raises Refusal: 404 without a repository, 422 for what does not fit to its address.
        """
        repository = self._connected()
        _check_credentials(read_repository(self._service.settings, repository.url, "", ""), wanted)
        self._store_credentials(repository.id, wanted)
        given = [kind for kind, value in (("token", wanted.token), ("deploy-key", wanted.deploy_key)) if value]
        self._note("credentials", {"identity": repository.identity, "set": given})
        return self._document(repository)

    def delete_credential(self, kind: CredentialKind) -> None:
        """Delete the token or the deploy key. Raises Refusal 404 if there is none."""
        repository = self._connected()
        names = {"token": (TOKEN,), "deploy-key": (DEPLOY_KEY, HOST_KEYS)}
        if not self._delete_secrets(repository.id, names[kind]):
            raise Refusal(404, f"{repository.identity} has no {kind.replace('-', ' ')} here")
        self._note("credentials", {"identity": repository.identity, "deleted": [kind]})

    def _store_credentials(self, repository_id: str, wanted: GitCredentialInput) -> None:
        values: dict[str, SecretStr] = {}
        if wanted.token is not None:
            values[TOKEN] = SecretStr(f"{wanted.username}:{wanted.token.get_secret_value()}")
        if wanted.deploy_key is not None:
            values[DEPLOY_KEY] = wanted.deploy_key
        if wanted.host_keys.strip():
            values[HOST_KEYS] = SecretStr(wanted.host_keys)
        holder = credential_holder(repository_id)
        for name, value in values.items():
            set_secret(self._service, self._workspace.id, holder, name, value, self._viewer.account_id)

    def _delete_secrets(self, repository_id: str, names: Iterable[str] = _SECRETS) -> bool:
        """Delete secrets of a repository; return whether there was any."""
        holder, secrets = credential_holder(repository_id), self._store.workspace_secrets
        return sum(secrets.delete(self._workspace.id, holder, name) for name in names) > 0

    def renew_hook(self) -> RepositoryHookDocument:
        """Give the webhook a new secret, and return it. Raises Refusal 404 if no repository is connected."""
        repository, secret = self._connected(), secrets.token_urlsafe(32)
        holder = credential_holder(repository.id)
        set_secret(self._service, self._workspace.id, holder, HOOK_SECRET, SecretStr(secret), self._viewer.account_id)
        self._note("hook", {"identity": repository.identity})
        base = self._service.settings.public_url.rstrip("/")
        return RepositoryHookDocument(url=f"{base}/api/hooks/git/{repository.id}", secret=secret)

    def disconnect(self) -> None:
        """Disconnect the repository. Runs keep what was synced. Raises Refusal 404 if none is connected."""
        repository = self._connected()
        self._delete_secrets(repository.id)
        if self._store.repositories.disconnect(repository.id):
            self._note("disconnect", {"identity": repository.identity})


def _check_credentials(source: RepositorySource, given: GitCredentialInput) -> None:
    """Raise Refusal unless credentials fit to the address of a repository."""
    if source.local:
        raise Refusal(422, "a repository on this server's own disk is read without a credential")
    if given.deploy_key is None:
        return
    if not source.ssh:
        host, path = source.host, identity_of(source).partition("/")[2]
        raise Refusal(
            422,
            f"{source.url} is read over https, and a deploy key is for SSH; give a token instead, or connect "
            f"ssh://git@{host}/{path} with the key",
        )
    if not given.host_keys.strip() and not OPERATORS_HOST_KEYS.is_file():
        known_as = source.host if source.port == SSH_PORT else f"'[{source.host}]:{source.port}'"
        raise Refusal(
            422,
            f"the deploy key needs the host keys of {source.host}; give the lines of your known_hosts file for it "
            f"(ssh-keygen -F {known_as}), or those that ssh-keyscan prints once you have compared them with what "
            "the host publishes",
        )


def _sync(row: Sync) -> SyncDocument:
    return SyncDocument(
        number=row.number,
        status=row.state.value,
        trigger=row.cause.value,
        branch=row.branch,
        commit=row.commit_id or row.wanted,
        author=row.author,
        message=row.message,
        committed_at=moment(row.committed_at),
        rollouts=len(row.rollouts),
        configurations=len(row.configurations),
        faults=len(row.faults),
        error=row.error,
        snapshot=row.snapshot,
        requested_by=row.requested_by,
        created_at=instant(row.created_at),
        started_at=moment(row.started_at),
        ended_at=moment(row.ended_at),
    )
