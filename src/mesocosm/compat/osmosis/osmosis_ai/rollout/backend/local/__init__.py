"""Names of `osmosis_ai.rollout.backend.local`."""

from mesocosm.rollouts.sdk.backend import LocalBackend

__all__ = [
    "LocalBackend",
]
