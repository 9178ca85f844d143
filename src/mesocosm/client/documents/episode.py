"""Episodes and trace events as programs exchange them with a platform."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from mesocosm.client.documents.run import AgentInput, Seed
from mesocosm.core.episode import EpisodeStatus


class Episode(BaseModel):
    """An episode as a platform shows it.

    One that has not begun has an id of the form `RUN.PLACE`, by which it can be asked for later too; from its beginning
    on it has one of its own.
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
    WARNING = "warning"
    ERROR = "error"
    RETRY = "retry"


class TraceEvent(BaseModel):
    """One event of a trace."""

    episode_id: str = Field(description="the episode that it belongs to")
    step: int = Field(description="0 before the first action")
    timestamp: datetime = Field(description="when it happened")
    event_type: TraceEventType = Field(description="what it is")
    payload: dict[str, Any] = Field(default={}, description="what was seen, done or said")


class TestEpisodeInput(BaseModel):
    """A single episode to try a domain with."""

    __test__ = False

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "domain_id": "f0a1c2d3-0000-4000-8000-000000000001",
                    "binding_vow_version": "1.0.0",
                    "agent_config": {"model": "builtin/random"},
                    "seed": 3,
                }
            ]
        }
    )

    domain_id: str = Field(min_length=1, max_length=200, description="the domain to try")
    binding_vow_version: str | None = Field(
        default=None, max_length=100, description="version of its vow; the present one"
    )
    agent_config: AgentInput = Field(description="who plays")
    seed: Seed | None = Field(default=None, description="seed of the episode; 0 by default")
    env_id: str | None = Field(
        default=None, max_length=200, description="the environment, where the domain has several"
    )
    env_url: str | None = Field(
        default=None, max_length=2_000, description="play at this address in place of the domain's"
    )
    team_id: str | None = Field(default=None, max_length=200, description="the team that the episode belongs to")
