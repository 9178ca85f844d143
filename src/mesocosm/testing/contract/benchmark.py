"""The contract of a benchmark: core.ports.Benchmark."""

import asyncio
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import msgspec

from mesocosm.core.episode import Episode
from mesocosm.core.ports import Benchmark, Environment, Observation
from mesocosm.core.run import Selection
from mesocosm.core.score import Score
from mesocosm.core.task import Task

Found = TypeVar("Found")


class BenchmarkContract(ABC):
    """Tests of a benchmark whose tasks are known before it runs."""

    @abstractmethod
    def benchmark(self) -> Benchmark:
        """Return the benchmark, not opened."""

    @abstractmethod
    def episode(self, task: Task) -> Episode:
        """Return an episode of this task that ended as it should; `grade` gets it."""

    def test_its_facts_are_known_before_it_is_opened(self) -> None:
        info = self.benchmark().info
        assert all((info.id, info.title, info.version, info.digest, info.kind))
        json.dumps(info.document())

    def test_its_metrics_have_different_names_and_one_is_primary(self) -> None:
        metrics = self.benchmark().info.metrics
        assert len({metric.name for metric in metrics}) == len(metrics)
        assert sum(metric.primary for metric in metrics) == 1 or len(metrics) < 2

    def test_it_counts_the_tasks_that_it_gives(self) -> None:
        benchmark = self.benchmark()
        for selection in (Selection(count=1), Selection(count=3)):
            assert benchmark.count(selection) == len(list(benchmark.tasks(selection)))

    def test_its_tasks_come_in_the_same_order_and_a_larger_selection_begins_with_a_smaller(self) -> None:
        few, more = self._tasks(2), self._tasks(3)
        assert few == self._tasks(2)
        assert more[: len(few)] == few

    def test_its_tasks_are_different_and_can_be_stored(self) -> None:
        tasks = self._tasks(3)
        assert len({task.digest() for task in tasks}) == len(tasks)
        assert [msgspec.json.decode(msgspec.json.encode(task), type=Task).digest() for task in tasks] == [
            task.digest() for task in tasks
        ]

    def test_two_benchmarks_of_the_same_content_have_the_same_digest(self) -> None:
        assert self.benchmark().info.digest == self.benchmark().info.digest

    def test_its_environments_start(self) -> None:
        async def start(benchmark: Benchmark) -> Observation:
            environment = await benchmark.environment(self._tasks(1)[0], "episode-0")
            try:
                return await environment.reset()
            finally:
                await environment.close()

        assert isinstance(self._opened(start), Observation)

    def test_environments_of_several_episodes_live_at_the_same_time(self) -> None:
        async def start(benchmark: Benchmark) -> list[Observation]:
            environments: list[Environment] = [
                await benchmark.environment(self._tasks(1)[0], f"episode-{number}") for number in range(2)
            ]
            try:
                return [await environment.reset() for environment in environments]
            finally:
                await asyncio.gather(*(environment.close() for environment in environments))

        if self.benchmark().info.parallel == 1:
            return
        one, other = self._opened(start)
        assert one.data == other.data

    def test_scores_are_numbers_of_declared_metrics_or_missing_for_a_cause(self) -> None:
        async def grade(benchmark: Benchmark) -> Sequence[Score]:
            task = self._tasks(1)[0]
            return await benchmark.grade(task, self.episode(task))

        info, scores = self.benchmark().info, self._opened(grade)
        assert scores
        for score in scores:
            assert info.discovers or score.name in {metric.score for metric in info.metrics}
            assert score.missing is not None or score.worst or math.isfinite(_value(score))

    def test_it_can_be_closed_without_being_opened(self) -> None:
        asyncio.run(self.benchmark().close())

    def _tasks(self, count: int) -> list[Task]:
        return list(self.benchmark().tasks(Selection(count=count)))

    def _opened(self, use: Callable[[Benchmark], Awaitable[Found]]) -> Found:
        async def opened() -> Found:
            benchmark = self.benchmark()
            try:
                await benchmark.open(_unheard)
                return await use(benchmark)
            finally:
                await benchmark.close()

        return asyncio.run(opened())


def _unheard(_message: str) -> Any:
    return None


def _value(score: Score) -> float:
    assert score.value is not None, f"the score {score.name!r} has neither a value nor a cause"
    return score.value
