"""Who executes rollouts: the interface of a backend, and the one that runs them in this process."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from mesocosm.rollouts.sdk.config import AgentWorkflowConfig, GraderConfig
from mesocosm.rollouts.sdk.grader import Grader
from mesocosm.rollouts.sdk.request import ExecutionRequest, ExecutionResult
from mesocosm.rollouts.sdk.workflow import AgentWorkflow

ResultCallback: TypeAlias = Callable[[ExecutionResult], Awaitable[None]]
"""Takes the result of a workflow or of a grading."""


class ExecutionBackend(ABC):
    """Executes rollouts for a server."""

    @abstractmethod
    async def execute(
        self,
        request: ExecutionRequest,
        on_workflow_complete: ResultCallback,
        on_grader_complete: ResultCallback | None = None,
    ) -> None:
        """Execute one rollout and await each callback with its result. Grading is wanted when there is a callback."""

    @property
    def max_concurrency(self) -> int:
        """How many executions run at once; 0 is any number."""
        return 0

    @property
    def capture_final_result(self) -> bool:
        """Whether grading is wanted even where nobody is called back with it."""
        return False

    def has_capacity(self) -> bool:
        """Whether another rollout can be taken now; a server says 429 when not."""
        return True

    def rollout_status(self, rollout_id: str) -> dict[str, Any] | None:
        """Return status, reward and err_message of a rollout; None when it is not known."""
        return None

    def cancel_rollouts(
        self,
        ids: Sequence[str] | None = None,
        prefix: str | None = None,
        all: bool = False,  # noqa: A002
    ) -> dict[str, str]:
        """Cancel rollouts; return what became of each: cancelled_queued, cancelled_running or not_found."""
        return {}

    def health(self) -> dict[str, Any]:
        """Return what `/health` says."""
        return {"status": "ok"}


class LocalBackend(ExecutionBackend):
    """Executes rollouts in this process, on threads of their own."""

    def __init__(
        self,
        *,
        workflow: type[AgentWorkflow[Any]] | str,
        workflow_config: AgentWorkflowConfig | str | None = None,
        grader: type[Grader] | str | None = None,
        grader_config: GraderConfig | str | None = None,
    ) -> None:
        raise NotImplementedError

    async def execute(
        self,
        request: ExecutionRequest,
        on_workflow_complete: ResultCallback,
        on_grader_complete: ResultCallback | None = None,
    ) -> None:
        """Execute one rollout; see ExecutionBackend."""
        raise NotImplementedError

    def close(self) -> None:
        """Stop the threads."""
