"""The profile swecc-0.2 against what swecc-mesocosm 0.2.15 sent to a model server.

`swecc_requests.json` holds the bodies of its requests (through LiteLLM 1.106.2, to /api/generate of Ollama), recorded
with the two environments below behind its own adapter server and with the replies of `answer`.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from mesocosm.agents.loop import open_loop
from mesocosm.agents.swecc import STEPS, parse_action
from mesocosm.core.failure import UsageError
from mesocosm.core.model import ModelRequest, ModelSettings
from mesocosm.core.space import SpaceSpec, SpaceType
from mesocosm.environments.contract import Contract
from mesocosm.environments.inprocess import ClassEnvironment
from mesocosm.environments.sdk import BaseEnv, StepResult
from mesocosm.models.ollama import OllamaModel, open_model
from mesocosm.testing.context import MemoryContext

RECORDED: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("swecc_requests.json").read_text("utf-8"))
REPLIES = (
    "I think left.",
    "<think>hm</think>right",
    "go nowhere",
    "LEFT",
    "I choose right because left is bad",
    "up please",
    '{"a":1}',
    "the answer is 42",
    '```json\n{"move":"up","n":3}\n```',
    "3.5",
)
SHOWN: tuple[Any, ...] = (
    "x" * 119,
    "y" * 120,
    "z" * 121,
    {"k": "é" * 130, "n": None},
    [1, 2.50, True, None, "ü"],
    "",
    None,
    5,
    1.5,
    True,
    {"data": "inner"},
    {"data": "d", "content_type": "text/plain"},
    {"done": False, "nested": {"a": [{"b": 1}]}},
    "line\nbreak",
)


class Maze(BaseEnv):
    """Five steps; shows objects and texts, and has prompts of its own."""

    def reset(self, seed: int | None = None, **params: Any) -> Any:
        del params
        doors = {0: 7, 1: 3, 3: 4}
        self.at = 0
        self.moves: list[Any] = []
        data = {"at": 0, "hint": "lëft?", "door": doors[seed or 0]}
        return {"data": data, "system_prompt": f"You are in maze {seed}."}

    def step(self, action: Any) -> StepResult:
        self.at += 1
        self.moves.append(action)
        seen = "a plain text" if self.at % 2 else {"at": self.at, "moves": self.moves[-2:]}
        prompt = "Almost out." if self.at == 2 else None
        return StepResult(seen, float(action == "left"), self.at >= 5, False, system_prompt=prompt)


class Long(BaseEnv):
    """Never ends; shows every kind of value."""

    def reset(self, seed: int | None = None, **params: Any) -> Any:
        del seed, params
        self.at = 0
        return "start"

    def step(self, action: Any) -> StepResult:
        del action
        self.at += 1
        return StepResult(SHOWN[self.at % len(SHOWN)], [0, 1, 0.1234567, -2, 1e-7][self.at % 5], False, False)


def answer(prompt: str) -> str:
    return REPLIES[int(hashlib.sha256(prompt.encode()).hexdigest(), 16) % len(REPLIES)]


async def sent(case: dict[str, Any]) -> list[str]:
    """Return the bodies that we send in the place of the recorded ones."""
    model = open_model(ModelSettings("ollama/fake", extra={"api": "generate"}))
    assert isinstance(model, OllamaModel)
    bodies: list[str] = []

    def reply(request: ModelRequest) -> str:
        body = model.generate_body(request).decode()
        bodies.append(body)
        return answer(json.loads(body)["prompt"])

    world: type[Maze] | type[Long] = Maze if case["world"] == "Maze" else Long
    for seed in case["seeds"]:
        context = MemoryContext(
            ClassEnvironment(world, seed, {}, contract=Contract(), parses=False, threads=False),
            reply,
            vow=case["vow"],
            action_space=case["vow"]["action_space"],
            settings=ModelSettings("ollama/fake", 0.0, 512),
            max_steps=14 if world is Long else STEPS,
        )
        await open_loop({"profile": "swecc-0.2", "system_prompt": case["operator"]}).play(context)
    await model.close()
    return bodies


@pytest.mark.parametrize("case", sorted(RECORDED))
async def test_every_request_is_that_of_the_original_program(case: str) -> None:
    assert await sent(RECORDED[case]) == RECORDED[case]["bodies"]


@pytest.mark.parametrize(
    ("kind", "said", "action"),
    [
        ("discrete", "I choose right because left is bad", "left"),
        ("discrete", " ", ""),
        ("discrete", "leftover", "leftover"),
        ("continuous", "between 1 and 2", "between 1 and 2"),
        ("continuous", "nan", "nan"),
        ("json", 'So: [1, {"a": 2}]', [1, {"a": 2}]),
        ("json", '{"a": 1} it is', '{"a": 1} it is'),
        ("json", "null", None),
        ("text", "Action: left", "Action: left"),
    ],
)
def test_replies_are_read_as_the_original_program_reads_them(kind: str, said: str, action: Any) -> None:
    values = ["left", "right"] if kind == "discrete" else None
    assert parse_action(said.strip(), SpaceSpec(type=SpaceType(kind), enum_values=values)) == action


async def test_replies_that_are_strictly_malformed_are_counted() -> None:
    space = {"type": "discrete", "enum_values": ["left", "right"]}
    world = ClassEnvironment(Maze, 0, {}, contract=Contract(), parses=False, threads=False)
    context = MemoryContext(world, ["left", "what?", "right", "hm", "left"], action_space=space)
    await open_loop({"profile": "swecc-0.2"}).play(context)
    assert ([acted.action for acted in context.actions][1], context.malformed) == ("what?", 2)


def test_a_profile_settles_how_an_episode_is_played() -> None:
    with pytest.raises(UsageError, match="history"):
        open_loop({"profile": "swecc-0.2", "history": "full"})
