"""Recorded actions, played by the bare loop of a library and by our environment of it.

A file has a JSON object an episode: `{"seed": N, "actions": [A, …]}`, or `{"row": N, …}` where rows are the tasks.
Actions are as an agent of ours gives them. In a game they are those of all seats, in turn.
"""

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.failure import EpisodeError, UsageError
from mesocosm.core.task import Task
from mesocosm.guests.parity import GuestSample
from mesocosm.guests.recording import read_lines
from mesocosm.guests.stepped import SteppedGuest

ALL_SEATS = {"opponent": "self"}
"""Options with which every move of a game is in the file."""
GAMES = frozenset({"pettingzoo", "textarena"})
AT_ONCE = 16


class EpisodeScript(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of the file: the actions of one episode."""

    actions: list[Any]
    seed: int | None = None
    row: int | None = None

    @property
    def problem(self) -> str:
        """What is wrong with it; empty if nothing is."""
        if (self.seed is None) == (self.row is None):
            return "has not exactly one of 'seed' and 'row'"
        return "" if self.actions else "has no actions"


def read_scripts(path: Path) -> list[EpisodeScript]:
    """Read a file of actions. Raises UsageError if there is none, InvalidInput for lines that cannot be read."""
    return read_lines(path, EpisodeScript, "episodes", lambda one: one.problem)


def tasks_of(benchmark: SteppedGuest, scripts: Sequence[EpisodeScript]) -> list[Task]:
    """Return the task of each script. Raises UsageError if there is none."""
    if benchmark.described.tasks is None:
        if any(one.seed is None for one in scripts):
            raise UsageError(f"the tasks of {benchmark.info.title} are seeds, not rows")
        return [Task(f"seed-{one.seed}", seed=one.seed) for one in scripts]
    rows = benchmark.all_tasks
    wrong = next((one for one in scripts if one.row is None or not 0 <= one.row < len(rows)), None)
    if wrong is not None:
        raise UsageError(f"the tasks of {benchmark.info.title} are the rows 0 to {len(rows) - 1}, not {wrong}")
    return [rows[one.row] for one in scripts if one.row is not None]


async def played(
    benchmark: SteppedGuest, scripts: Sequence[EpisodeScript], names: Sequence[str], tasks: Sequence[Task]
) -> list[GuestSample]:
    """Play all scripts at once, so that episodes which disturb each other are found; the names are those of tasks."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(place: int) -> GuestSample:
        async with places:
            return await _episode(benchmark, scripts[place], names[place], tasks[place], f"script-{place}")

    return list(await asyncio.gather(*map(one, range(len(scripts)))))


async def _episode(benchmark: SteppedGuest, script: EpisodeScript, name: str, task: Task, episode: str) -> GuestSample:
    environment = await benchmark.environment_of(task, episode, 0)
    rewards: list[float] = []
    scores: dict[str, float] = {}
    try:
        await environment.reset()
        for action in script.actions:
            step = await environment.step(action)
            rewards.append(step.reward)
            scores = {"terminated": float(step.terminated), "truncated": float(step.truncated)}
            if step.terminated or step.truncated:
                break
    except EpisodeError as error:
        return GuestSample(name, 0, rewarded(rewards), str(error))
    finally:
        await environment.close()
    return GuestSample(name, 0, {**rewarded(rewards), **scores})


def rewarded(rewards: Sequence[float]) -> dict[str, float]:
    """Return the whole reward and that of each step; one that is not finite is none."""
    named = {"reward": math.fsum(rewards), **{f"step {place}": one for place, one in enumerate(rewards, 1)}}
    return {name: value for name, value in named.items() if math.isfinite(value)}
