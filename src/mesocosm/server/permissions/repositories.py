"""The repository of a workspace and its syncs, reached from a workspace that was granted."""

import secrets
from collections.abc import Sequence

from pydantic import SecretStr

from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.builds.sync import identity_of, read_repository
from mesocosm.server.builds.synced_commit import find_sync
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.permissions.repository_hooks import HOOK_SECRET, hook_holder
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.document import instant, moment
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
from mesocosm.server.workspace_secrets import set_secret
from mesocosm.store.repositories import Repository, Sync, new_repository
from mesocosm.store.workspaces import Workspace


class VisibleRepository(GrantedObject):
    """The repository of a workspace that the caller is a member of."""

    def __init__(self, service: Service, viewer: Viewer, workspace: Workspace) -> None:
        super().__init__(service, viewer)
        self._workspace = workspace

    def document(self) -> RepositoryDocument:
        """Return the repository. Raises Refusal 404 if none is connected."""
        return _repository(self._connected())

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
        identity = identity_of(source)
        row = new_repository(
            self._workspace.id,
            identity,
            source.url,
            folder=source.folder,
            branch=source.ref,
            created_by=self._viewer.account_id,
        )
        if self._store.repositories.connect(row) is None:
            known = self._store.repositories.of(self._workspace.id)
            name = f"the workspace {self._workspace.name!r}"
            if known is None:
                raise Refusal(404, f"{name} was deleted")
            raise Refusal(409, f"{name} is connected with {known.identity} already; disconnect it first")
        self._note("connect", {"identity": identity, "folder": source.folder, "branch": source.ref})
        self._queue(row, source.ref, "", self._viewer.account_id)
        return _repository(row)

    def renew_hook(self) -> RepositoryHookDocument:
        """Give the webhook a new secret, and return it. Raises Refusal 404 if no repository is connected."""
        repository, secret = self._connected(), secrets.token_urlsafe(32)
        holder = hook_holder(repository.id)
        set_secret(self._service, self._workspace.id, holder, HOOK_SECRET, SecretStr(secret), self._viewer.account_id)
        self._note("hook", {"identity": repository.identity})
        base = self._service.settings.public_url.rstrip("/")
        return RepositoryHookDocument(url=f"{base}/api/hooks/git/{repository.id}", secret=secret)

    def disconnect(self) -> None:
        """Disconnect the repository. Runs keep what was synced. Raises Refusal 404 if none is connected."""
        repository = self._connected()
        self._store.workspace_secrets.delete(self._workspace.id, hook_holder(repository.id), HOOK_SECRET)
        if self._store.repositories.disconnect(repository.id):
            self._note("disconnect", {"identity": repository.identity})


def _repository(row: Repository) -> RepositoryDocument:
    return RepositoryDocument(
        id=row.id,
        identity=row.identity,
        url=row.url,
        folder=row.folder,
        branch=row.branch,
        checked_at=moment(row.checked_at),
        error=row.error,
        created_at=instant(row.created_at),
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
