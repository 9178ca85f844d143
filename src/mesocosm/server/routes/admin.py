"""`/api/admin`: The state of the platform, for those who run it."""

import time

from fastapi import APIRouter

from mesocosm import __version__
from mesocosm.server.auth.access import Access, Served, access
from mesocosm.server.schemas.document import instant, moment
from mesocosm.server.schemas.system import (
    FailedRun,
    InFlightDocument,
    PlatformCounts,
    QueueDocument,
    StatusDocument,
    WorkerDocument,
)
from mesocosm.store.counts import Failed
from mesocosm.store.workers import Worker

router = APIRouter(prefix="/api/admin", tags=["admin"])

_ACTORS = {"user": "member", "guest": "guest"}


@router.get("/status", response_model=StatusDocument, **access(Access.ADMIN))
def get_status(service: Served) -> StatusDocument:
    """Return how much there is of everything, what goes on, who works, what waits, and what failed lately."""
    census = service.store.counts
    lease_s = service.settings.lease_s
    taken, queue = census.take(lease_s), service.store.workers.queue()
    return StatusDocument(
        counts=PlatformCounts(
            runs=taken.runs,
            episodes=taken.episodes,
            developer_envs=taken.environments,
            bench_jobs=taken.jobs,
            builds=taken.builds,
            orders=taken.orders,
        ),
        in_flight=InFlightDocument(
            active_run_tasks=queue.runs_claimed,
            active_episode_tasks=census.going(),
            active_builds=queue.builds_claimed,
            sandbox_port_pool_in_use=0,
            sandbox_port_pool_total=0,
            sandbox_reachable=taken.workers > 0,
        ),
        queue=QueueDocument(runs=queue.runs_queued, builds=queue.builds_queued, oldest_seconds=taken.queue_age_s),
        workers=[_worker(worker, lease_s) for worker in service.store.workers.list()],
        recent_failures=[_failure(failed) for failed in census.recent_failures()],
        reaper_enabled=taken.workers > 0,
        tokens={"input": taken.input_tokens, "output": taken.output_tokens},
        cost_usd=taken.cost_usd,
        version=__version__,
    )


def _worker(worker: Worker, lease_s: float) -> WorkerDocument:
    return WorkerDocument(
        id=worker.id,
        host=worker.holder.host,
        pid=worker.holder.pid,
        version=worker.version,
        capacity=worker.capacity,
        running=worker.running,
        started_at=instant(worker.started_at),
        heartbeat_at=instant(worker.heartbeat_at),
        alive=not worker.dead(lease_s, time.time()),
    )


def _failure(failed: Failed) -> FailedRun:
    return FailedRun(
        run_id=failed.run_id,
        domain_id=failed.domain_id,
        model=failed.model,
        status=failed.status,
        actor_type=_ACTORS.get(failed.actor.partition(":")[0], "system"),
        actor_id=failed.actor,
        reason=failed.reason,
        ended_at=moment(failed.ended_at),
    )
