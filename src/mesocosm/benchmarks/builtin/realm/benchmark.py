"""The benchmark `realm`."""

import asyncio
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import msgspec

from mesocosm.benchmarks.builtin.realm.family import Infeasible, ProblemCase
from mesocosm.benchmarks.builtin.realm.planning import FIRST, REVISED, Planning
from mesocosm.benchmarks.builtin.realm.problems import PROBLEMS, generated
from mesocosm.benchmarks.builtin.realm.published import read_instances
from mesocosm.benchmarks.builtin.realm.referee import Referee, Unmeasured
from mesocosm.benchmarks.native import LoadedTasks, NativeBenchmark
from mesocosm.benchmarks.setup import BenchmarkSetup
from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Environment
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task

FEASIBLE = "feasible"


class Realm(NativeBenchmark):
    """Instances are created on demand: a task holds the parameters of its instance, or an instance from a file."""

    def __init__(self, setup: BenchmarkSetup) -> None:
        super().__init__(setup)
        self.problems = list(dict.fromkeys(self.parameters.get("problems") or PROBLEMS))
        self.max_steps = self.parameters.get("max_steps") or 2
        disrupted = [name for name in self.problems if PROBLEMS[name].disrupted]
        if self.max_steps < 2 and disrupted and not self.parameters.get("data_path"):
            raise UsageError(
                f"realm: {disrupted[0]} is planned twice, so max_steps must be at least 2, not {self.max_steps}"
            )

    def load(self) -> LoadedTasks:
        """Return the instances of each problem: generated, or from `data_path`."""
        each = int(self.parameters.get("instances_per_problem") or 10)
        place = self.setup.path("data_path")
        if place is None:
            seed = int(self.parameters.get("seed") or 0)
            tasks = [_generated(name, number, seed) for name in self.problems for number in range(each)]
        else:
            most = None if self.parameters.get("full_dataset") else each
            tasks = [_supplied(found.problem, found.name, found.instance)
                     for found in read_instances(place, self.problems, most)]  # fmt: skip
        return LoadedTasks(tasks, digest([task.digest() for task in tasks]))

    @cached_property
    def info(self) -> BenchmarkInfo:
        """Facts of the descriptor, with a metric for each problem in the run."""
        general = super().info
        seconds = self.parameters.get("timeout")
        return msgspec.structs.replace(
            general,
            metrics=(*general.metrics, *self._each()),
            max_seconds=None if seconds is None else seconds / 1000,
        )

    def _each(self) -> list[Metric]:
        if len(self.problems) < 2:
            return []
        return [
            Metric(name=f"score_{name}", score=f"score_{name}", low=0.0, high=1.0, where={"problem": name})
            for name in self.problems
        ]

    async def environment(self, task: Task, episode_id: str) -> Environment:
        """Return the environment of one problem."""
        del episode_id
        # Creating an instance takes up to some tenths of a second, so use a thread and let other episodes continue.
        referee = await asyncio.to_thread(self._referee, task)
        replies = self.max_steps or 2
        spare = bool(self.parameters.get("max_steps")) or referee.case.changed is not None
        return Planning(referee, replies if spare else 1)

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return the score, the same under the name of the problem, and whether the plan is feasible."""
        names = [self.descriptor.score.field, f"score_{task.metadata['problem']}"]
        first, revised = (episode.terminal_info.get(stage) for stage in (FIRST, REVISED))
        try:
            referee = await asyncio.to_thread(self._referee, task)
            value = await asyncio.to_thread(referee.score, str(first or ""), str(revised or ""))
        except Infeasible as error:
            return [Score(name, 0.0, explanation=str(error)) for name in (*names, FEASIBLE)]
        except Unmeasured as error:
            unmeasured = [Score(name, missing=Cause.UNVERIFIED, explanation=str(error)) for name in names]
            return [*unmeasured, Score(FEASIBLE, 1.0)]
        return [*(Score(name, value) for name in names), Score(FEASIBLE, 1.0)]

    def _referee(self, task: Task) -> Referee:
        problem, supplied = task.metadata["problem"], task.input.get("instance")
        if supplied is None:
            return _of_seed(problem, task.input["number"], int(task.seed or 0))
        instance = msgspec.convert(supplied, PROBLEMS[problem].family.instance)
        return Referee(PROBLEMS[problem], ProblemCase(instance))


@lru_cache(maxsize=1024)
def _of_seed(problem: str, number: int, seed: int) -> Referee:
    return Referee(PROBLEMS[problem], generated(problem, number, seed))


def _generated(problem: str, number: int, seed: int) -> Task:
    return Task(
        id=f"{problem}-{number}",
        input={"problem": problem, "number": number},
        seed=seed,
        metadata={"problem": problem, "category": problem, "title": PROBLEMS[problem].title},
    )


def _supplied(problem: str, name: str, instance: Any) -> Task:
    return Task(
        id=f"{problem}-{name}",
        input={"problem": problem, "instance": msgspec.to_builtins(instance)},
        metadata={"problem": problem, "category": problem, "title": PROBLEMS[problem].title},
    )


open_benchmark = Realm
