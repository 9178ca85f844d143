"""Changes of runs, cheap enough to poll every second with 100,000 runs."""

import threading
import time
from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, RowMapping, select

from mesocosm.core.failure import UnknownName
from mesocosm.core.run import HOSTED, Counts, LeaseOwner, RunStatus
from mesocosm.core.usage import Usage
from mesocosm.store.database import Database
from mesocosm.store.rows import BY_OUTCOME, BY_STATUS, counts_from, holder_from, record_of, usage_from
from mesocosm.store.schema import run_deletions, run_index, runs

OVERLAP = 5.0
"""Seconds by which polls overlap: clocks differ, and a transaction commits later than the time it writes."""

_MOST = 1_000


class RunState(msgspec.Struct, frozen=True):
    """The mutable state of a run. Times are UNIX seconds."""

    id: str
    status: RunStatus
    counts: Counts
    usage: Usage
    score: float | None
    created_at: float
    started_at: float | None
    ended_at: float | None
    heartbeat_at: float | None
    holder: LeaseOwner | None
    stop_requested: bool
    error: str
    hosted: bool = False


@dataclass(frozen=True, slots=True)
class RunChanges:
    """Ids of runs changed or deleted since a time, and the time `at` to pass to the next call.

    `active` are all running runs: their counters are written without marking the run as changed, so read their state
    each time. Consecutive answers overlap by some seconds. `complete` is False if more changed than one answer holds
    (1,000 of each kind): then reload everything that is shown.
    """

    changed: tuple[str, ...]
    deleted: tuple[str, ...]
    active: tuple[str, ...]
    at: float
    complete: bool = True


_STATE = [
    runs.c[name]
    for name in (
        *("id", "status", "planned", *BY_STATUS, *BY_OUTCOME),
        *("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "cost_usd", "model_calls"),
        *("cost_unknown", "score", "created_at", "started_at", "ended_at", "heartbeat_at", "holder"),
        *("stop_requested", "error"),
    )
]
_HOSTED = runs.c.spec.contains(f'"kind":"{HOSTED}"', autoescape=True).label("hosted")


class Changes:
    """Changes of runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def state(self, run_id: str) -> RunState:
        """Return the mutable state of a run (whole id), reading only a few columns. Raises UnknownName."""
        found = self.states([run_id])
        if not found:
            raise UnknownName(f"there is no run {run_id!r}; it may have been deleted")
        return found[0]

    def states(self, ids: "list[str] | tuple[str, ...]") -> tuple[RunState, ...]:
        """Return the mutable state of runs (at most 1,000), in the order of `ids`; unknown ids are left out."""
        wanted = select(*_STATE, _HOSTED).where(runs.c.id.in_(ids[:_MOST]))
        rows = self._database.all(wanted)
        found = {row["id"]: _state(row) for row in rows}
        return tuple(found[run_id] for run_id in ids if run_id in found)

    def since(self, since: float) -> RunChanges:
        """Return which runs were created, changed or deleted since a time (the `at` of an earlier answer)."""
        return self._database.read(lambda connection: _changes(connection, since))

    def watch(self) -> "ChangeWatch":
        """Return a poller for changes from now on. Close it after use."""
        return ChangeWatch(self._database)


class ChangeWatch:
    """Polls for changes; on SQLite it reads nothing unless something was written. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._since = time.time()
        self._version: int | None = None
        self._held = None if database.postgres else database.engine.connect()

    def changes(self) -> RunChanges | None:
        """Return what changed since the last call; None if nothing was written (SQLite only)."""
        with self._lock:
            version = self._written()
            if version is not None and version == self._version:
                return None
            self._version = version
            found = self._database.read(lambda connection: _changes(connection, self._since - OVERLAP))
            self._since = found.at
            return found

    def _written(self) -> int | None:
        # data_version changes for this connection whenever another connection commits.
        if self._held is None:
            return None
        driver = self._held.connection.driver_connection
        assert driver is not None
        return int(driver.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        """Release the connection."""
        with self._lock:
            if self._held is not None:
                self._held.close()


def _state(row: RowMapping) -> RunState:
    return record_of(
        RunState,
        row,
        status=RunStatus(row["status"]),
        counts=counts_from(row),
        usage=usage_from(row),
        holder=holder_from(row["holder"]),
        stop_requested=bool(row["stop_requested"]),
        hosted=bool(row["hosted"]),
    )


def _changes(connection: Connection, since: float) -> RunChanges:
    now = time.time()
    line, gone = run_index.c, run_deletions.c
    recent = select(line.run_id).where(line.changed_at >= since).order_by(line.changed_at.desc(), line.run_id.desc())
    left = select(gone.run_id).where(gone.deleted_at >= since).order_by(gone.deleted_at.desc())
    going = select(line.run_id).where(line.status == RunStatus.RUNNING).order_by(line.run_id.desc())
    found = [tuple(connection.scalars(wanted.limit(_MOST + 1))) for wanted in (recent, left, going)]
    changed, deleted, active = (ids[:_MOST] for ids in found)
    return RunChanges(changed, deleted, active, now, all(len(ids) <= _MOST for ids in found))
