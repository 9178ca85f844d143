"""Environment classes that workers of an executor open by the path of this file."""

import asyncio
import os
import random
import signal
import threading
from pathlib import Path
from typing import Any, ClassVar

from mesocosm.core.score import Metric
from mesocosm.environments.sdk import BaseEnv, StepResult


class Brief(BaseEnv):
    """Two steps; the reward depends on the seed and the actions. The end of an episode is noted in a file, if named."""

    title = "Brief"
    action_space: ClassVar[dict[str, Any]] = {"type": "discrete", "enum_values": ["left", "right"]}
    metrics: ClassVar[tuple[Metric, ...]] = (Metric("mean_reward", "reward", primary=True),)

    def reset(self, seed: int | None = None, **params: Any) -> dict[str, Any]:
        self.seed = seed or 0
        self.random = random.Random(seed)
        self.steps = 0
        return {"seed": seed}

    def step(self, action: Any) -> StepResult:
        self.steps += 1
        reward = self.random.random() * (1 + (action == "left")) / 3
        if self.steps == 2 and (notes := os.environ.get("MESOCOSM_TEST_NOTES")):
            with Path(notes).open("a") as file:
                file.write(f"{self.seed}\n")
        return StepResult({"steps": self.steps, "seed": self.seed}, reward, self.steps == 2, False, {})


class Paced(Brief):
    """Takes some time, as with a model, so that what happens to its run does so before its end."""

    title = "Paced"

    async def step(self, action: Any) -> StepResult:  # type: ignore[override]
        await asyncio.sleep(0.01)
        return super().step(action)


class Failing(Brief):
    """Breaks in the episodes of odd seeds."""

    title = "Failing"

    def step(self, action: Any) -> StepResult:
        if self.seed % 2:
            raise ValueError("the bridge broke")
        return super().step(action)


class Deadly(Brief):
    """Ends its process in the episode of seed 7; only the first time where MESOCOSM_TEST_ONCE names a file."""

    title = "Deadly"

    def step(self, action: Any) -> StepResult:
        once = os.environ.get("MESOCOSM_TEST_ONCE", "")
        if self.seed == 7 and not (once and Path(once).exists()):
            if once:
                Path(once).touch()
            os.kill(os.getpid(), signal.SIGKILL)
            threading.Event().wait()
        return super().step(action)


class Halting(Brief):
    """Waits in the second step of seed 3 until the file exists that MESOCOSM_TEST_GATE names."""

    title = "Halting"

    async def step(self, action: Any) -> StepResult:  # type: ignore[override]
        while self.seed == 3 and self.steps == 1 and not _open():  # noqa: ASYNC110  (another process opens it)
            await asyncio.sleep(0.01)
        return super().step(action)


def _open() -> bool:
    return Path(os.environ["MESOCOSM_TEST_GATE"]).exists()


class Telling(Brief):
    """Shows what only the session may hide."""

    title = "Telling"

    def step(self, action: Any) -> StepResult:
        result = super().step(action)
        told = Path(os.environ["MESOCOSM_TEST_TOLD"]).read_text()
        return StepResult({"told": told, "long": told * 2000}, result.reward, result.terminated, False, {"told": told})
