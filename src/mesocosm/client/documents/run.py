"""Runs as programs exchange them with a platform.

Unknown fields are ignored, so old and new programs meet; those of an agent are refused, for they would change what is
played.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Visibility = Literal["private", "gallery_public"]
"""`private`: the owner and their team see a run; `gallery_public`: everybody, once it has completed."""

Seed = Annotated[int, Field(ge=-(2**63), lt=2**64)]

_EXAMPLE: dict[str, Any] = {
    "domain_id": "f0a1c2d3-0000-4000-8000-000000000001",
    "binding_vow_version": "1.0.0",
    "agent_config": {"model": "openai/gpt-4o-mini", "temperature": 0.0, "max_tokens": 1024},
    "num_episodes": 10,
    "max_parallel": 2,
}


class TechniqueConfig(BaseModel):
    """A technique that a run switches on, with its parameters."""

    technique_id: str = Field(description="name of a technique that the domain's vow declares")
    params: dict[str, Any] = Field(default={}, description="parameters in place of those of the vow")


class AgentConfig(BaseModel):
    """The agent of a run."""

    model: str = Field(description="a model of GET /v1/models, `provider/name`")
    system_prompt: str | None = Field(
        default=None, description="what the agent is told beside the environment's own words"
    )
    techniques: Sequence[TechniqueConfig] = Field(default=[], description="techniques with parameters of one's own")
    temperature: float = Field(default=0.0, description="temperature of sampling")
    max_tokens: int = Field(default=4096, description="tokens of one answer at most")


class TechniqueInput(TechniqueConfig):
    """A technique of a run that is asked for."""

    model_config = ConfigDict(extra="forbid")


class AgentInput(AgentConfig):
    """The agent of a run that is asked for. A key that is not known would change nothing, so it is refused."""

    model_config = ConfigDict(extra="forbid")

    model: str = Field(min_length=1, max_length=300, description="a model of GET /v1/models, `provider/name`")
    system_prompt: str | None = Field(default=None, max_length=50_000, description="what the agent is told in addition")
    techniques: list[TechniqueInput] = Field(
        default=[], max_length=50, description="techniques with parameters of one's own"
    )
    temperature: float = Field(default=0.0, ge=0, le=2, allow_inf_nan=False, description="temperature of sampling")
    max_tokens: int = Field(default=4096, ge=1, le=1_000_000, description="tokens of one answer at most")


class RunConfig(BaseModel):
    """What a run is asked to do. With a `seed_set`, `num_episodes` is its length."""

    domain_id: str = Field(description="the domain to play")
    binding_vow_version: str = Field(description="version of the domain's vow; it must be the present one")
    agent_config: AgentConfig = Field(description="who plays")
    seed_set: list[int] | None = Field(default=None, description="one seed for each episode; 0, 1, … by default")
    num_episodes: int = Field(default=1, ge=1, description="how many episodes")
    max_parallel: int = Field(default=1, ge=1, description="how many of them at once")
    env_id: str | None = Field(default=None, description="the submitted environment, where the domain has several")

    @model_validator(mode="before")
    @classmethod
    def _as_many_as_seeds(cls, given: Any) -> Any:
        if isinstance(given, dict) and isinstance(given.get("seed_set"), list) and given.get("num_episodes") is None:
            return {**given, "num_episodes": max(len(given["seed_set"]), 1)}
        return given

    @model_validator(mode="after")
    def _one_seed_each(self) -> "RunConfig":
        if self.seed_set is not None and len(self.seed_set) != self.num_episodes:
            raise ValueError(f"seed_set has {len(self.seed_set)} seeds for {self.num_episodes} episodes")
        return self


class RunInput(RunConfig):
    """A run that is asked for."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    domain_id: str = Field(min_length=1, max_length=200, description="the domain to play")
    binding_vow_version: str = Field(max_length=100, description="version of the domain's vow; the present one")
    agent_config: AgentInput = Field(description="who plays")
    seed_set: list[Seed] | None = Field(default=None, description="one seed for each episode; 0, 1, … by default")
    max_parallel: int = Field(default=1, ge=1, le=1_000, description="how many of them at once")
    env_id: str | None = Field(
        default=None, max_length=200, description="the environment, where the domain has several"
    )
    team_id: str | None = Field(default=None, max_length=200, description="the team that the run belongs to")
    visibility: Visibility | None = Field(
        default=None, description="private by default; runs of guests are always public"
    )
    name: str = Field(default="", max_length=200, description="what the run is called in lists")
    tags: list[str] = Field(default=[], max_length=50, description="words to find it by")
    trials: int = Field(default=1, ge=1, le=100, description="how often each seed is played")
    outage_seconds: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="how long the run waits for a server that does not answer; at most, and by default, as the "
        "platform says",
    )
    max_missing: float | None = Field(
        default=None,
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="share of episodes that may lack a value before the run is partial; at most, and by default, as "
        "the platform says",
    )
    official: bool = Field(
        default=False,
        description="play by the protocol of the domain, for its official board: the server draws the seeds, the run "
        "is public, and it counts as an attempt whatever becomes of it. What the protocol fixes is left out",
    )


class RunStatus(StrEnum):
    """Life of a run on a platform."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    PARTIAL = "partial"
    """Played, but too many episodes have no value for reasons that are not the agent's: it is ranked nowhere."""
    FAILED = "failed"
    CANCELLED = "cancelled"


class Metric(BaseModel):
    """One number of a run with everything needed to trust it."""

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
    """A run as a platform shows it; `scores` maps metric names to numbers."""

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
    """A run in a list."""

    completed_count: int = Field(default=0, description="episodes that ended in the ordinary way")
    failed_count: int = Field(default=0, description="episodes that failed, ran out of time or were cancelled")
    avg_reward: float | None = Field(default=None, description="mean total reward over the stored episodes")
    actor_type: str = Field(default="member", description="member, guest or system")
    actor_id: str | None = Field(default=None, description="id of who asked for it")
    actor_username: str | None = Field(default=None, description="name of who asked for it")
    domain_name: str = Field(default="", description="title of the domain")


class RunState(BaseModel):
    """Where a run stands, in short."""

    id: str
    status: RunStatus
    scores: dict[str, float] = {}
    completed_at: datetime | None = None


class RunStates(BaseModel):
    """Where several runs stand; those that one may not read are left out."""

    runs: dict[str, RunState] = Field(description="states by run id")


class RunChange(BaseModel):
    """What the owner of a run may change of it later."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"visibility": "gallery_public"}]})

    visibility: Visibility = Field(description="who may see it")


class RunLogLine(BaseModel):
    """A line for the owner of a run."""

    kind: Literal["state", "warning", "error"] = Field(description="what it is")
    at: datetime | None = Field(default=None, description="when, where that is known")
    text: str = Field(description="the words")


class RunLog(BaseModel):
    """What the platform has to say about a run, oldest first."""

    run_id: str
    lines: list[RunLogLine]


class Problem(BaseModel):
    """What a platform answers when it refuses: what happened, on which object, what to do next."""

    error: str = Field(description="kind of the error")
    detail: str | list[dict[str, Any]] | dict[str, Any] = Field(description="words, or every problem with its place")
