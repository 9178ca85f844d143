"""The author's side of an environment."""

from mesocosm.environments.sdk import BaseEnv, StepResult

__all__ = ["BaseEnv", "StepResult"]
