"""Run single rollouts, independent of where they are executed: the request and its outcome."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from mesocosm.rollouts.sdk.sample import Messages, RolloutSample
from mesocosm.rollouts.sdk.status import RolloutStatus


@dataclass(frozen=True, slots=True)
class RolloutRunRequest:
    """One row to execute. Timeouts are in seconds (None: unlimited); an empty id lets the driver choose one."""

    messages: Messages
    label: str | None = None
    metadata: dict[str, Any] | None = None
    rollout_id: str = ""
    agent_timeout_sec: float | None = None
    grader_timeout_sec: float | None = None
    extra_fields: dict[str, Any] | None = None


@dataclass(slots=True)
class RolloutOutcome:
    """The outcome of a rollout. `systemic_error` would affect the next one too; `tokens` is the total."""

    status: RolloutStatus
    sample: RolloutSample | None = None
    error: str | None = None
    duration_ms: float = 0.0
    tokens: int = 0
    systemic_error: str | None = None
    rollout_id: str | None = None
    callback_diagnostics: dict[str, Any] = field(default_factory=dict)
    skipped: bool = False


class RolloutDriver(ABC):
    """Executes rollouts and returns their outcomes."""

    @property
    def max_concurrency(self) -> int:
        """Maximum number of concurrent rollouts; 0 is unlimited."""
        return 0

    @abstractmethod
    async def run(self, request: RolloutRunRequest) -> RolloutOutcome:
        """Execute one rollout and return its outcome."""
