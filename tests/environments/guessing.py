"""An environment to serve: guess a number between 0 and 9 within five steps."""

import random
from typing import Any, ClassVar

from mesocosm.environments import BaseEnv, StepResult


class Guess(BaseEnv):
    """Guess the number from 0 to 9."""

    max_steps = 5
    action_space: ClassVar[dict[str, Any]] = {"type": "discrete", "enum_values": [str(number) for number in range(10)]}

    def reset(self, seed: int | None = None, **params: Any) -> Any:
        self.goal = str(random.Random(seed).randrange(10))
        return {"data": "Which number?", "content_type": "text/plain", "system_prompt": "Reply with a number."}

    def step(self, action: Any) -> StepResult:
        if action == self.goal:
            return StepResult("yes", 1.0, terminated=True, info={"goal": self.goal})
        return StepResult("higher" if action < self.goal else "lower", -0.1, terminated=False)


class Fragile(BaseEnv):
    """Fails at every step; its actions and observations are objects."""

    action_space: ClassVar[dict[str, Any]] = {
        "type": "composite",
        "fields": {"x": {"type": "text"}, "metadata": {"type": "text"}},
    }

    def reset(self, seed: int | None = None, **params: Any) -> Any:
        return {"board": [1, 2], "metadata": "mine"}

    def step(self, action: Any) -> StepResult:
        raise ValueError(f"no {action['x']}")


class Free(BaseEnv):
    """Declares nothing, and takes any action as it is."""

    def reset(self, seed: int | None = None, **params: Any) -> Any:
        return "go"

    def step(self, action: Any) -> StepResult:
        return StepResult(action, 1.0, terminated=True)


class Painted(BaseEnv):
    """Shows a picture."""

    action_space: ClassVar[dict[str, Any]] = {"type": "text"}

    def reset(self, seed: int | None = None, **params: Any) -> Any:
        return {"data": "aGVsbG8=", "content_type": "image/png"}

    def step(self, action: Any) -> StepResult:
        return StepResult("aGVsbG8=", 0.0, terminated=True, content_type="image/png")
