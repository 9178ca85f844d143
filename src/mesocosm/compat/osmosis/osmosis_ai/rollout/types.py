"""Names of `osmosis_ai.rollout.types`."""

from mesocosm.rollouts.sdk.config import AgentWorkflowConfig, BaseConfig, ConcurrencyConfig, GraderConfig
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
from mesocosm.rollouts.sdk.status import GraderStatus, MultiTurnMode, RolloutErrorCategory, RolloutStatus
from mesocosm.rollouts.sdk.workflow import AgentWorkflowOutput

__all__ = [
    "AgentWorkflowConfig",
    "AgentWorkflowOutput",
    "BaseConfig",
    "CancelRolloutsRequest",
    "CancelRolloutsResponse",
    "ConcurrencyConfig",
    "ExecutionRequest",
    "ExecutionResult",
    "GraderCompleteRequest",
    "GraderConfig",
    "GraderInitRequest",
    "GraderInitResponse",
    "GraderStatus",
    "MessageDict",
    "Messages",
    "MultiTurnMode",
    "RolloutCompleteRequest",
    "RolloutErrorCategory",
    "RolloutInitRequest",
    "RolloutInitResponse",
    "RolloutSample",
    "RolloutStatus",
    "RolloutStatusResponse",
]
