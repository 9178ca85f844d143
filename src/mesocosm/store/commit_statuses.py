"""Which runs of commits their Git host is still to be told of: that there is one, and how it ended."""

from typing import Any

import msgspec
from sqlalchemy import Connection, Select, and_, delete, or_, select, update

from mesocosm.core.run import RunStatus
from mesocosm.store.clock import now
from mesocosm.store.database import Database
from mesocosm.store.rows import plain, record_of
from mesocosm.store.run_requests import OPEN, RunRequest
from mesocosm.store.schema import runs
from mesocosm.store.tenancy import commit_statuses, requests

PENDING = "pending"
"""`CommitStatus.sent` once the host knows that there is a run."""

_GOING = (RunStatus.PENDING.value, RunStatus.RUNNING.value)


class CommitStatus(msgspec.Struct, frozen=True):
    """What the Git host knows of a run: nothing (`sent` is empty), or that it is pending.

    `attempts` counts those of the next one.
    """

    run_id: str
    sent: str = ""
    attempts: int = 0
    claimed_by: str | None = None
    lease_until: float | None = None


class CommitStatuses:
    """Statuses of commits that are still to be sent."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def claim(self, worker_id: str, lease_s: float) -> CommitStatus | None:
        """Lease the next status to send for `lease_s` seconds; None if nothing is due."""
        at = self._database.read(now)
        until = at + lease_s
        mine = and_(commit_statuses.c.claimed_by == worker_id, commit_statuses.c.lease_until == until)

        def work(connection: Connection) -> CommitStatus | None:
            taken = connection.execute(select(commit_statuses).where(mine)).mappings().first()
            if taken is None:
                due = due_statuses(at).order_by(commit_statuses.c.attempts, commit_statuses.c.next_at).limit(1)
                found = connection.execute(due.with_for_update(of=commit_statuses, skip_locked=True)).mappings().first()
                if found is None:
                    return None
                # The attempt counts from here, so that one that kills its worker is not repeated for ever.
                fields = {"claimed_by": worker_id, "lease_until": until, "attempts": found["attempts"] + 1}
                same = commit_statuses.c.run_id == found["run_id"]
                connection.execute(update(commit_statuses).where(same).values(fields))
                taken = connection.execute(select(commit_statuses).where(mine)).mappings().one()
            return record_of(CommitStatus, taken)

        return self._database.write(work)

    def superseded(self, request: RunRequest) -> bool:
        """Return whether a later run of the same configuration at the same commit was submitted in the workspace."""
        later = or_(
            requests.c.created_at > request.created_at,
            and_(requests.c.created_at == request.created_at, requests.c.run_id > request.run_id),
        )
        same = and_(
            requests.c.workspace_id == request.workspace_id,
            requests.c.commit_id == request.commit_id,
            requests.c.configuration == request.configuration,
        )
        return self._database.scalar(select(requests.c.run_id).where(same, later).limit(1)) is not None

    def told(self, status: CommitStatus) -> None:
        """Note that the host knows of the run, or is not told of it any more before it has ended."""
        fields = {"sent": PENDING, "attempts": 0, "claimed_by": None, "lease_until": None}
        self._database.execute(update(commit_statuses).where(_held(status)).values(fields))

    def postpone(self, status: CommitStatus, after_s: float) -> None:
        """Try a status again after some seconds."""

        def work(connection: Connection) -> None:
            fields = {"next_at": now(connection) + after_s, "claimed_by": None, "lease_until": None}
            connection.execute(update(commit_statuses).where(_held(status)).values(fields))

        self._database.write(work)

    def drop(self, status: CommitStatus) -> None:
        """Delete a status: its end was told, or nobody is to be told."""
        self._database.execute(delete(commit_statuses).where(_held(status)))


def note_commit_status(database: Database, connection: Connection, run_id: str) -> None:
    """Note that a run's status is to be sent. Part of the transaction that queues the run, also again."""
    at = now(connection)
    row = {"run_id": plain(run_id), "sent": "", "attempts": 0, "next_at": at}
    fresh = database.insert(commit_statuses).values(row)
    again = {"sent": "", "attempts": 0, "next_at": at, "claimed_by": None, "lease_until": None}
    connection.execute(fresh.on_conflict_do_update(index_elements=["run_id"], set_=again))


def due_statuses(at: float) -> Select[Any]:
    """Return the query for the statuses that a worker can send."""
    free = or_(commit_statuses.c.claimed_by.is_(None), commit_statuses.c.lease_until < at)
    ended = and_(requests.c.state.not_in(OPEN), runs.c.status.not_in(_GOING))
    return (
        select(commit_statuses)
        .join(requests, requests.c.run_id == commit_statuses.c.run_id)
        .join(runs, runs.c.id == commit_statuses.c.run_id)
        .where(commit_statuses.c.next_at <= at, free, or_(commit_statuses.c.sent == "", ended))
    )


def _held(status: CommitStatus) -> Any:
    return and_(
        commit_statuses.c.run_id == status.run_id,
        commit_statuses.c.claimed_by == status.claimed_by,
        commit_statuses.c.lease_until == status.lease_until,
    )
