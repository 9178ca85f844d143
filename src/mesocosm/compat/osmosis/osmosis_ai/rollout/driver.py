"""Run single rollouts, independent of where they are executed: the request and its outcome."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from mesocosm.rollouts.sdk.sample import Messages, RolloutSample
from mesocosm.rollouts.sdk.status import RolloutStatus

__all__ = ["RolloutDriver", "RolloutOutcome", "RolloutRunRequest"]


@dataclass
class RolloutRunRequest:
    """One row to execute. Timeouts are in seconds; None is unlimited."""

    messages: Messages
    label: str | None = None
    metadata: dict[str, Any] | None = None
    rollout_id: str = ""
    agent_timeout_sec: float | None = None
    grader_timeout_sec: float | None = None
    extra_fields: dict[str, Any] | None = None


@dataclass
class RolloutOutcome:
    """The outcome of a rollout. What follows `rollout_id` only drivers of 0.3.0 set."""

    status: RolloutStatus
    sample: RolloutSample | None = None
    error: str | None = None
    rollout_id: str | None = None
    duration_ms: float = field(default=0.0, kw_only=True)
    tokens: int = field(default=0, kw_only=True)
    systemic_error: str | None = field(default=None, kw_only=True)
    callback_diagnostics: dict[str, Any] = field(default_factory=dict, kw_only=True)
    skipped: bool = field(default=False, kw_only=True)


class RolloutDriver(ABC):
    """Executes rollouts and returns their outcomes; only 0.3.0 has this base class."""

    @property
    def max_concurrency(self) -> int:
        """Maximum number of concurrent rollouts; 0 is unlimited."""
        return 0

    @abstractmethod
    async def run(self, messages: Messages, label: str | None = None, rollout_id: str = "") -> RolloutOutcome:
        """Execute one rollout and return its outcome."""
