"""Names of `osmosis_ai.rollout.grader`."""

from mesocosm.rollouts.sdk.workflow import Grader

__all__ = [
    "Grader",
]
