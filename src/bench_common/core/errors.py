"""Errors under their old names; `except BenchError` catches every deliberate error."""

from mesocosm.core.failure import EpisodeError as EnvironmentStartupError
from mesocosm.core.failure import InfrastructureError as StorageError
from mesocosm.core.failure import MesocosmError as BenchError
from mesocosm.core.failure import UsageError as ManifestError
from mesocosm.core.vow import VowViolation as VowViolationError

__all__ = ["BenchError", "EnvironmentStartupError", "ManifestError", "StorageError", "VowViolationError"]
