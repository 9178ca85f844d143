"""Documents of a server's state."""

from datetime import datetime

from pydantic import BaseModel, Field


class ServiceDocument(BaseModel):
    """The response at the root of a server. The paths include its prefix."""

    service: str = Field(description="Name of the service.", examples=["mesocosm"])
    version: str = Field(description="Version of mesocosm.", examples=["0.1.0"])
    docs: str = Field(description="Path of a page that lists the routes.")
    redoc: str = Field(description="Path of the same page, for older programs.")
    openapi: str = Field(description="Path of the OpenAPI document.")
    health: str = Field(description="Path of the health check.")


class HealthDocument(BaseModel):
    """The health of a server."""

    status: str = Field(description="`ok`: the server and its store respond.", examples=["ok"])
    version: str = Field(description="Version of mesocosm.")


class ObjectCounts(BaseModel):
    """Numbers of objects, each by status."""

    runs: dict[str, int] = Field(description="Runs.", examples=[{"finished": 12, "running": 1}])
    episodes: dict[str, int] = Field(description="Stored episodes.")
    developer_envs: dict[str, int] = Field(description="Submitted environments, without deleted ones.")
    bench_jobs: dict[str, int] = Field(description="Batch runs.")
    builds: dict[str, int] = Field(description="Versions of environments, by build state.")
    orders: dict[str, int] = Field(description="Run requests: queued, claimed by a worker, ended, cancelled.")


class InFlightDocument(BaseModel):
    """Work in progress."""

    active_run_tasks: int = Field(description="Number of runs that workers are running.")
    active_episode_tasks: int = Field(description="Number of running episodes, as far as the store knows.")
    active_builds: int = Field(description="Number of environment versions that workers are building.")
    sandbox_port_pool_in_use: int = Field(description="Always 0: adapters use no ports of this machine.")
    sandbox_port_pool_total: int = Field(description="Always 0: adapters use no ports of this machine.")
    sandbox_reachable: bool = Field(description="Whether a worker that can start environments is alive.")


class QueueDocument(BaseModel):
    """Waiting work."""

    runs: int = Field(description="Number of runs that are waiting for a worker.")
    builds: int = Field(description="Number of environment versions that are waiting for a worker.")
    oldest_seconds: float = Field(
        description="How long the oldest run has been waiting, in seconds; 0 if none is waiting."
    )


class WorkerDocument(BaseModel):
    """A worker process, which builds environments and runs episodes."""

    id: str
    host: str = Field(description="Host name.")
    pid: int = Field(description="Process ID on that host.")
    version: str = Field(description="Version of mesocosm.")
    capacity: int = Field(description="Maximum number of runs at a time.")
    running: int = Field(description="Current number of runs.")
    started_at: datetime
    heartbeat_at: datetime = Field(description="Time of the last heartbeat.")
    alive: bool = Field(description="Whether the last heartbeat is recent enough.")


class FailedRun(BaseModel):
    """A failed or cancelled run."""

    run_id: str
    domain_id: str
    model: str
    status: str = Field(description="`failed` or `cancelled`.")
    actor_type: str = Field(description="`member`, `guest` or `system`.")
    actor_id: str = Field(description="Who submitted it: `user:ID`, `guest:ID`, or `system:WORD`.")
    reason: str = Field(description="Why, as shown to its owner.")
    ended_at: datetime | None = None


class StatusDocument(BaseModel):
    """The state of a server, for administrators."""

    counts: ObjectCounts
    in_flight: InFlightDocument
    queue: QueueDocument
    workers: list[WorkerDocument] = Field(description="Workers that have not ended, newest first.")
    recent_failures: list[FailedRun] = Field(description="At most ten runs, most recently ended first.")
    reaper_enabled: bool = Field(
        description="Whether the work of dead workers is cleaned up; any live worker does that."
    )
    tokens: dict[str, int] = Field(description="Tokens of all runs: `input`, `output`.")
    cost_usd: float = Field(description="Cost of all runs in US dollars, as far as it is known.")
    version: str
