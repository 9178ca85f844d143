"""The emptiest environment and model, so that what is measured is everything else."""

import time
from typing import Any

from mesocosm.core.model import Capabilities, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.registry import MODELS
from mesocosm.environments.sdk import BaseEnv, StepResult


class OneStep(BaseEnv):
    """One question, one answer, reward 1."""

    action_space = {"type": "text", "description": "anything"}

    def reset(self, seed: int | None = None, **params: Any) -> dict[str, Any]:
        """Ask."""
        return {"question": "what follows?", "seed": seed}

    def step(self, action: Any) -> StepResult:
        """Accept any answer."""
        return StepResult({"answer": action}, 1.0, True, False, {"correct": True})


class Busy(OneStep):
    """An episode of 5 ms of processor time."""

    def step(self, action: Any) -> StepResult:
        """Use the processor."""
        end = time.thread_time() + 0.005
        while time.thread_time() < end:
            pass
        return super().step(action)


class NoopModel:
    """Answers at once."""

    capabilities = Capabilities(local=True)
    reply = ModelReply("the next one", model="noop/noop")

    async def check(self) -> None:
        """It is there."""

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Answer."""
        return self.reply

    async def close(self) -> None:
        """Nothing is open."""


@MODELS.register("noop")
def open_noop(settings: ModelSettings) -> NoopModel:
    """Return the model that does nothing."""
    return NoopModel()
