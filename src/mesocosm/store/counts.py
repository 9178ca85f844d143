"""How much there is of everything: runs, episodes, builds, workers, tokens, costs."""

import time
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, and_, case, func, literal, select

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.run import RunStatus
from mesocosm.store.database import Database
from mesocosm.store.run_requests import OPEN
from mesocosm.store.schema import UNUSUAL, episodes, runs
from mesocosm.store.tenancy import environment_versions, environments, jobs, orders, workers

_OUTCOMES = ("completed", "truncated", "timeout", "failed")
_PLAYED = sum((runs.c[name] for name in _OUTCOMES), literal(0))
_STATUS = case(
    (
        and_(runs.c.status == RunStatus.FINISHED.value, runs.c.planned <= _PLAYED, orders.c.state.not_in(OPEN)),
        "completed",
    ),
    (orders.c.state == "cancelled", "cancelled"),
    (and_(orders.c.state == "ended", runs.c.status == RunStatus.FINISHED.value), "completed"),
    (and_(orders.c.state == "ended", runs.c.status == RunStatus.PARTIAL.value), "partial"),
    (orders.c.state == "ended", "failed"),
    (runs.c.started_at.is_(None), "pending"),
    else_="running",
)
"""Where a run of the platform stands, in the words of its documents (server.run_requests.view.public_status)."""


class Taken(msgspec.Struct, frozen=True):
    """The numbers of one moment. The dictionaries count by status; `queue_age_s` is 0 where nothing waits."""

    runs: dict[str, int]
    episodes: dict[str, int]
    environments: dict[str, int]
    builds: dict[str, int]
    orders: dict[str, int]
    jobs: dict[str, int]
    queued: int
    queue_age_s: float
    workers: int
    playing: int
    silence_s: float
    lag_s: float
    input_tokens: int
    output_tokens: int
    cost_usd: float


class Failed(msgspec.Struct, frozen=True):
    """A run that failed or was cancelled."""

    run_id: str
    domain_id: str
    status: str
    actor: str
    model: str
    reason: str
    ended_at: float | None


class Counts:
    """Numbers over all of a platform."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def take(self, lease_s: float) -> Taken:
        """Return the numbers of now; a worker counts as alive that was heard of within `lease_s` seconds."""
        return self._database.read(lambda connection: _take(connection, time.time() - lease_s))

    def going(self) -> int:
        """Return how many episodes are being played, as far as their events are stored."""
        wanted = select(func.count()).where(UNUSUAL, episodes.c.status == EpisodeStatus.RUNNING.value)
        return self._database.read(lambda connection: connection.scalar(wanted) or 0)

    def recent_failures(self, limit: int = 10) -> tuple[Failed, ...]:
        """Return the runs that failed or were cancelled last, the newest first."""
        at = func.coalesce(orders.c.ended_at, runs.c.ended_at, orders.c.created_at)
        wanted = (
            select(orders, _STATUS.label("status"), runs.c.error, at.label("at"))
            .join(runs, runs.c.id == orders.c.run_id)
            .where(_STATUS.in_(("failed", "cancelled")))
            .order_by(at.desc(), orders.c.run_id.desc())
            .limit(limit)
        )
        rows = self._database.read(lambda connection: connection.execute(wanted).mappings().all())
        return tuple(
            Failed(
                run_id=row["run_id"],
                domain_id=row["domain_id"],
                status=row["status"],
                actor=row["actor"],
                model=row["model"],
                reason=row["reason"] or row["error"] or "",
                ended_at=row["at"],
            )
            for row in rows
        )


def _take(connection: Connection, heard_since: float) -> Taken:
    sums = (*(func.coalesce(func.sum(runs.c[name]), 0) for name in _OUTCOMES),)
    spent = (func.coalesce(func.sum(runs.c[name]), 0) for name in ("prompt_tokens", "completion_tokens", "cost_usd"))
    *outcomes, received, written, cost = connection.execute(select(*sums, *spent)).one()
    waiting = select(func.count(), func.min(orders.c.created_at)).where(orders.c.state == "queued")
    queued, since = connection.execute(waiting).one()
    living = select(func.count(), func.coalesce(func.sum(workers.c.running), 0))
    alive, playing = connection.execute(
        living.where(workers.c.ended_at.is_(None), workers.c.heartbeat_at >= heard_since)
    ).one()
    last = connection.scalar(select(func.min(workers.c.heartbeat_at)).where(workers.c.ended_at.is_(None)))
    return Taken(
        runs=_counted(connection, _STATUS, runs.c.id == orders.c.run_id),
        episodes={name: int(count) for name, count in zip(_OUTCOMES, outcomes, strict=True)},
        environments=_counted(connection, environments.c.status, environments.c.deleted_at.is_(None)),
        builds=_counted(connection, environment_versions.c.state),
        orders=_counted(connection, orders.c.state),
        jobs=_jobs(connection),
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


def _jobs(connection: Connection) -> dict[str, int]:
    """Count full benches: those that programs outside have by what they said, others by how far their runs are."""
    known = jobs.outerjoin(orders, orders.c.job_id == jobs.c.id).outerjoin(runs, runs.c.id == orders.c.run_id)
    done, begun = _STATUS == "completed", (_STATUS != "pending") | (orders.c.state != "queued")
    sums = [
        func.sum(case((runs.c.id.is_not(None) & condition, 1), else_=0)).label(name)
        for name, condition in (("owed", _STATUS.in_(("pending", "running"))), ("done", done), ("begun", begun))
    ]
    each = select(jobs.c.id, jobs.c.status, *sums).select_from(known).group_by(jobs.c.id, jobs.c.status).subquery()
    status = case(
        (each.c.status != "queued", each.c.status),
        ((each.c.owed == 0) & (each.c.done > 0), "completed"),
        (each.c.owed == 0, "failed"),
        (each.c.begun == 0, "queued"),
        else_="running",
    )
    return _counted(connection, status)


def _counted(connection: Connection, column: ColumnElement[Any], *conditions: Any) -> dict[str, int]:
    # By a name: PostgreSQL does not see that two expressions with parameters are the same.
    of_each = select(column.label("status")).where(*conditions).subquery()
    wanted = select(of_each.c.status, func.count()).group_by(of_each.c.status)
    return dict(tuple(row) for row in connection.execute(wanted))
