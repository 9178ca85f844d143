"""Documents of the older HTTP interface: runs, episodes and trace events with the field names that its clients read."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, Field

from mesocosm.core.episode import EpisodeStatus
from mesocosm.server.schemas.run_request import RunConfig, Visibility


class RunStatus(StrEnum):
    """Status of a run."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    PARTIAL = "partial"
    """Finished, but too many episodes have no value for reasons other than the agent; excluded from leaderboards."""
    FAILED = "failed"
    CANCELLED = "cancelled"


TERMINAL = frozenset(set(RunStatus) - {RunStatus.PENDING, RunStatus.RUNNING})
"""Statuses that do not change unless the run is resumed."""


def status_of(run: str, request: str, *, owed: bool, started: bool) -> RunStatus:
    """Return the older status of a run of a server by its own status `run` and the state `request` of its request.

    A stopped run that is queued again is pending or running: another worker continues it. A run is not over until its
    request has ended, so that a client that reads `completed` can delete or resume it. `store.counts` says the same in
    SQL.
    """
    over = request in {"ended", "cancelled"}
    if over and run == "finished" and not owed:
        return RunStatus.COMPLETED
    if request == "cancelled":
        return RunStatus.CANCELLED
    if over:
        # A run that stopped by itself, for example at its budget, did not end properly either.
        return {"finished": RunStatus.COMPLETED, "partial": RunStatus.PARTIAL}.get(run, RunStatus.FAILED)
    return RunStatus.RUNNING if started else RunStatus.PENDING


class Metric(BaseModel):
    """A metric of a run, with its interval and denominators."""

    name: str = Field(description="Name of the metric.")
    value: float | None = Field(description="The value; null if nothing was scored.")
    low: float | None = Field(default=None, description="Lower bound of the interval; null if there is no interval.")
    high: float | None = Field(default=None, description="Upper bound of the interval; null if there is no interval.")
    level: float = Field(default=0.95, description="Confidence level of the interval.")
    method: str = Field(default="", description="Method of the interval.")
    weak: bool = Field(default=False, description="Whether the interval rests on few values.")
    aggregation: str = Field(default="mean", description="How the values of episodes are aggregated.")
    n_planned: int = Field(description="Number of planned episodes.")
    n_scored: int = Field(description="Number of episodes with a value, including failures caused by the agent.")
    n_worst: int = Field(
        default=0, description="Number of failures caused by the agent, which count as the worst value."
    )
    n_tasks: int = Field(default=0, description="Number of different tasks among the scored episodes.")
    missing: dict[str, int] = Field(default={}, description="Number of episodes without a value, by cause.")
    worst_value: float | None = Field(default=None, description="Value of failures caused by the agent.")
    pessimistic: float | None = Field(
        default=None,
        description="The value if missing episodes counted as worst; null without any, or without a worst value.",
    )
    pessimistic_low: float | None = Field(default=None, description="Lower bound of the interval of `pessimistic`.")
    pessimistic_high: float | None = Field(default=None, description="Upper bound of the interval of `pessimistic`.")
    n_malformed: int = Field(
        default=0,
        description="Number of scored episodes in which a reply without a valid action was passed to the environment.",
    )
    strict: float | None = Field(
        default=None,
        description="The value if these episodes counted as worst; null without any, or without a worst value.",
    )
    strict_low: float | None = Field(default=None, description="Lower bound of the interval of `strict`.")
    strict_high: float | None = Field(default=None, description="Upper bound of the interval of `strict`.")
    higher_is_better: bool = Field(default=True, description="Direction of the metric.")
    directed: bool = Field(
        default=True, description="Whether the direction was declared; if not, higher is assumed to be better."
    )
    primary: bool = Field(default=False, description="Whether this metric ranks runs.")


