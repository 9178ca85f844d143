"""Names of `osmosis_ai.rollout.http_driver`."""

from mesocosm.rollouts.sdk.http_driver import HttpRolloutDriver, RolloutProtocolError

__all__ = [
    "HttpRolloutDriver",
    "RolloutProtocolError",
]
