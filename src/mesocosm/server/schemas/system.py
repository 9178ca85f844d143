"""Documents of a server's state."""

from datetime import datetime

from pydantic import BaseModel, Field


class ServiceDocument(BaseModel):
    """The response at the root of a server. The paths include its prefix."""

    service: str = Field(description="What this is.", examples=["mesocosm"])
    version: str = Field(description="Version of the program.", examples=["0.1.0"])
    docs: str = Field(description="Path of a page that lists the routes.")
    redoc: str = Field(description="The same page, under the name that older programs look for.")
    openapi: str = Field(description="Path of the OpenAPI document.")
    health: str = Field(description="Path that tells whether it is well.")


class HealthDocument(BaseModel):
    """The health of a server."""

    status: str = Field(description="`ok`: it answers, and its store does.", examples=["ok"])
    version: str = Field(description="Version of the program.")


class PlatformCounts(BaseModel):
    """Numbers of objects, each by status."""

    runs: dict[str, int] = Field(description="Runs.", examples=[{"finished": 12, "running": 1}])
    episodes: dict[str, int] = Field(description="Stored episodes.")
    developer_envs: dict[str, int] = Field(description="Submitted environments that are not deleted.")
    bench_jobs: dict[str, int] = Field(description="Full benches.")
    builds: dict[str, int] = Field(description="Versions of environments, by state of their build.")
    orders: dict[str, int] = Field(description="Ordered runs: queued, claimed by a worker, ended, cancelled.")


class InFlightDocument(BaseModel):
    """Work in progress."""

    active_run_tasks: int = Field(description="Runs that workers play.")
    active_episode_tasks: int = Field(description="Episodes that are being played, as far as the store knows.")
    active_builds: int = Field(description="Versions of environments that workers build.")
    sandbox_port_pool_in_use: int = Field(description="Always 0: adapters are reached without ports of this machine.")
    sandbox_port_pool_total: int = Field(description="Always 0, for the same reason.")
    sandbox_reachable: bool = Field(description="Whether a worker is there that could start environments.")


class QueueDocument(BaseModel):
    """Waiting work."""

    runs: int = Field(description="Runs that wait for a worker.")
    builds: int = Field(description="Versions of environments that wait for a worker.")
    oldest_seconds: float = Field(description="How long the oldest run waits, in seconds; 0 where none does.")


class WorkerDocument(BaseModel):
    """A worker process, which builds environments and runs episodes."""

    id: str
    host: str = Field(description="Name of its machine.")
    pid: int = Field(description="Its process id there.")
    version: str = Field(description="Version of its program.")
    capacity: int = Field(description="Runs that it plays at the same time at most.")
    running: int = Field(description="Runs that it plays now.")
    started_at: datetime
    heartbeat_at: datetime = Field(description="When it was last heard of.")
    alive: bool = Field(description="Whether it was heard of lately enough to be alive.")


class FailedRun(BaseModel):
    """A failed or cancelled run."""

    run_id: str
    domain_id: str
    model: str
    status: str = Field(description="`failed` or `cancelled`.")
    actor_type: str = Field(description="`member`, `guest` or `system`.")
    actor_id: str = Field(description="Whose it is: `user:ID`, `guest:ID`, `system:WORD`.")
    reason: str = Field(description="Why, in the words that its owner sees.")
    ended_at: datetime | None = None


class StatusDocument(BaseModel):
    """The state of a server, for administrators."""

    counts: PlatformCounts
    in_flight: InFlightDocument
    queue: QueueDocument
    workers: list[WorkerDocument] = Field(description="Workers that have not ended, the newest first.")
    recent_failures: list[FailedRun] = Field(description="At most ten runs, those that ended last first.")
    reaper_enabled: bool = Field(description="Whether somebody clears up after workers that die: any worker does.")
    tokens: dict[str, int] = Field(description="Tokens of all runs: `input`, `output`.")
    cost_usd: float = Field(description="Cost of all runs in USD, as far as it is known.")
    version: str
