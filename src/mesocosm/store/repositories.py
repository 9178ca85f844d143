"""Git repositories of workspaces, and their syncs: the queue of syncs and what they found."""

import time
from enum import StrEnum
from typing import Any

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    and_,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from mesocosm.core.ids import new_id
from mesocosm.store.bell import ring
from mesocosm.store.clock import now
from mesocosm.store.database import Database
from mesocosm.store.rows import json_text, plain, record_of, values_of
from mesocosm.store.schedules import add_runs_of_sync
from mesocosm.store.tenancy import repositories, syncs

MOST_TRIES = 3
"""Attempts per sync: if it crashes its worker each time, the repository is at fault."""


class SyncCause(StrEnum):
    """What asked for a sync."""

    PUSH = "push"
    POLL = "poll"
    HAND = "hand"
    SUBMIT = "submit"


class SyncState(StrEnum):
    """State of a sync; the last two are final."""

    PENDING = "pending"
    SYNCING = "syncing"
    SUCCESS = "success"
    FAILED = "failed"


UNFINISHED = (SyncState.PENDING.value, SyncState.SYNCING.value)


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """The repository of a workspace. Times are UNIX seconds.

    `folder` is empty if the workspace is its root, `branch` if its default branch is followed; `syncs` is the number
    of the newest sync. `checked_at` is when polling last asked for new commits, `error` what went wrong then, and
    `status_error` when the Git host was last told the status of a commit.
    """

    id: str
    workspace_id: str
    identity: str
    url: str
    folder: str = ""
    branch: str = ""
    syncs: int = 0
    checked_at: float | None = None
    error: str = ""
    created_by: int | None = None
    created_at: float = 0.0
    deleted_at: float | None = None
    status_error: str = ""


class SyncedRollout(msgspec.Struct, frozen=True):
    """A folder below `rollouts/`: its entry points, and what its pyproject.toml declares."""

    name: str
    entrypoints: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    requires_python: str = ""


class SyncedConfiguration(msgspec.Struct, frozen=True):
    """A file below `configs/eval/`; what it names is empty if it is invalid. `secrets` are names that it requires."""

    path: str
    valid: bool
    rollout: str = ""
    entrypoint: str = ""
    model: str = ""
    dataset: str = ""
    secrets: tuple[str, ...] = ()


class SyncFault(msgspec.Struct, frozen=True):
    """Something to mend in a file of the workspace; `line` is 0 if it is not known."""

    path: str
    message: str
    line: int = 0
    fix: str = ""


class Sync(msgspec.Struct, frozen=True, kw_only=True):
    """A sync. `wanted` is the commit that was asked for, empty for the newest of `branch` (empty: the default branch).

    `snapshot` is the digest of the workspace directory at that commit, None until it succeeded.
    """

    repository_id: str
    number: int
    branch: str = ""
    wanted: str = ""
    cause: SyncCause = SyncCause.HAND
    state: SyncState = SyncState.PENDING
    commit_id: str = ""
    author: str = ""
    message: str = ""
    committed_at: float | None = None
    snapshot: str | None = None
    rollouts: tuple[SyncedRollout, ...] = ()
    configurations: tuple[SyncedConfiguration, ...] = ()
    faults: tuple[SyncFault, ...] = ()
    error: str = ""
    requested_by: int | None = None
    created_at: float = 0.0
    started_at: float | None = None
    ended_at: float | None = None
    claimed_by: str | None = None
    lease_until: float | None = None
    tries: int = 0


