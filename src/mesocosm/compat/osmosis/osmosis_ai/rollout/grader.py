"""Names of `osmosis_ai.rollout.grader`."""

from mesocosm.rollouts.sdk.grader import Grader

__all__ = [
    "Grader",
]
