"""Which snapshot a branch or commit of a workspace's repository is: there, being synced, or synced from now on."""

import re
import time

from mesocosm.server.builds.sync import read_repository
from mesocosm.server.refusal import Refusal
from mesocosm.server.service import Service
from mesocosm.store.repositories import Repository, Sync, SyncCause, SyncState
from mesocosm.store.workspaces import Workspace

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SHORT_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_TOLD_S = 60.0
"""Seconds for which the reason of a failed sync is told before another one is tried."""


def find_sync(
    service: Service, repository: Repository, branch: str, commit: str, user_id: int | None, *, again: bool = True
) -> Sync:
    """Return the sync of a commit, given by all digits or the first ones, else of the newest commit of a branch.

    By default that is the branch which is followed. A sync that is waiting or going on comes before one that has
    succeeded, because it may bring a newer commit; if there is neither, one is queued, unless `again` is False and one
    has just failed. Raises Refusal: 404 if the repository was disconnected, a commit of which only the first digits
    are given is not synced, or a sync has just failed; 422 for what is no branch or commit.
    """
    syncs = service.store.syncs
    if commit and not _SHORT_COMMIT.fullmatch(commit):
        raise Refusal(422, f"{commit[:80]!r} is no commit; write its 40 digits, or at least the first 7")
    branch = branch or repository.branch
    if branch:
        branch = read_repository(service.settings, repository.url, "", branch).ref
    going = syncs.unfinished(repository.id, branch, commit)
    done = syncs.of_commit(repository.id, commit) if commit else syncs.newest(repository.id, branch)
    found = (done or going) if commit else (going or done)
    if found is not None:
        return found
    if commit and not _COMMIT.fullmatch(commit):
        raise Refusal(
            404, f"no commit {commit} of {repository.identity} is synced; write all of its digits, so that it can be"
        )
    last = None if again else syncs.last_tried(repository.id, branch, commit)
    if last is not None and last.state is SyncState.FAILED and time.time() - (last.ended_at or 0.0) < _TOLD_S:
        # A program that does not wait for syncs would start one after the other, and never learn why they fail.
        raise Refusal(
            404,
            f"{_named(branch, commit)} of {repository.identity} could not be synced (sync {last.number}): "
            f"{last.error}; mend that, and submit again in a minute",
        )
    wanted = Sync(
        repository_id=repository.id,
        number=0,
        branch=branch,
        wanted=commit,
        cause=SyncCause.SUBMIT,
        requested_by=user_id,
    )
    queued = syncs.add(wanted)
    if queued is None:
        raise Refusal(404, f"the repository {repository.identity} was disconnected")
    return queued


def synced_commit(service: Service, workspace: Workspace, branch: str, commit: str, user_id: int | None) -> Sync:
    """Return the sync with the snapshot of a branch or commit of a workspace, as `find_sync` finds it.

    Raises Refusal as it does, and 409 if there is no repository, or if the commit is being synced: `sync` in the answer
    is the number of the sync to wait for.
    """
    repository = service.store.repositories.of(workspace.id)
    if repository is None:
        raise Refusal(
            409,
            f"the workspace {workspace.name!r} has no repository; connect one with `mesocosm workspace connect`, or "
            "submit what is on your disk with --upload",
        )
    found = find_sync(service, repository, branch, commit, user_id, again=False)
    if found.state is not SyncState.SUCCESS or found.snapshot is None:
        what = _named(found.branch, commit)
        raise Refusal(
            409,
            f"{what} of {repository.identity} is being synced (sync {found.number}); submit again once it has ended: "
            f"mesocosm workspace syncs {found.number}",
            more={"sync": found.number},
        )
    return found


def _named(branch: str, commit: str) -> str:
    return f"commit {commit[:12]}" if commit else f"the branch {branch}" if branch else "the repository"