class WorkspaceRepositories:
    """The repositories of workspaces; each has at most one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def connect(self, wanted: Repository) -> Repository | None:
        """Store a repository and return it; None if its workspace has one already, or is gone."""
        try:
            self._database.execute(self._database.insert(repositories).values(values_of(wanted)))
        except IntegrityError:
            # When repeated after an unnoticed commit, the row is our own.
            found = self.of(wanted.workspace_id)
            return found if found is not None and found.id == wanted.id else None
        return wanted

    def of(self, workspace_id: str) -> Repository | None:
        """Return the repository of a workspace; None if there is none."""
        return self._one(repositories.c.workspace_id == plain(workspace_id))

    def get(self, repository_id: str) -> Repository | None:
        """Return a repository that is connected; None for any other id."""
        return self._one(repositories.c.id == plain(repository_id))

    def disconnect(self, repository_id: str) -> bool:
        """Mark a repository as deleted and fail its unfinished syncs. Return whether it was connected."""

        def work(connection: Connection) -> bool:
            at = now(connection)
            gone = update(repositories).where(repositories.c.id == plain(repository_id), _connected)
            done = connection.execute(gone.values(deleted_at=at)).rowcount > 0
            going = and_(syncs.c.repository_id == plain(repository_id), syncs.c.state.in_(UNFINISHED))
            over = {"state": SyncState.FAILED, "error": "the repository was disconnected", "ended_at": at}
            connection.execute(update(syncs).where(going).values(claimed_by=None, **over))
            return done

        return self._database.write(work)

    def follow(self, repository_id: str, branch: str) -> None:
        """Follow a branch from now on, if none was chosen yet."""
        unset = and_(repositories.c.id == plain(repository_id), repositories.c.branch == "")
        self._database.execute(update(repositories).where(unset).values(branch=plain(branch)))

    def due(self, interval_s: float) -> Repository | None:
        """Return a repository that was not asked for new commits for `interval_s` seconds, and note that it is now."""

        def work(connection: Connection) -> Repository | None:
            at = now(connection)
            last = func.coalesce(repositories.c.checked_at, repositories.c.created_at)
            wanted = select(repositories).where(_connected, last < at - interval_s).order_by(last).limit(1)
            row = connection.execute(wanted.with_for_update(skip_locked=True)).mappings().first()
            if row is None:
                return None
            connection.execute(update(repositories).where(repositories.c.id == row["id"]).values(checked_at=at))
            return record_of(Repository, row, checked_at=at)

        return self._database.write(work)

    def note_checked(self, repository_id: str, error: str) -> None:
        """Store what went wrong when a repository was asked for new commits; empty if nothing did."""
        self._database.execute(
            update(repositories).where(repositories.c.id == plain(repository_id)).values(error=plain(error))
        )

    def note_status(self, repository_id: str, error: str) -> None:
        """Store what went wrong when the status of a commit was sent; empty if nothing did."""
        here = and_(repositories.c.id == plain(repository_id), repositories.c.status_error != plain(error))
        self._database.execute(update(repositories).where(here).values(status_error=plain(error)))

    def _one(self, condition: ColumnElement[bool]) -> Repository | None:
        row = self._database.one(select(repositories).where(condition, _connected))
        return None if row is None else record_of(Repository, row)


class Syncs:
    """Syncs of repositories. They are numbered from 1 in each repository."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, wanted: Sync) -> Sync | None:
        """Queue a sync with the next number, or return one of the same branch and commit that has not begun.

        None if the repository is not connected. The number and time of `wanted` are ignored.
        """
        same = and_(
            syncs.c.repository_id == plain(wanted.repository_id),
            syncs.c.branch == plain(wanted.branch),
            syncs.c.wanted == plain(wanted.wanted),
            syncs.c.state == SyncState.PENDING,
        )
        here = and_(repositories.c.id == plain(wanted.repository_id), _connected)

        def work(connection: Connection) -> Sync | None:
            # The row is locked: of two pushes at once, the second finds the sync of the first.
            number = connection.scalar(select(repositories.c.syncs).where(here).with_for_update())
            if number is None:
                return None
            known = connection.execute(select(syncs).where(same).order_by(syncs.c.number).limit(1)).mappings().first()
            if known is not None:
                return _sync(known)
            row = msgspec.structs.replace(wanted, number=number + 1, created_at=now(connection))
            connection.execute(update(repositories).where(here).values(syncs=row.number))
            connection.execute(insert(syncs).values(_values(row)))
            ring(connection)
            return row

        return self._database.write(work)

    def get(self, repository_id: str, number: int) -> Sync | None:
        """Return a sync; None if there is none."""
        row = self._database.one(select(syncs).where(_is(repository_id, number)))
        return None if row is None else _sync(row)

    def list(self, repository_id: str, *, limit: int, before: int | None = None) -> tuple[Sync, ...]:
        """Return the newest syncs of a repository, those before a number if one is given."""
        wanted = select(syncs).where(syncs.c.repository_id == plain(repository_id))
        if before is not None:
            wanted = wanted.where(syncs.c.number < before)
        return tuple(map(_sync, self._database.all(wanted.order_by(syncs.c.number.desc()).limit(limit))))

    def newest(self, repository_id: str, branch: str) -> Sync | None:
        """Return the last successful sync of a branch's newest commit; an empty branch is the default one."""
        return self._last(repository_id, syncs.c.branch == plain(branch), syncs.c.wanted == "")

    def last_tried(self, repository_id: str, branch: str, commit: str = "") -> Sync | None:
        """Return the last sync for a commit, or without one of a branch's newest commit; in any state."""
        what = syncs.c.wanted == plain(commit)
        wanted = select(syncs).where(
            syncs.c.repository_id == plain(repository_id), what if commit else what & (syncs.c.branch == plain(branch))
        )
        row = self._database.one(wanted.order_by(syncs.c.number.desc()).limit(1))
        return None if row is None else _sync(row)

    def of_commit(self, repository_id: str, commit: str) -> Sync | None:
        """Return the last successful sync of a commit, given by all of its digits or the first ones."""
        return self._last(repository_id, syncs.c.commit_id.startswith(plain(commit), autoescape=True))

    def unfinished(self, repository_id: str, branch: str, commit: str = "") -> Sync | None:
        """Return the newest waiting or running sync of a commit, or without one of a branch's newest commit."""
        what = (
            or_(syncs.c.wanted.startswith(plain(commit), autoescape=True), syncs.c.commit_id == plain(commit))
            if commit
            else and_(syncs.c.branch == plain(branch), syncs.c.wanted == "")
        )
        wanted = select(syncs).where(syncs.c.repository_id == plain(repository_id), syncs.c.state.in_(UNFINISHED), what)
        row = self._database.one(wanted.order_by(syncs.c.number.desc()).limit(1))
        return None if row is None else _sync(row)

    def branches(self, repository_id: str) -> tuple[str, ...]:
        """Return the branches of which a newest commit was synced."""
        wanted = select(syncs.c.branch).where(
            syncs.c.repository_id == plain(repository_id), syncs.c.state == SyncState.SUCCESS, syncs.c.wanted == ""
        )
        return tuple(row["branch"] for row in self._database.all(wanted.distinct()))

    def claim(self, worker_id: str, lease_s: float) -> Sync | None:
        """Lease the sync that waits longest for `lease_s` seconds; None if nothing is waiting.

        Syncs of one repository take turns, in the order of their numbers, so that the newest one is done last. A sync
        with an expired lease is taken over; after `MOST_TRIES` workers it fails.
        """
        at = self._database.read(now)
        until = at + lease_s
        mine = select(syncs).where(syncs.c.claimed_by == worker_id, syncs.c.lease_until == until)

        def work(connection: Connection) -> Sync | None:
            taken = connection.execute(mine).mappings().first()
            while taken is None:
                waiting = next_sync(at).with_for_update(of=syncs, skip_locked=True)
                found = connection.execute(waiting).mappings().first()
                if found is None:
                    return None
                here = _is(found["repository_id"], found["number"])
                if found["tries"] >= MOST_TRIES:
                    words = (
                        f"{MOST_TRIES} workers ended while they synced this commit; make the repository smaller, or "
                        "ask the server's administrators"
                    )
                    over = {"state": SyncState.FAILED, "error": words, "ended_at": at, "claimed_by": None}
                    connection.execute(update(syncs).where(here).values(over))
                    continue
                fields = {"claimed_by": worker_id, "lease_until": until, "tries": found["tries"] + 1}
                fields |= {"state": SyncState.SYNCING, "started_at": found["started_at"] or at}
                connection.execute(update(syncs).where(here).values(fields))
                taken = connection.execute(mine).mappings().first()
            return _sync(taken)

        return self._database.write(work)

    def renew(self, sync: Sync, lease_s: float) -> bool:
        """Extend the lease of a claimed sync; False if it has ended or belongs to another worker."""

        def work(connection: Connection) -> bool:
            renewed = update(syncs).where(_held(sync)).values(lease_until=now(connection) + lease_s)
            return bool(connection.execute(renewed).rowcount)

        return self._database.write(work)

    def release(self, sync: Sync) -> None:
        """Return a claimed sync to the queue without counting the try."""
        fields = {"state": SyncState.PENDING, "claimed_by": None, "lease_until": None, "tries": max(sync.tries - 1, 0)}
        self._database.execute(update(syncs).where(_held(sync)).values(fields))

    def save(self, sync: Sync) -> bool:
        """Store the outcome of a claimed sync; False if the claim was lost.

        Schedules that wait for new commits of its branch owe a run if it succeeded and found one.
        """
        fields = {name: value for name, value in _values(sync).items() if name in _FOUND}
        same = and_(_is(sync.repository_id, sync.number), syncs.c.claimed_by == sync.claimed_by)
        going = or_(syncs.c.ended_at.is_(None), syncs.c.ended_at == sync.ended_at)
        newest = (
            select(syncs.c.commit_id)
            .where(syncs.c.repository_id == plain(sync.repository_id), syncs.c.number != sync.number)
            .where(syncs.c.branch == plain(sync.branch), syncs.c.wanted == "", syncs.c.state == SyncState.SUCCESS)
            .order_by(syncs.c.number.desc())
            .limit(1)
        )
        run_ids = new_id()

        def work(connection: Connection) -> bool:
            if not connection.execute(update(syncs).where(same, going).values(fields)).rowcount:
                return False
            if sync.state is SyncState.SUCCESS and not sync.wanted and connection.scalar(newest) != sync.commit_id:
                add_runs_of_sync(self._database, connection, sync.repository_id, sync.branch, sync.commit_id, run_ids)
            return True

        return self._database.write(work)

    def drop(self, sync: Sync) -> None:
        """Delete a claimed sync: nothing was new."""
        self._database.execute(delete(syncs).where(_held(sync)))

    def _last(self, repository_id: str, *conditions: ColumnElement[bool]) -> Sync | None:
        wanted = select(syncs).where(
            syncs.c.repository_id == plain(repository_id), syncs.c.state == SyncState.SUCCESS, *conditions
        )
        row = self._database.one(wanted.order_by(syncs.c.number.desc()).limit(1))
        return None if row is None else _sync(row)


