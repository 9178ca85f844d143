"""Fake models that walk through the grid world, some better than others; as a process of their own.

The first line on stdout is the base URL for OpenAI clients. Each model has its share of steps at random, taken
deterministically; `slow-…` and `slower-…` ones take their time, `script-…` ones talk in markup.
"""

import argparse
import asyncio
import random
import re
from collections import deque
from typing import Any

from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.fault import sometimes
from mesocosm.testing.model_server import ModelServer

ASTRAY = {"large": 0.02, "medium": 0.12, "small": 0.3, "tiny": 0.65}
"""How often a model of this size takes any step instead of the right one."""

MOVES = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
SLOW_S = {"slow": 0.1, "slower": 0.5}
SCRIPT = "<script>window.__ran=1</script><img src=x onerror='window.__ran=1'>"

Place = tuple[int, int]


def cells(text: str) -> dict[Place, str]:
    """Return what is where in the last maze of a prompt."""
    rows = [line for line in text.splitlines() if re.fullmatch(r"#[#@.kDG~]*#", line)]
    return {(x, y): sign for y, row in enumerate(rows) for x, sign in enumerate(row)}


def step(maze: dict[Place, str], signs: str, closed: str) -> str | None:
    """Return the first move of a shortest way to one of the signs, None when there is none."""
    start = next((place for place, sign in maze.items() if sign == "@"), None)
    if start is None:
        return None
    seen, waiting = {start}, deque([(start, "")])
    while waiting:
        (x, y), first = waiting.popleft()
        if first and maze[x, y] in signs:
            return first
        for move, (dx, dy) in MOVES.items():
            there = (x + dx, y + dy)
            if there not in seen and maze.get(there, "#") not in closed:
                seen.add(there)
                waiting.append((there, first or move))
    return None


async def answer(body: dict[str, Any]) -> ScriptedAnswer:
    """Say where to go, and why."""
    model = str(body["model"])
    said = body["messages"][-1]["content"]
    text = said if isinstance(said, str) else " ".join(part.get("text", "") for part in said)
    dice = random.Random(f"{model} {text}")
    await asyncio.sleep(SLOW_S.get(model.partition("-")[0], 0))
    if model.startswith("script"):
        return ScriptedAnswer(f"up {SCRIPT}", reasoning=f"Thinking {SCRIPT}")
    astray = next((share for size, share in ASTRAY.items() if size in model), 0.5)
    has_key = "You carry the key" in text
    # A prompt without a maze asks again for what was not understood.
    maze, closed = cells(text), "#~" if has_key else "#~D"
    move = step(maze, "k", closed) if not has_key else step(maze, "G", closed)
    move = move or step(maze, "G", "#~D")
    if not maze or dice.random() < astray / 40:
        return ScriptedAnswer("I do not know where to go.", reasoning="Everything looks the same.")
    if move is None or dice.random() < astray:
        return ScriptedAnswer(dice.choice(list(MOVES)), reasoning="I am **not sure** about this maze.")
    goal = "flag" if has_key or "k" not in maze.values() else "key"
    return ScriptedAnswer(move, reasoning=f"The {goal} is not far. The way is free, so I go *{move}*.")


async def main(share: float) -> None:
    """Serve until the process ends; a share of the requests fails."""
    async with ModelServer(answer, faults=sometimes(share), keep=0) as server:
        print(server.openai_url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", type=float, default=0.01)
    asyncio.run(main(parser.parse_args().faults))
