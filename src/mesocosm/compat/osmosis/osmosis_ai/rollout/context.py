"""Names of `osmosis_ai.rollout.context`."""

from mesocosm.rollouts.sdk.context import (
    API_KEY_ENV,
    CHAT_COMPLETIONS_URL_ENV,
    ROLLOUT_ID_ENV,
    AgentWorkflowContext,
    GraderContext,
    HarborAgentWorkflowContext,
    RolloutContext,
    SampleSource,
    get_rollout_context,
    rollout_contextvar,
)

__all__ = [
    "API_KEY_ENV",
    "AgentWorkflowContext",
    "CHAT_COMPLETIONS_URL_ENV",
    "GraderContext",
    "HarborAgentWorkflowContext",
    "ROLLOUT_ID_ENV",
    "RolloutContext",
    "SampleSource",
    "get_rollout_context",
    "rollout_contextvar",
]
