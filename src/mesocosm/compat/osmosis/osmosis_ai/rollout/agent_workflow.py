"""Names of `osmosis_ai.rollout.agent_workflow`."""

from mesocosm.rollouts.sdk.workflow import AgentWorkflow

__all__ = [
    "AgentWorkflow",
]
