"""Names of `osmosis_ai.rollout.driver`."""

from mesocosm.rollouts.sdk.driver import RolloutDriver, RolloutOutcome, RolloutRunRequest

__all__ = [
    "RolloutDriver",
    "RolloutOutcome",
    "RolloutRunRequest",
]
