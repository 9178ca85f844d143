"""A benchmark whose episodes take one step and always go well. Subclasses say which tasks there are and what counts."""

from typing import Any, Self

from mesocosm.core.ports import Observation, Step
from mesocosm.core.task import Task


class OneStep:
    """Most of Benchmark; it is its own environment."""

    action_space: Any = None
    observation_space: Any = None

    async def open(self, notice: Any) -> None:
        return None

    async def environment(self, task: Task, episode_id: str) -> Self:
        return self

    async def reset(self) -> Observation:
        return Observation("start")

    async def step(self, action: Any) -> Step:
        return Step(Observation(None), terminated=True)

    async def oracle(self) -> Any:
        return None

    async def close(self) -> None:
        return None
