"""Episodes and trace events as programs exchange them with a platform."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel


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
