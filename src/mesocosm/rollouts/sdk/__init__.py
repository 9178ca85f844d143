"""The SDK for writing rollouts. It needs only the standard library and pydantic.

Each name is loaded on first use, so importing this package is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    from mesocosm.rollouts.sdk.judge import Judge, JudgeError
    from mesocosm.rollouts.sdk.request import (
        CancelRolloutsRequest,
        CancelRolloutsResponse,
        ExecutionOutcome,
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
    from mesocosm.rollouts.sdk.workflow import AgentWorkflow, AgentWorkflowOutput, Grader

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
    "ExecutionOutcome",
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

_MODULES = {
    "backend": ("ExecutionBackend", "LocalBackend", "ResultCallback"),
    "completion": ("CompletionError", "complete"),
    "config": ("AgentWorkflowConfig", "BaseConfig", "ConcurrencyConfig", "GraderConfig"),
    "context": (
        "AgentWorkflowContext",
        "GraderContext",
        "HarborAgentWorkflowContext",
        "RolloutContext",
        "SampleSource",
        "get_rollout_context",
    ),
    "judge": ("Judge", "JudgeError"),
    "request": (
        "CancelRolloutsRequest",
        "CancelRolloutsResponse",
        "ExecutionOutcome",
        "ExecutionRequest",
        "ExecutionResult",
        "GraderCompleteRequest",
        "GraderInitRequest",
        "GraderInitResponse",
        "RolloutCompleteRequest",
        "RolloutInitRequest",
        "RolloutInitResponse",
        "RolloutStatusResponse",
    ),
    "sample": ("MessageDict", "Messages", "RolloutSample"),
    "server": ("ControllerAuth", "create_rollout_server"),
    "status": ("GraderStatus", "MultiTurnMode", "RolloutErrorCategory", "RolloutStatus"),
    "workflow": ("AgentWorkflow", "AgentWorkflowOutput", "Grader"),
}
PLACES: dict[str, str] = {name: module for module, names in _MODULES.items() for name in names}
"""The module of each public name."""


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{PLACES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *PLACES})
