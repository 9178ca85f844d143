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


class Metric(BaseModel):
    """A metric of a run, with its interval and denominators."""

    name: str = Field(description="name of the metric")
    value: float | None = Field(description="the number; null when nothing could be scored")
    low: float | None = Field(default=None, description="lower end of the interval")
    high: float | None = Field(default=None, description="upper end of the interval")
    level: float = Field(default=0.95, description="confidence of the interval")
    method: str = Field(default="", description="how the interval was computed")
    aggregation: str = Field(default="mean", description="how values of episodes become the number")
    n_planned: int = Field(description="episodes that the run was to have")
    n_scored: int = Field(description="episodes with a value, failures of the agent's own doing among them")
    n_worst: int = Field(
        default=0, description="of these, failures of the agent's own doing, counted as the worst value"
    )
    n_tasks: int = Field(default=0, description="different tasks among them")
    missing: dict[str, int] = Field(default={}, description="episodes without a value, by cause")
    worst_value: float | None = Field(default=None, description="what such failures count as")
    pessimistic: float | None = Field(default=None, description="the number if every missing episode were the worst")
    pessimistic_low: float | None = Field(default=None, description="lower end of the interval of that")
    pessimistic_high: float | None = Field(default=None, description="upper end of the interval of that")
    n_malformed: int = Field(
        default=0, description="scored episodes with a reply without a valid action that the environment was given"
    )
    strict: float | None = Field(default=None, description="the number if each of these were the worst")
    strict_low: float | None = Field(default=None, description="lower end of the interval of that")
    strict_high: float | None = Field(default=None, description="upper end of the interval of that")
    higher_is_better: bool = Field(default=True, description="which direction is better")
    directed: bool = Field(default=True, description="whether the author said which direction is better")
    primary: bool = Field(default=False, description="whether it ranks runs")


class Run(BaseModel):
    """A run; `scores` maps metric names to values."""

    id: str = Field(description="id of the run")
    config: RunConfig = Field(description="what was asked for")
    requester_id: str | None = Field(
        default="", description="user id as text, or `guest:ID`; null for who may not know"
    )
    status: RunStatus = Field(default=RunStatus.PENDING, description="where it stands")
    created_at: datetime | None = Field(default=None, description="when it was asked for")
    completed_at: datetime | None = Field(default=None, description="when it ended")
    scores: dict[str, float] = Field(default={}, description="metric names and their values")
    team_id: str | None = Field(default=None, description="the team that it belongs to")
    env_id: str | None = Field(default=None, description="the submitted environment that it is played in")
    env_version: int | None = Field(default=None, description="which submission of the environment")
    visibility: Visibility = Field(default="private", description="who may see it")
    purpose: str = Field(default="run", description="run, test or full_bench")
    protocol: int | None = Field(
        default=None,
        description="version of the domain's protocol that an official run is played by; null: not official",
    )
    name: str = Field(default="", description="what the run is called in lists")
    tags: list[str] = Field(default=[], description="words to find it by")
    started_at: datetime | None = Field(default=None, description="when its first episode began")
    expires_at: datetime | None = Field(default=None, description="when a guest's run is removed")
    planned: int = Field(default=0, description="episodes that it is to have")
    finished: int = Field(default=0, description="episodes that are finished")
    failed: int | None = Field(
        default=None, description="of the finished ones, those that failed; an older platform does not say"
    )
    duration_s: float | None = Field(
        default=None, description="seconds that were worked on it until now, pauses left out; null before it began"
    )
    cost_usd: float | None = Field(default=0.0, description="what it cost so far; null when a price is not known")
    metrics: list[Metric] = Field(default=[], description="the scores with intervals and denominators")
    error: str = Field(default="", description="why it failed or stopped")
    stopped: bool = Field(
        default=False,
        description="whether a failed run was stopped before its end (by an outage, at a budget, by a server that "
        "refused every request): what it has not played is owed, and resuming it goes on",
    )
    warnings: list[str] = Field(default=[], description="what its owner should know")
    redacted: bool = Field(default=False, description="whether parts are hidden from who asks")


class RunListItem(Run):
    """An entry of a list of runs."""

    completed_count: int = Field(default=0, description="episodes that ended in the ordinary way")
    failed_count: int = Field(default=0, description="episodes that failed, ran out of time or were cancelled")
    avg_reward: float | None = Field(default=None, description="mean total reward over the stored episodes")
    actor_type: str = Field(default="member", description="member, guest or system")
    actor_id: str | None = Field(default=None, description="id of who asked for it")
    actor_username: str | None = Field(default=None, description="name of who asked for it")
    domain_name: str = Field(default="", description="title of the domain")


class Episode(BaseModel):
    """An episode.

    An episode that has not started has an id of the form `RUN.INDEX`, which stays valid for requests afterwards. A
    started episode has an id of its own.
    """

    id: str = Field(description="id of the episode")
    run_id: str = Field(description="the run that it belongs to")
    seed: int | None = Field(default=None, description="seed of the environment")
    status: EpisodeStatus = Field(default=EpisodeStatus.PENDING, description="where it stands")
    started_at: datetime | None = Field(default=None, description="when it began")
    ended_at: datetime | None = Field(default=None, description="when it ended")
    steps: int = Field(default=0, description="actions taken")
    total_reward: float = Field(default=0.0, description="sum of all rewards")
    terminal_info: dict[str, Any] = Field(default={}, description="the environment's last words")
    trial: int = Field(default=0, description="which repetition of the seed")
    index: int = Field(default=0, description="place in the plan of the run")
    scores: dict[str, float | None] = Field(default={}, description="values of the metrics for this episode")
    failure: dict[str, Any] | None = Field(default=None, description="why it failed: cause, boundary, message")
    retries: int = Field(default=0, description="calls that were made again")


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

    episode_id: str = Field(description="the episode that it belongs to")
    step: int = Field(description="0 before the first action")
    timestamp: datetime = Field(description="when it happened")
    event_type: TraceEventType = Field(description="what it is")
    payload: dict[str, Any] = Field(default={}, description="what was seen, done or said")
