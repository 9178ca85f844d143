"""Runs as programs exchange them with a platform."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, Field, model_validator


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
