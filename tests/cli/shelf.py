"""Small benchmarks of our own on a shelf, to be run by command lines."""

from pathlib import Path

TOML = """
id = "{name}"
title = "{name}"
description = "How well sums are added."
source = "written for the tests"
licence = "MIT"
version = "1"
split = "all"
sampling = "limit"
offline = false

[score]
field = "accuracy"

[parameters.limit]
type = "integer"
help = "tasks"

[parameters.seed]
type = "integer"
help = "seed"
default = 0

[parameters.tone]
type = "text"
help = "how it is asked"
default = "plain"
"""

SUMS = """
from mesocosm.benchmarks.native import LoadedTasks, NativeBenchmark
from mesocosm.core.score import Score
from mesocosm.core.task import Task


class Sums(NativeBenchmark):
    def load(self):
        tasks = [Task(f"sum-{n}", input=f"What is {n} + {n}?", target=str(n + n)) for n in range(20)]
        return LoadedTasks(tasks, "sums")

    async def grade(self, task, episode):
        return [Score("accuracy", float(episode.terminal_info["answer"] == task.target))]


def open_benchmark(setup):
    return Sums(setup)
"""

CRASHING = """
def open_benchmark(setup):
    raise RuntimeError("this benchmark is broken")
"""

LACKING = """
from mesocosm.core.failure import Incompatible


def open_benchmark(setup):
    raise Incompatible("lacking", ["there is no moon here"])
"""

HANGING = """
import threading


def open_benchmark(setup):
    threading.Event().wait()
"""


def put(shelf: Path, name: str, module: str = SUMS, toml: str = TOML) -> Path:
    """Write a benchmark and return its folder."""
    folder = shelf / name
    folder.mkdir(parents=True)
    (folder / "benchmark.toml").write_text(toml.format(name=name))
    (folder / "benchmark.py").write_text(module)
    return folder
