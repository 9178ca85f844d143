"""Batch runs: several models on one environment."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from sqlalchemy import Connection, func, select, update

from mesocosm.store.clock import now
from mesocosm.store.database import Database
from mesocosm.store.rows import json_text, plain, record_of, values_of
from mesocosm.store.tenancy import batch_runs, requests

TAKEN = "a program outside carries this bench out"
"""Reason of runs cancelled because an external program claimed their batch run; they end at the time of the claim."""


class BatchRun(msgspec.Struct, frozen=True, kw_only=True):
    """A batch run. `status` is queued, running, completed or failed; `results` has one entry for each model."""

    id: str
    environment_id: str
    domain_id: str | None = None
    user_id: int | None = None
    status: str = "queued"
    source: str = ""
    results: list[dict[str, Any]] = []
    created_at: float
    completed_at: float | None = None
    claimed_by: str | None = None

    @property
    def actor(self) -> str:
        """The user who submitted it, as `user:ID`."""
        return f"user:{self.user_id}"


class BatchRuns:
    """Batch runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, batch: BatchRun) -> None:
        """Insert a batch run; do nothing if its id exists."""
        row = values_of(batch, results=json_text(batch.results))
        statement = self._database.insert(batch_runs).values(row).on_conflict_do_nothing()
        self._database.execute(statement)

    def get(self, batch_id: str) -> BatchRun | None:
        """Return a batch run, None if it does not exist."""
        query = select(batch_runs).where(batch_runs.c.id == plain(batch_id))
        row = self._database.one(query)
        return None if row is None else _batch(row)

    def list(
        self,
        *,
        user_id: int | None = None,
        environment_id: str | None = None,
        status: str | None = None,
        cursor: str | None = None,
        limit: int = 100,
    ) -> tuple[BatchRun, ...]:
        """Return batch runs, newest first; `cursor` is the id of the last one of the previous page."""
        query = select(batch_runs).order_by(batch_runs.c.id.desc()).limit(limit)
        given = {"user_id": user_id, "environment_id": environment_id, "status": status}
        for name, value in given.items():
            if value is not None:
                query = query.where(batch_runs.c[name] == (plain(value) if isinstance(value, str) else value))
        if cursor is not None:
            query = query.where(batch_runs.c.id < plain(cursor))
        return tuple(map(_batch, self._database.all(query)))

    def claim(self, batch_id: str, worker_id: str) -> bool:
        """Assign a queued batch run to a worker and mark it as running. Return False if it is not queued."""
        queued = (batch_runs.c.id == plain(batch_id)) & (batch_runs.c.status == "queued")

        def work(connection: Connection) -> bool:
            new = update(batch_runs).where(queued).values(status="running", claimed_by=worker_id)
            return connection.execute(new).rowcount > 0

        return self._database.write(work)

    def complete(self, batch_id: str, results: Sequence[Mapping[str, Any]], *, failed: bool = False) -> bool:
        """Store the results of a batch run. Return False if it is unknown or has already ended."""
        going = (batch_runs.c.id == plain(batch_id)) & batch_runs.c.status.in_(("queued", "running"))
        new = {
            "status": "failed" if failed else "completed",
            "results": json_text(results),
            "completed_at": time.time(),
        }
        statement = update(batch_runs).where(going).values(new)
        return self._database.execute(statement) > 0

    def take_back(self, allowed_s: float) -> int:
        """Take batch runs back from external programs that did not report within `allowed_s` seconds per model.

        Their cancelled runs are queued for workers again, and the batch run can be claimed again until a worker takes
        one. A batch run fails if all its runs were deleted. Return the number of batch runs taken back.
        """
        query = select(batch_runs).where(batch_runs.c.status == "running")

        def look(connection: Connection) -> list[BatchRun]:
            at, claimed = now(connection), [_batch(row) for row in connection.execute(query).mappings()]
            return [
                batch for batch in claimed if at - _since(connection, batch) > allowed_s * max(len(batch.results), 1)
            ]

        late = self._database.read(look)
        return sum(self._database.write(partial(_take_back, batch)) for batch in late)


def _since(connection: Connection, batch: BatchRun) -> float:
    """Return when a batch run was claimed, in UNIX seconds."""
    cancelled = select(func.max(requests.c.ended_at)).where(requests.c.job_id == batch.id, requests.c.reason == TAKEN)
    return float(connection.scalar(cancelled) or batch.created_at)


def _take_back(batch: BatchRun, connection: Connection) -> bool:
    """Take a batch run back from an external program; return False if it changed in the meantime."""
    claimed = (
        (batch_runs.c.id == batch.id)
        & (batch_runs.c.status == "running")
        & (batch_runs.c.claimed_by == batch.claimed_by)
    )
    left = connection.scalar(select(func.count()).select_from(requests).where(requests.c.job_id == batch.id))
    new: dict[str, Any] = {"status": "queued", "claimed_by": None}
    if not left:
        error = "the program outside that carried this bench out did not report, and its runs here were deleted"
        results = [{"model": result.get("model", ""), "error": error} for result in batch.results]
        new = {"status": "failed", "results": json_text(results), "completed_at": time.time()}
    if not connection.execute(update(batch_runs).where(claimed).values(new)).rowcount:
        return False
    ours = (requests.c.job_id == batch.id) & (requests.c.state == "cancelled") & (requests.c.reason == TAKEN)
    again: dict[str, Any] = {"state": "queued", "reason": "", "ended_at": None, "claimed_by": None, "tries": 0}
    connection.execute(update(requests).where(ours).values(again))
    return True


def _batch(row: Mapping[Any, Any]) -> BatchRun:
    return record_of(BatchRun, row, results=msgspec.json.decode(row["results"]))
