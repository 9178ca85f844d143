"""The base class of graders, which users write to grade one sample."""

from abc import ABC, abstractmethod
from typing import Any

from mesocosm.rollouts.sdk.config import GraderConfig
from mesocosm.rollouts.sdk.context import GraderContext


class Grader(ABC):
    """Grades one sample. Every execution gets a new instance and a copy of the configuration."""

    def __init__(self, config: GraderConfig | None = None) -> None:
        self.config = config

    @abstractmethod
    async def grade(self, ctx: GraderContext) -> Any:
        """Set the reward of `ctx`'s sample, or its `remove_sample`. The return value is ignored."""
