"""Totals over the whole server: runs, episodes, builds, workers, tokens, costs."""

import time
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, and_, case, func, literal, select

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.run import RunStatus
from mesocosm.store.database import Database
from mesocosm.store.rows import record_of
from mesocosm.store.run_requests import OPEN
from mesocosm.store.schema import UNUSUAL, episodes, runs
from mesocosm.store.tenancy import batch_runs, environment_versions, environments, requests, seats, workers

_OUTCOMES = ("completed", "truncated", "timeout", "failed")
_PLAYED = sum((runs.c[name] for name in _OUTCOMES), literal(0))
_STATUS = case(
    (
        and_(runs.c.status == RunStatus.FINISHED.value, runs.c.planned <= _PLAYED, requests.c.state.not_in(OPEN)),
        "completed",
    ),
    (requests.c.state == "cancelled", "cancelled"),
    (and_(requests.c.state == "ended", runs.c.status == RunStatus.FINISHED.value), "completed"),
    (and_(requests.c.state == "ended", runs.c.status == RunStatus.PARTIAL.value), "partial"),
    (requests.c.state == "ended", "failed"),
    (runs.c.started_at.is_(None), "pending"),
    else_="running",
)
"""Public status of a run of the server; must match compat.swecc.documents.status_of."""


class CountsNow(msgspec.Struct, frozen=True):
    """Totals at one moment. The dictionaries count by status.

    `waiting` counts by kind of run what waits for a worker. `slots` are the episode slots of living workers, `busy` the
    ones in use. `helpers` are the processes that help with runs of others, `seats` the free places for more.
    `queue_age_s` is 0 if nothing is queued. `silence_s` is the longest time since a heartbeat of a worker that has not
    ended, `lag_s` the longest event-loop lag that such a worker reported.
    """

    runs: dict[str, int]
    episodes: dict[str, int]
    environments: dict[str, int]
    builds: dict[str, int]
    requests: dict[str, int]
    batch_runs: dict[str, int]
    waiting: dict[str, int]
    slots: int
    busy: int
    helpers: int
    seats: int
    queued: int
    queue_age_s: float
    workers: int
    playing: int
    silence_s: float
    lag_s: float
    input_tokens: int
    output_tokens: int
    cost_usd: float


class FailedRequest(msgspec.Struct, frozen=True):
    """A run that failed or was cancelled."""

    run_id: str
    domain_id: str
    status: str
    actor: str
    model: str
    reason: str
    ended_at: float | None