def new_repository(workspace_id: str, identity: str, url: str, **given: Any) -> Repository:
    """Return a repository to connect."""
    return Repository(
        id=new_id(), workspace_id=workspace_id, identity=identity, url=url, created_at=time.time(), **given
    )


_connected = repositories.c.deleted_at.is_(None)
_FOUND = frozenset(
    {
        *("branch", "state", "commit_id", "author", "message", "committed_at", "snapshot"),
        *("rollouts", "configurations", "faults", "error", "ended_at"),
    }
)


def _is(repository_id: str, number: int) -> ColumnElement[bool]:
    return and_(syncs.c.repository_id == plain(repository_id), syncs.c.number == number)


def _held(sync: Sync) -> ColumnElement[bool]:
    mine = and_(_is(sync.repository_id, sync.number), syncs.c.claimed_by == sync.claimed_by)
    return and_(mine, syncs.c.ended_at.is_(None))


def next_sync(at: float) -> Select[Any]:
    """Return the query for the next sync: the oldest one of those whose repository is not being synced."""
    other = syncs.alias()
    earlier = and_(other.c.repository_id == syncs.c.repository_id, other.c.number != syncs.c.number)
    held = and_(other.c.state == SyncState.SYNCING, other.c.lease_until >= at)
    first = and_(other.c.state.in_(UNFINISHED), other.c.number < syncs.c.number)
    free = or_(syncs.c.claimed_by.is_(None), syncs.c.lease_until < at)
    busy = exists(select(other.c.number).where(earlier, or_(held, first)))
    return (
        select(syncs)
        .where(syncs.c.state.in_(UNFINISHED), free, ~busy)
        .order_by(syncs.c.created_at, syncs.c.repository_id, syncs.c.number)
        .limit(1)
    )


def _sync(row: RowMapping) -> Sync:
    return record_of(Sync, row, cause=SyncCause(row["cause"]), state=SyncState(row["state"]), **decode_found(row))


def _values(sync: Sync) -> dict[str, Any]:
    return values_of(sync, cause=sync.cause.value, state=sync.state.value, **found_values(sync))


_LISTS: dict[str, msgspec.json.Decoder[Any]] = {
    "rollouts": msgspec.json.Decoder(tuple[SyncedRollout, ...]),
    "configurations": msgspec.json.Decoder(tuple[SyncedConfiguration, ...]),
    "faults": msgspec.json.Decoder(tuple[SyncFault, ...]),
}


def decode_found(row: RowMapping) -> dict[str, Any]:
    """Return what was found in a workspace directory: the rollouts, configurations and faults of a row."""
    return {name: lists.decode(row[name]) for name, lists in _LISTS.items()}


def found_values(record: msgspec.Struct) -> dict[str, str]:
    """Return the values of these columns."""
    return {name: plain(json_text(getattr(record, name))) for name in _LISTS}
