"""Rollouts: an AgentWorkflow and a Grader, evaluated on the rows of a dataset.

The names of the SDK are here too, each loaded when it is first asked for.
"""

from typing import TYPE_CHECKING, Any

from mesocosm.rollouts import sdk

if TYPE_CHECKING:
    from mesocosm.rollouts.sdk.backend import ExecutionBackend, LocalBackend, ResultCallback
    from mesocosm.rollouts.sdk.completion import CompletionError, complete
    from mesocosm.rollouts.sdk.config import AgentWorkflowConfig, BaseConfig, ConcurrencyConfig, GraderConfig
    from mesocosm.rollouts.sdk.context import (
        AgentWorkflowContext,
        GraderContext,
        HarborAgentWorkflowContext,
        RolloutContext,
        SampleSource,
        get_rollout_context,
    )
    from mesocosm.rollouts.sdk.grader import Grader
    from mesocosm.rollouts.sdk.judge import Judge, JudgeError
    from mesocosm.rollouts.sdk.request import (
        CancelRolloutsRequest,
        CancelRolloutsResponse,
        ExecutionRequest,
        ExecutionResult,
        GraderCompleteRequest,
        GraderInitRequest,
        GraderInitResponse,
        RolloutCompleteRequest,
        RolloutInitRequest,
        RolloutInitResponse,
        RolloutStatusResponse,
    )
    from mesocosm.rollouts.sdk.sample import MessageDict, Messages, RolloutSample
    from mesocosm.rollouts.sdk.server import ControllerAuth, create_rollout_server
    from mesocosm.rollouts.sdk.status import GraderStatus, MultiTurnMode, RolloutErrorCategory, RolloutStatus
    from mesocosm.rollouts.sdk.workflow import AgentWorkflow, AgentWorkflowOutput

__all__ = [
    "AgentWorkflow",
    "AgentWorkflowConfig",
    "AgentWorkflowContext",
    "AgentWorkflowOutput",
    "BaseConfig",
    "CancelRolloutsRequest",
    "CancelRolloutsResponse",
    "CompletionError",
    "ConcurrencyConfig",
    "ControllerAuth",
    "ExecutionBackend",
    "ExecutionRequest",
    "ExecutionResult",
    "Grader",
    "GraderCompleteRequest",
    "GraderConfig",
    "GraderContext",
    "GraderInitRequest",
    "GraderInitResponse",
    "GraderStatus",
    "HarborAgentWorkflowContext",
    "Judge",
    "JudgeError",
    "LocalBackend",
    "MessageDict",
    "Messages",
    "MultiTurnMode",
    "ResultCallback",
    "RolloutCompleteRequest",
    "RolloutContext",
    "RolloutErrorCategory",
    "RolloutInitRequest",
    "RolloutInitResponse",
    "RolloutSample",
    "RolloutStatus",
    "RolloutStatusResponse",
    "SampleSource",
    "complete",
    "create_rollout_server",
    "get_rollout_context",
]


def __getattr__(name: str) -> Any:
    if name in sdk.PLACES:
        value = globals()[name] = getattr(sdk, name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *sdk.PLACES})
