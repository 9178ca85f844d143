"""The JSON shapes of domains, runs and episodes that programs exchange with a platform.

A domain is what a manifest becomes there. Unknown keys are ignored, so that older programs read newer answers.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator

from mesocosm.core.scoring import ScoringConfig
from mesocosm.core.vow import BindingVow


class ResourceSpec(BaseModel):
    """Resources that an environment asks for, in the words of Kubernetes."""

    cpu: str = "2"
    memory: str = "4Gi"
    gpu: str | None = None
    timeout_seconds: int = 3600


class EnvironmentEndpoint(BaseModel):
    """How an environment is reached: at its own `url`, or started in a sandbox."""

    mode: Literal["remote", "sandbox"] = "remote"
    url: str | None = None
    image: str | None = None
    resources: ResourceSpec | None = None


class VersionEntry(BaseModel):
    """One entry of a domain's history; `date` is YYYY-MM-DD."""

    version: str
    date: str = ""
    changes: str = ""


class DomainStatus(StrEnum):
    """Life of a domain."""

    DRAFT = "draft"
    TESTING = "testing"
    PUBLISHED = "published"
    ARCHIVED = "archived"


class DomainConfig(BaseModel):
    """A domain as its author registers it."""

    id: str
    name: str
    owner_id: str = ""
    binding_vow: BindingVow
    endpoint: EnvironmentEndpoint
    scoring: ScoringConfig
    tags: list[str] = []
    detail: str = ""
    pricing: str = "free"
    version_history: list[VersionEntry] = []
    image_url: str | None = None
    profile_picture_url: str | None = None
    has_gold_benchmark: bool = False


class Domain(DomainConfig):
    """A domain as a platform keeps it."""

    status: DomainStatus = DomainStatus.DRAFT


class TechniqueConfig(BaseModel):
    """A technique that a run switches on, with its parameters."""

    technique_id: str
    params: dict[str, Any] = {}


class AgentConfig(BaseModel):
    """The agent of a run."""

    model: str
    system_prompt: str | None = None
    techniques: list[TechniqueConfig] = []
    temperature: float = 0.0
    max_tokens: int = 4096


class RunConfig(BaseModel):
    """What a run is asked to do. With a `seed_set`, `num_episodes` is its length."""

    domain_id: str
    binding_vow_version: str
    agent_config: AgentConfig
    seed_set: list[int] | None = None
    num_episodes: int = Field(default=1, ge=1)
    max_parallel: int = Field(default=1, ge=1)
    env_id: str | None = None

    @model_validator(mode="after")
    def _one_seed_each(self) -> "RunConfig":
        if self.seed_set is not None and len(self.seed_set) != self.num_episodes:
            raise ValueError(f"seed_set has {len(self.seed_set)} seeds for {self.num_episodes} episodes")
        return self


class RunStatus(StrEnum):
    """Life of a run on a platform."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Run(BaseModel):
    """A run as a platform shows it; `scores` maps metric names to numbers."""

    id: str
    config: RunConfig
    requester_id: str = ""
    status: RunStatus = RunStatus.PENDING
    created_at: datetime | None = None
    completed_at: datetime | None = None
    scores: dict[str, float] = {}
    team_id: str | None = None
    env_id: str | None = None


class EpisodeStatus(StrEnum):
    """Life of an episode on a platform."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    TRUNCATED = "truncated"
    TIMEOUT = "timeout"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Episode(BaseModel):
    """An episode as a platform shows it."""

    id: str
    run_id: str
    seed: int | None = None
    status: EpisodeStatus = EpisodeStatus.PENDING
    started_at: datetime | None = None
    ended_at: datetime | None = None
    steps: int = 0
    total_reward: float = 0.0
    terminal_info: dict[str, Any] = {}


class TraceEventType(StrEnum):
    """Kinds of trace events that programs may meet."""

    OBSERVATION = "observation"
    ACTION = "action"
    REWARD = "reward"
    MODEL_CALL = "model_call"
    TOOL_CALL = "tool_call"
    TECHNIQUE_EVENT = "technique_event"
    STEP_RESULT = "step_result"
    EPISODE_START = "episode_start"
    EPISODE_END = "episode_end"


class TraceEvent(BaseModel):
    """One event of a trace."""

    episode_id: str
    step: int
    timestamp: datetime
    event_type: TraceEventType
    payload: dict[str, Any] = {}
