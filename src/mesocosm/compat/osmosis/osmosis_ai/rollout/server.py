"""Names of `osmosis_ai.rollout.server`."""

from mesocosm.rollouts.sdk.server import ControllerAuth, create_rollout_server

__all__ = [
    "ControllerAuth",
    "create_rollout_server",
]
