"""Environment classes and agents that the tests of the engine run."""

from typing import Any, ClassVar

from mesocosm.core.message import Message
from mesocosm.core.model import ModelRequest
from mesocosm.core.ports import Context
from mesocosm.core.score import Metric
from mesocosm.environments.sdk import BaseEnv, StepResult


class Walk(BaseEnv):
    """Every step is worth 0.5; `end` ends the walk and is worth 1, `crash` breaks it."""

    title = "Walk"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("arrived", "arrived", "pass_rate", low=0.0, high=1.0, primary=True),
        Metric("mean_reward", "reward"),
    )

    def reset(self, seed: int | None = None, **params: Any) -> dict[str, Any]:
        self.at = 0
        return {"seed": seed, "at": 0}

    def step(self, action: Any) -> StepResult:
        if action == "crash":
            raise ValueError("the bridge broke")
        self.at += 1
        over = action == "end"
        return StepResult({"at": self.at}, 1.0 if over else 0.5, over, False, {"at": self.at, "arrived": over})


class Short(Walk):
    """A walk of four steps at most."""

    max_steps = 4


class Nervous(Walk):
    """A walk whose reset fails for every other seed."""

    def reset(self, seed: int | None = None, **params: Any) -> dict[str, Any]:
        if seed is not None and seed % 2:
            raise RuntimeError(f"no walk today, seed {seed}")
        return super().reset(seed)


class Walker:
    """Does what the model says, word for word."""

    async def play(self, context: Context) -> None:
        """Ask and act until the episode is over."""
        seen = await context.reset()
        said = [Message("system", "You walk."), Message("user", f"[Step 1] {seen.data}")]
        while not context.over:
            reply = await context.ask(ModelRequest(tuple(said)))
            said.append(Message("assistant", reply.text))
            step = await context.step(reply.text)
            said.append(Message("user", f"[Step {context.steps + 1}] {step.observation.data}"))


def walker(options: dict[str, Any]) -> Walker:
    """Return the agent; it has no options."""
    return Walker()
