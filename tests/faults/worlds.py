"""Environment classes that the fault tests run in other processes."""

import asyncio
import os
import random
import time
from pathlib import Path
from typing import Any, ClassVar

from mesocosm.environments.sdk import BaseEnv, StepResult


class Slow(BaseEnv):
    """Three steps of a few milliseconds; the reward depends on seed and actions, so equal play gives equal scores.

    Every finished third step is noted in the file that MESOCOSM_TEST_NOTES names.
    """

    title = "Slow"
    action_space: ClassVar[dict[str, Any]] = {"type": "discrete", "enum_values": ["left", "right", "stay"]}

    def reset(self, seed: int | None = None, **params: Any) -> dict[str, Any]:
        self.random = random.Random(seed)
        self.seed = seed
        self.steps = 0
        return {"seed": seed}

    def step(self, action: Any) -> StepResult:
        time.sleep(0.001)
        self.steps += 1
        reward = self.random.random() * (1 + ["left", "right", "stay"].index(action))
        if self.steps == 3:
            with Path(os.environ["MESOCOSM_TEST_NOTES"]).open("a") as notes:
                notes.write(f"{self.seed}\n")
        return StepResult({"steps": self.steps}, reward, self.steps == 3, False, {})


class Brief(BaseEnv):
    """Two steps; going left is worth 1."""

    title = "Brief"
    action_space: ClassVar[dict[str, Any]] = {"type": "discrete", "enum_values": ["left", "right"]}

    def reset(self, seed: int | None = None, **params: Any) -> dict[str, Any]:
        self.steps = 0
        return {"seed": seed}

    def step(self, action: Any) -> StepResult:
        self.steps += 1
        return StepResult({"steps": self.steps}, float(action == "left"), self.steps == 2, False, {})


class Halting(Brief):
    """Waits in the episode of seed 3 until somebody makes the file that MESOCOSM_TEST_GATE names.

    It is a coroutine, so other episodes go on meanwhile.
    """

    title = "Halting"

    async def reset(self, seed: int | None = None, **params: Any) -> dict[str, Any]:  # type: ignore[override]
        while seed == 3 and not is_open():  # noqa: ASYNC110  (the gate is a file, so that other processes can open it)
            await asyncio.sleep(0.005)
        return super().reset(seed)


def is_open() -> bool:
    """Whether the gate is there."""
    return Path(os.environ["MESOCOSM_TEST_GATE"]).exists()