class Run(BaseModel):
    """A run; `scores` maps metric names to values."""

    id: str = Field(description="ID of the run.")
    config: RunConfig = Field(description="The requested configuration.")
    requester_id: str | None = Field(default="", description="User ID as text, or `guest:ID`; null for outsiders.")
    status: RunStatus = Field(default=RunStatus.PENDING, description="Status of the run.")
    created_at: datetime | None = Field(default=None, description="When it was submitted.")
    completed_at: datetime | None = Field(default=None, description="When it ended.")
    scores: dict[str, float] = Field(default={}, description="Values of the metrics, by name.")
    team_id: str | None = Field(default=None, description="ID of the team that owns it; null: the submitter alone.")
    env_id: str | None = Field(default=None, description="ID of the submitted environment.")
    env_version: int | None = Field(default=None, description="Version of the submitted environment.")
    visibility: Visibility = Field(default="private", description="Who may see it.")
    purpose: str = Field(default="run", description="`run`, `test` or `full_bench`.")
    protocol: int | None = Field(
        default=None,
        description="Version of the domain's protocol that an official run uses; null: not official.",
    )
    name: str = Field(default="", description="Name in lists.")
    tags: list[str] = Field(default=[], description="Tags to search by.")
    started_at: datetime | None = Field(default=None, description="When its first episode started.")
    expires_at: datetime | None = Field(
        default=None, description="When a guest's run will be deleted; null for other runs."
    )
    planned: int = Field(default=0, description="Number of planned episodes.")
    finished: int = Field(default=0, description="Number of finished episodes.")
    failed: int | None = Field(
        default=None, description="Number of finished episodes that failed; null from older servers."
    )
    duration_s: float | None = Field(
        default=None, description="Seconds worked on it so far, without pauses; null before it started."
    )
    cost_usd: float | None = Field(default=0.0, description="Cost so far in US dollars; null if a price is unknown.")
    metrics: list[Metric] = Field(default=[], description="All metrics with intervals and denominators.")
    error: str = Field(default="", description="Why it failed or stopped; otherwise empty.")
    stopped: bool = Field(
        default=False,
        description="Whether a failed run was stopped early (by an outage, at a budget, by a server that "
        "refused every request). Its remaining episodes are pending, and resuming the run "
        "continues it.",
    )
    warnings: list[str] = Field(default=[], description="Warnings for its owner.")
    redacted: bool = Field(default=False, description="Whether parts are hidden from the caller.")


class RunListItem(Run):
    """An entry of a list of runs."""

    completed_count: int = Field(default=0, description="Number of episodes that were completed.")
    failed_count: int = Field(default=0, description="Number of episodes that failed, timed out or were cancelled.")
    avg_reward: float | None = Field(
        default=None, description="Mean total reward of the stored episodes; null if there are none."
    )
    actor_type: str = Field(default="member", description="`member`, `guest` or `system`.")
    actor_id: str | None = Field(default=None, description="ID of the submitter.")
    actor_username: str | None = Field(default=None, description="User name of the submitter.")
    domain_name: str = Field(default="", description="Title of the domain.")


class Episode(BaseModel):
    """An episode.

    An episode that has not started has an id of the form `RUN.INDEX`, which stays valid for requests afterwards. A
    started episode has an id of its own.
    """

    id: str = Field(description="ID of the episode.")
    run_id: str = Field(description="ID of its run.")
    seed: int | None = Field(default=None, description="Seed of the environment.")
    status: EpisodeStatus = Field(default=EpisodeStatus.PENDING, description="Status of the episode.")
    started_at: datetime | None = Field(default=None, description="When it started.")
    ended_at: datetime | None = Field(default=None, description="When it ended.")
    steps: int = Field(default=0, description="Number of steps.")
    total_reward: float = Field(default=0.0, description="Sum of all rewards.")
    terminal_info: dict[str, Any] = Field(default={}, description="`info` of the last step.")
    trial: int = Field(default=0, description="Index of the repetition of the seed, counting from 0.")
    index: int = Field(default=0, description="Position in the plan of the run, counting from 0.")
    scores: dict[str, float | None] = Field(default={}, description="Values of the metrics for this episode, by name.")
    failure: dict[str, Any] | None = Field(
        default=None, description="Why it failed: cause, boundary, message; null if it did not."
    )
    retries: int = Field(default=0, description="Number of repeated calls.")


class TraceEventType(StrEnum):
    """Types of trace events."""

    OBSERVATION = "observation"
    ACTION = "action"
    REWARD = "reward"
    MODEL_CALL = "model_call"
    TOOL_CALL = "tool_call"
    TECHNIQUE_EVENT = "technique_event"
    STEP_RESULT = "step_result"
    EPISODE_START = "episode_start"
    EPISODE_END = "episode_end"
    WARNING = "warning"
    ERROR = "error"
    RETRY = "retry"


class TraceEvent(BaseModel):
    """An event of a trace."""

    episode_id: str = Field(description="ID of the episode.")
    step: int = Field(description="Step; 0 before the first action.")
    timestamp: datetime = Field(description="When it happened.")
    event_type: TraceEventType = Field(description="Type of event.")
    payload: dict[str, Any] = Field(default={}, description="Content of the event.")