class ServerCounts:
    """Totals over the whole server."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def take(self, lease_s: float) -> CountsNow:
        """Return the current totals.

        A worker counts as alive if its last heartbeat is at most `lease_s` seconds old.
        """
        return self._database.read(lambda connection: _take(connection, time.time() - lease_s))

    def going(self) -> int:
        """Return the number of running episodes that have stored events."""
        wanted = select(func.count()).where(UNUSUAL, episodes.c.status == EpisodeStatus.RUNNING.value)
        return self._database.scalar(wanted) or 0

    def recent_failures(self, limit: int = 10) -> tuple[FailedRequest, ...]:
        """Return the runs that failed or were cancelled most recently, newest first."""
        at = func.coalesce(requests.c.ended_at, runs.c.ended_at, requests.c.created_at)
        wanted = (
            select(requests, _STATUS.label("status"), runs.c.error, at.label("at"))
            .join(runs, runs.c.id == requests.c.run_id)
            .where(_STATUS.in_(("failed", "cancelled")))
            .order_by(at.desc(), requests.c.run_id.desc())
            .limit(limit)
        )
        rows = self._database.all(wanted)
        return tuple(
            record_of(FailedRequest, row, reason=row["reason"] or row["error"] or "", ended_at=row["at"])
            for row in rows
        )


def _take(connection: Connection, heard_since: float) -> CountsNow:
    at = time.time()
    sums = (*(func.coalesce(func.sum(runs.c[name]), 0) for name in _OUTCOMES),)
    spent = (func.coalesce(func.sum(runs.c[name]), 0) for name in ("prompt_tokens", "completion_tokens", "cost_usd"))
    *outcomes, received, written, cost = connection.execute(select(*sums, *spent)).one()
    waiting = select(func.count(), func.min(requests.c.created_at)).where(requests.c.state == "queued")
    queued, since = connection.execute(waiting).one()
    columns = (workers.c.running, workers.c.slots, workers.c.busy)
    living = select(func.count(), *(func.coalesce(func.sum(column), 0) for column in columns))
    alive, playing, slots, busy = connection.execute(
        living.where(workers.c.ended_at.is_(None), workers.c.heartbeat_at >= heard_since)
    ).one()
    last = connection.scalar(select(func.min(workers.c.heartbeat_at)).where(workers.c.ended_at.is_(None)))
    return CountsNow(
        runs=_counted(connection, _STATUS, runs.c.id == requests.c.run_id),
        episodes={name: int(count) for name, count in zip(_OUTCOMES, outcomes, strict=True)},
        environments=_counted(connection, environments.c.status, environments.c.deleted_at.is_(None)),
        builds=_counted(connection, environment_versions.c.state),
        requests=_counted(connection, requests.c.state),
        batch_runs=_batch_runs(connection),
        waiting=_counted(connection, requests.c.kind, requests.c.state == "queued"),
        slots=int(slots),
        busy=int(busy),
        helpers=_seats(connection, seats.c.helper.is_not(None), seats.c.left_at.is_(None), seats.c.lease_until >= at),
        seats=_seats(connection, seats.c.helper.is_(None), runs.c.holder == seats.c.holder),
        queued=queued,
        queue_age_s=max(time.time() - since, 0.0) if since is not None else 0.0,
        workers=alive,
        playing=int(playing),
        silence_s=max(time.time() - last, 0.0) if last is not None else 0.0,
        lag_s=connection.scalar(select(func.max(workers.c.lag_s)).where(workers.c.ended_at.is_(None))) or 0.0,
        input_tokens=int(received),
        output_tokens=int(written),
        cost_usd=float(cost),
    )


def _seats(connection: Connection, *conditions: ColumnElement[bool]) -> int:
    counted = select(func.count()).select_from(seats.join(runs, runs.c.id == seats.c.run_id))
    return connection.scalar(counted.where(*conditions)) or 0


def _batch_runs(connection: Connection) -> dict[str, int]:
    """Count batch runs by status.

    The stored status counts unless it is queued (external programs set it); otherwise the states of its runs decide.
    """
    known = batch_runs.outerjoin(requests, requests.c.job_id == batch_runs.c.id).outerjoin(
        runs, runs.c.id == requests.c.run_id
    )
    done, begun = _STATUS == "completed", (_STATUS != "pending") | (requests.c.state != "queued")
    sums = [
        func.sum(case((runs.c.id.is_not(None) & condition, 1), else_=0)).label(name)
        for name, condition in (("pending", _STATUS.in_(("pending", "running"))), ("done", done), ("begun", begun))
    ]
    each = (
        select(batch_runs.c.id, batch_runs.c.status, *sums)
        .select_from(known)
        .group_by(batch_runs.c.id, batch_runs.c.status)
        .subquery()
    )
    status = case(
        (each.c.status != "queued", each.c.status),
        ((each.c.pending == 0) & (each.c.done > 0), "completed"),
        (each.c.pending == 0, "failed"),
        (each.c.begun == 0, "queued"),
        else_="running",
    )
    return _counted(connection, status)


def _counted(connection: Connection, column: ColumnElement[Any], *conditions: Any) -> dict[str, int]:
    # Group by a named column: PostgreSQL does not recognise two expressions with parameters as equal.
    of_each = select(column.label("status")).where(*conditions).subquery()
    wanted = select(of_each.c.status, func.count()).group_by(of_each.c.status)
    return dict(tuple(row) for row in connection.execute(wanted))
