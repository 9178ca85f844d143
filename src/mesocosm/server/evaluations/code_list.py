"""The code of a workspace that can be evaluated: the newest commits of its branches, and uploads."""

from collections.abc import Iterator, Mapping

from mesocosm.server.schemas.document import instant
from mesocosm.server.schemas.evaluation import CodeDocument
from mesocosm.server.schemas.repository import RolloutDocument, SyncedConfigurationDocument
from mesocosm.server.service import Service
from mesocosm.store.repositories import Sync
from mesocosm.store.snapshot_uploads import SnapshotUpload
from mesocosm.store.workspaces import Workspace

_BRANCHES, _UPLOADS = 50, 20
"""Maximum numbers of branches and of uploads that are listed."""


def code_of(service: Service, workspace: Workspace) -> list[CodeDocument]:
    """Return the code, the followed branch first, then by time, the newest first."""
    found = [*_commits(service, workspace), *_uploads(service, workspace)]
    return sorted(found, key=lambda one: (one.followed, one.at), reverse=True)


def _commits(service: Service, workspace: Workspace) -> Iterator[CodeDocument]:
    repository = service.store.repositories.of(workspace.id)
    if repository is None:
        return
    for branch in service.store.syncs.branches(repository.id)[:_BRANCHES]:
        newest = service.store.syncs.newest(repository.id, branch)
        if newest is not None:
            yield _commit(newest, followed=branch == repository.branch)


def _commit(sync: Sync, *, followed: bool) -> CodeDocument:
    return CodeDocument(
        kind="commit",
        branch=sync.branch,
        commit=sync.commit_id,
        snapshot="",
        dirty=False,
        followed=followed,
        message=sync.message,
        author=sync.author,
        at=instant(sync.ended_at or sync.created_at),
        sync=sync.number,
        rollouts=[RolloutDocument.of(one) for one in sync.rollouts],
        configurations=[SyncedConfigurationDocument.of(one) for one in sync.configurations],
    )


def _uploads(service: Service, workspace: Workspace) -> Iterator[CodeDocument]:
    found = service.store.snapshot_uploads.completed(workspace.id, _UPLOADS)
    names = {member.user_id: member.username for member in service.store.workspaces.members(workspace.id)}
    return (_upload(one, names) for one in found)


def _upload(upload: SnapshotUpload, names: Mapping[int, str]) -> CodeDocument:
    return CodeDocument(
        kind="upload",
        branch=upload.branch,
        commit=upload.commit_id,
        snapshot=upload.id,
        dirty=upload.dirty,
        followed=False,
        message="",
        author="" if upload.created_by is None else names.get(upload.created_by, ""),
        at=instant(upload.completed_at or upload.created_at),
        sync=None,
        rollouts=[RolloutDocument.of(one) for one in upload.rollouts],
        configurations=[SyncedConfigurationDocument.of(one) for one in upload.configurations],
    )
