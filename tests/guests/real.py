"""Real frameworks: the interpreters that have them, their own loops, and ours on the same actions."""

import asyncio
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mesocosm.core.run import BenchmarkRef
from mesocosm.core.sampling import sample
from mesocosm.core.space import narrowed
from mesocosm.core.task import Task
from mesocosm.guests.kinds import KINDS
from mesocosm.guests.opening import open_guest
from mesocosm.guests.stepped import SteppedGuest

GUESTS = "MESOCOSM_TEST_GUESTS"
"""Variable with a folder that has a virtual environment for each framework; `step` has all stepped ones."""


def python_of(name: str) -> str:
    """Return the interpreter of a framework; skip the test if there is none."""
    folder = os.environ.get(GUESTS, "")
    path = Path(folder) / name / "bin" / "python"
    if not folder or not path.exists():
        pytest.skip(f"set {GUESTS} to a folder with {name}/bin/python")
    return str(path)


def stepped(kind: str, source: str, **options: Any) -> SteppedGuest:
    """Return a benchmark of a real framework."""
    benchmark = open_guest(KINDS[kind], BenchmarkRef(kind, source, {"python": python_of("step"), **options}))
    assert isinstance(benchmark, SteppedGuest)
    return benchmark


def played(benchmark: SteppedGuest, seeds: Sequence[int], most: int = 60) -> list[dict[str, Any]]:
    """Return for each seed what was done in an episode of at most so many random steps, and what came of it."""

    async def one(seed: int) -> dict[str, Any]:
        environment = await benchmark.environment_of(Task(f"seed-{seed}", seed=seed), f"e{seed}", 0)
        rng, found = Random(seed), list[dict[str, Any]]()
        first = observation = await environment.reset()
        try:
            while len(found) < most:
                action = sample(narrowed(benchmark.action_space, observation.legal), rng)
                step = await environment.step(action)
                observation = step.observation
                found.append({"action": action, "reward": step.reward, "data": observation.data, "info": step.info})
                if step.terminated or step.truncated:
                    break
            return {"seed": seed, "first": first.data, "steps": found, "over": step.terminated or step.truncated}
        finally:
            await environment.close()

    async def every() -> list[dict[str, Any]]:
        try:
            # At the same time: what one episode draws must not change another.
            return list(await asyncio.gather(*(one(seed) for seed in seeds)))
        finally:
            await benchmark.close()

    return asyncio.run(every())


def bare(script: str, given: Any) -> Any:
    """Run a loop on the library itself in its interpreter: it reads `given` and prints JSON as its last line."""
    done = subprocess.run(
        [python_of("step"), "-c", script],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "SDL_VIDEODRIVER": "dummy"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])
