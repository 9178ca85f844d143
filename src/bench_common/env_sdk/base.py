"""The base class of environments."""

from mesocosm.environments.sdk import BaseEnv, StepResult

__all__ = ["BaseEnv", "StepResult"]
