"""Names of `osmosis_ai.rollout.backend`."""

from mesocosm.rollouts.sdk.backend import ExecutionBackend, LocalBackend, ResultCallback

__all__ = [
    "ExecutionBackend",
    "LocalBackend",
    "ResultCallback",
]
