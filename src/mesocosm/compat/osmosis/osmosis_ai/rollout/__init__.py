"""Names of `osmosis_ai.rollout`; those that need a framework are imported on first access."""

from importlib import import_module
from typing import Any

from mesocosm.rollouts.sdk.backend import ExecutionBackend, LocalBackend
from mesocosm.rollouts.sdk.config import AgentWorkflowConfig, BaseConfig, ConcurrencyConfig, GraderConfig
from mesocosm.rollouts.sdk.context import (
    AgentWorkflowContext,
    GraderContext,
    HarborAgentWorkflowContext,
    RolloutContext,
    SampleSource,
    get_rollout_context,
)
from mesocosm.rollouts.sdk.request import (
    ExecutionRequest,
    ExecutionResult,
    GraderCompleteRequest,
    GraderInitRequest,
    GraderInitResponse,
    RolloutCompleteRequest,
    RolloutInitRequest,
    RolloutInitResponse,
)
from mesocosm.rollouts.sdk.sample import MessageDict, RolloutSample
from mesocosm.rollouts.sdk.status import GraderStatus, MultiTurnMode, RolloutErrorCategory, RolloutStatus
from mesocosm.rollouts.sdk.workflow import AgentWorkflow, AgentWorkflowOutput, Grader

__all__ = [
    "AgentWorkflow",
    "AgentWorkflowConfig",
    "AgentWorkflowContext",
    "AgentWorkflowOutput",
    "BaseConfig",
    "ConcurrencyConfig",
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
    "LocalBackend",
    "MessageDict",
    "MultiTurnMode",
    "RolloutCompleteRequest",
    "RolloutContext",
    "RolloutErrorCategory",
    "RolloutInitRequest",
    "RolloutInitResponse",
    "RolloutSample",
    "RolloutStatus",
    "SampleSource",
    "get_rollout_context",
]

_LATER = {
    "ControllerAuth": "mesocosm.rollouts.sdk.server",
    "OsmosisRolloutModel": "mesocosm.rollouts.sdk.adapters.strands",
    "OsmosisStrandsAgent": "mesocosm.rollouts.sdk.adapters.strands",
    "create_rollout_server": "mesocosm.rollouts.sdk.server",
}
"""Names that rollouts written for versions before 0.3 import from here; importing them loads a framework."""


def __getattr__(name: str) -> Any:
    import_module("..removed_names", __name__).refuse(name)
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
