# mypy: ignore-errors
"""An environment for tests: count up to a number that the seed decides. Some words do harm."""

import os
from typing import Any, ClassVar

from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field, field_validator


class Say(Action):
    """One word."""

    word: str = Field(..., description="up, or another word")

    @field_validator("word")
    @classmethod
    def _known(cls, word: str) -> str:
        if word == "rude":
            raise ValueError("no rude words")
        return word


class Seen(Observation):
    """The count."""

    count: int = Field(default=0, ge=0, description="how often up was said")
    words: list[str] = Field(default_factory=list)


class Counting(Environment):
    """Count."""

    SUPPORTS_CONCURRENT_SESSIONS: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self.count = self.goal = 0

    def reset(self, seed: int | None = None, episode_id: str | None = None, **given: Any) -> Seen:
        self.count, self.goal = 0, int(given.get("index", seed or 0)) % 3 + 1
        return Seen(count=0, metadata={"goal": self.goal, "given": {**given, "seed": seed}})

    def step(self, action: Say, timeout_s: float | None = None, **given: Any) -> Seen:
        if action.word == "crash":
            os._exit(3)
        if action.word == "fail":
            raise RuntimeError("the abacus broke")
        if action.word == "lie":
            return Seen(count=-1)
        if action.word == "nan":
            return Seen(count=self.count, reward=float("nan"))
        if action.word == "silent":
            return Seen(count=self.count, done=True)
        self.count += action.word == "up"
        done = self.count == self.goal
        return Seen(count=self.count, words=[action.word], reward=True if done else 0.25, done=done)

    @property
    def state(self) -> State:
        return State(step_count=self.count)

    def list_splits(self) -> list[str]:
        return ["train", "test"]

    def num_tasks(self, split: str) -> int:
        return {"train": 5, "test": 3}[split]

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        return [{"id": f"{split}-no-{i}", "answer": i % 3 + 1} for i in range(self.num_tasks(split))[start:stop]]


app = create_app(
    Counting, Say, Seen, env_name="counting_env", max_concurrent_envs=int(os.environ.get("COUNTING_SESSIONS", "4"))
)
