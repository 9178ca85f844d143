"""Full benches: several models on one environment."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, select, update

from mesocosm.store.part import Part
from mesocosm.store.rows import json_text, plain
from mesocosm.store.tenancy import jobs


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A full bench. `status` is queued, running, completed or failed; `results` what each model scored."""

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
        """Who asked for it."""
        return f"user:{self.user_id}"


class Jobs(Part):
    """Full benches."""

    def add(self, job: Job) -> None:
        """Insert a job; nothing happens where it is known."""
        row = {**msgspec.structs.asdict(job), "results": json_text(job.results), "source": plain(job.source)}
        statement = self._database.insert(jobs).values(row).on_conflict_do_nothing()
        self._database.write(lambda connection: connection.execute(statement))

    def get(self, job_id: str) -> Job | None:
        """Return a job."""
        query = select(jobs).where(jobs.c.id == plain(job_id))
        row = self._database.read(lambda connection: connection.execute(query).mappings().one_or_none())
        return None if row is None else _job(row)

    def list(
        self,
        *,
        user_id: int | None = None,
        environment_id: str | None = None,
        status: str | None = None,
        cursor: str | None = None,
        limit: int = 100,
    ) -> tuple[Job, ...]:
        """Return jobs, newest first; `cursor` is the id of the last one seen."""
        query = select(jobs).order_by(jobs.c.id.desc()).limit(limit)
        given = {"user_id": user_id, "environment_id": environment_id, "status": status}
        for name, value in given.items():
            if value is not None:
                query = query.where(jobs.c[name] == (plain(value) if isinstance(value, str) else value))
        if cursor is not None:
            query = query.where(jobs.c.id < plain(cursor))
        return self._database.read(lambda connection: tuple(_job(row) for row in connection.execute(query).mappings()))

    def claim(self, job_id: str, worker_id: str) -> bool:
        """Turn a queued job into a running one of this worker; False where it is not queued."""
        queued = (jobs.c.id == plain(job_id)) & (jobs.c.status == "queued")

        def work(connection: Connection) -> bool:
            new = update(jobs).where(queued).values(status="running", claimed_by=worker_id)
            return connection.execute(new).rowcount > 0

        return self._database.write(work)

    def complete(self, job_id: str, results: Sequence[Mapping[str, Any]], *, failed: bool = False) -> bool:
        """Write how a job ended; False where it is unknown or has ended already."""
        going = (jobs.c.id == plain(job_id)) & jobs.c.status.in_(("queued", "running"))
        new = {
            "status": "failed" if failed else "completed",
            "results": json_text(results),
            "completed_at": time.time(),
        }
        statement = update(jobs).where(going).values(new)
        return self._database.write(lambda connection: connection.execute(statement).rowcount) > 0


def _job(row: Mapping[Any, Any]) -> Job:
    return Job(**{**row, "results": msgspec.json.decode(row["results"])})
