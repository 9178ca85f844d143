"""Worker processes that build environments and execute runs, and releasing the leases of dead ones."""

import time

import msgspec
from sqlalchemy import Connection, RowMapping, and_, delete, exists, func, or_, select, update

from mesocosm.core.run import LeaseOwner
from mesocosm.store.clock import now
from mesocosm.store.commit_statuses import due_statuses
from mesocosm.store.database import Database
from mesocosm.store.datasets import DatasetState, waits_for_check
from mesocosm.store.lease_owner import alive
from mesocosm.store.notifications import due_messages
from mesocosm.store.repositories import next_sync
from mesocosm.store.rows import holder_from, json_text, record_of
from mesocosm.store.run_imports import import_waits
from mesocosm.store.tenancy import (
    dataset_versions,
    deliveries,
    environment_versions,
    requests,
    run_imports,
    scheduled_runs,
    syncs,
    workers,
)

BUILDING = ("cloning", "checking", "installing", "testing")
"""States of a version that a worker is building."""
KEPT_S = 7 * 86_400.0
"""Seconds to keep listing a worker that has ended."""


class Worker(msgspec.Struct, frozen=True):
    """A worker process. `capacity` and `running` count runs; times are UNIX seconds.

    `holder` identifies the process, so that others on its machine can check it. `lag_s` is the longest delay of its
    event loop between its last two heartbeats, None if it did not report one. `slots` is how many episodes of
    environments and rollouts it plays at once at most, `busy` how many it does.
    """

    id: str
    holder: LeaseOwner
    version: str
    capacity: int
    running: int
    started_at: float
    heartbeat_at: float
    ended_at: float | None = None
    lag_s: float | None = None
    slots: int = 0
    busy: int = 0

    def dead(self, silence_s: float, at: float) -> bool:
        """Return whether its process is gone, or cannot be checked and was silent for more than `silence_s` seconds."""
        living = alive(self.holder)
        return at - self.heartbeat_at > silence_s if living is None else not living


class Workers:
    """Worker processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, worker: Worker) -> None:
        """Register a worker."""
        values = (
            *(worker.id, json_text(worker.holder), worker.holder.pid, worker.version, worker.capacity),
            *(worker.running, worker.started_at, worker.heartbeat_at, worker.ended_at, worker.lag_s),
            *(worker.slots, worker.busy),
        )
        self._database.write(lambda connection: self._database.add(connection, workers, [values], known="replace"))

    def beat(self, worker_id: str, running: int, lag_s: float | None = None, busy: int = 0) -> None:
        """Record a heartbeat of a worker, its running runs, the lag of its event loop, and its busy episode slots."""
        living = update(workers).where(workers.c.id == worker_id)

        def work(connection: Connection) -> None:
            connection.execute(living.values(heartbeat_at=now(connection), running=running, lag_s=lag_s, busy=busy))

        self._database.write(work)

    def get(self, worker_id: str) -> Worker | None:
        """Return a worker, None if the id is unknown."""
        row = self._database.one(select(workers).where(workers.c.id == worker_id))
        return None if row is None else _worker(row)

    def list(self, *, ended: bool = False) -> tuple[Worker, ...]:
        """Return the workers, newest first; with `ended`, also those that ended in the last days."""
        wanted = select(workers).order_by(workers.c.started_at.desc(), workers.c.id.desc())
        if not ended:
            wanted = wanted.where(workers.c.ended_at.is_(None))
        return tuple(map(_worker, self._database.all(wanted)))

    def end(self, worker_id: str) -> int:
        """Record that a worker has ended and expire its leases; return how many."""
        return self._database.write(lambda connection: _end(connection, worker_id))

    def reap_dead(self, silence_s: float) -> tuple[Worker, ...]:
        """End the workers that are dead (see `Worker.dead`) and return them."""
        at = self._database.read(now)
        dead = tuple(worker for worker in self.list() if worker.dead(silence_s, at))
        for worker in dead:
            self.end(worker.id)
        return dead

    def waiting(self) -> bool:
        """Return whether a run, a build, a check of a dataset or bundle, a message or a status could be claimed."""

        def work(connection: Connection) -> bool:
            at = now(connection)
            free = or_(
                requests.c.state == "queued",
                and_(requests.c.state == "claimed", requests.c.lease_until < at),
            )
            lapsed = or_(environment_versions.c.claimed_by.is_(None), environment_versions.c.lease_until < at)
            build = select(environment_versions.c.version).where(environment_versions.c.ended_at.is_(None), lapsed)
            run, check = select(requests.c.run_id).where(free), select(dataset_versions.c.version)
            check = check.where(waits_for_check(at))
            bundle = select(run_imports.c.id).where(import_waits(at))
            others = (next_sync(at), due_messages(at), due_statuses(at))
            waiting = (exists(one) for one in (run, build, check, bundle, *others))
            return bool(connection.scalar(select(or_(*waiting))))

        return self._database.read(work)

    def forget(self, older_than_s: float = KEPT_S) -> int:
        """Delete workers that ended more than `older_than_s` seconds ago; return how many."""
        old = delete(workers).where(workers.c.ended_at < time.time() - older_than_s)
        return self._database.execute(old)

    def queue(self) -> "Queue":
        """Return what is waiting for a worker and what workers have claimed."""
        return self._database.read(_queue)


class Queue(msgspec.Struct, frozen=True):
    """Queued and claimed runs and builds; `oldest_at` is when the oldest queued run was submitted, None without one."""

    runs_queued: int
    runs_claimed: int
    builds_queued: int
    builds_claimed: int
    oldest_at: float | None


def _queue(connection: Connection) -> Queue:
    counted = select(requests.c.state, func.count()).group_by(requests.c.state)
    states: dict[str, int] = dict(tuple(row) for row in connection.execute(counted))
    oldest = connection.scalar(select(func.min(requests.c.created_at)).where(requests.c.state == "queued"))
    builds = select(environment_versions.c.state, func.count()).group_by(environment_versions.c.state)
    building: dict[str, int] = dict(tuple(row) for row in connection.execute(builds))
    return Queue(
        runs_queued=states.get("queued", 0),
        runs_claimed=states.get("claimed", 0),
        builds_queued=building.get("queued", 0),
        builds_claimed=sum(building.get(state, 0) for state in BUILDING),
        oldest_at=oldest,
    )


def _end(connection: Connection, worker_id: str) -> int:
    at = now(connection)
    over = {"lease_until": at - 1.0}
    played = update(requests).where(requests.c.claimed_by == worker_id, requests.c.state == "claimed")
    built = update(environment_versions).where(
        environment_versions.c.claimed_by == worker_id, environment_versions.c.ended_at.is_(None)
    )
    checked = update(dataset_versions).where(
        dataset_versions.c.claimed_by == worker_id, dataset_versions.c.state == DatasetState.PROCESSING
    )
    synced = update(syncs).where(syncs.c.claimed_by == worker_id, syncs.c.ended_at.is_(None))
    owed = update(scheduled_runs).where(scheduled_runs.c.claimed_by == worker_id, scheduled_runs.c.ended_at.is_(None))
    sent = update(deliveries).where(deliveries.c.claimed_by == worker_id, deliveries.c.ended_at.is_(None))
    left = sum(connection.execute(one.values(over)).rowcount for one in (played, built, checked, synced, owed, sent))
    gone = update(workers).where(workers.c.id == worker_id, workers.c.ended_at.is_(None))
    connection.execute(gone.values(ended_at=at, running=0, busy=0))
    return left


def _worker(row: RowMapping) -> Worker:
    holder = holder_from(row["host"])
    assert holder is not None
    return record_of(Worker, row, holder=holder)
