"""The base of built-in benchmarks."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from mesocosm.benchmarks.descriptor import Descriptor
from mesocosm.benchmarks.native import LoadedTasks, NativeBenchmark, metrics
from mesocosm.benchmarks.setup import BenchmarkSetup
from mesocosm.core.episode import Episode
from mesocosm.core.failure import UsageError
from mesocosm.core.run import Selection
from mesocosm.core.score import Score
from mesocosm.core.task import Task

PARAMETERS = {
    "limit": {"type": "integer", "help": "h"},
    "seed": {"type": "integer", "help": "h", "default": 0},
    "hard": {"type": "boolean", "help": "h", "default": False},
    "timeout": {"type": "integer", "help": "h", "content": False},
    "data_path": {"type": "path", "help": "h"},
}


def described(**more: Any) -> Descriptor:
    facts = {"id": "sums", "title": "T", "description": "D", "source": "S", "licence": "L", "version": "1"}
    return Descriptor.model_validate({**facts, "sampling": "limit", "parameters": PARAMETERS, **more})


class Sums(NativeBenchmark):
    """Twelve sums; loading is counted."""

    loads = 0
    data = "one"

    def load(self) -> LoadedTasks:
        """Return the sums."""
        self.loads += 1
        tasks = [
            Task(f"s{number}", f"{number}+1", number + 1, metadata={"category": "ab"[number % 2]})
            for number in range(12)
        ]
        return LoadedTasks(tasks, self.data)

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Compare."""
        return [Score("score", float(episode.terminal_info["answer"] == str(task.target)))]


def sums(descriptor: Descriptor | None = None, **parameters: Any) -> Sums:
    return Sums(BenchmarkSetup(descriptor or described(), Path(), parameters))


def ids(benchmark: NativeBenchmark, **selection: Any) -> list[str]:
    return [task.id for task in benchmark.tasks(Selection(**selection))]


async def test_tasks_are_loaded_once_whoever_asks() -> None:
    benchmark = sums()
    _ = benchmark.info, benchmark.count(Selection()), ids(benchmark)
    await benchmark.open(lambda line: None)
    await benchmark.close()
    assert benchmark.loads == 1


def test_facts_are_those_of_the_descriptor() -> None:
    info = sums(described(kind="rollout", reference=[{"label": "x", "value": 0.5, "split": "s", "source": "p"}])).info
    assert (info.id, info.title, info.version, info.kind, info.oracle, info.offline) == (
        "sums",
        "T",
        "1",
        "rollout",
        True,
        False,
    )
    assert info.card["reference"][0]["value"] == 0.5


def test_what_changes_the_questions_changes_the_digest() -> None:
    first = sums().info.digest
    other = sums()
    other.data = "two"
    changed = {
        sums(described(version="2")).info.digest,
        sums(described(id="products")).info.digest,
        sums(hard=True).info.digest,
        other.info.digest,
    }
    assert len({first, *changed}) == 5


@pytest.mark.parametrize("parameters", [{"limit": 5}, {"timeout": 9}, {"data_path": "/somewhere"}])
def test_size_paths_and_what_is_no_content_do_not(parameters: dict[str, Any]) -> None:
    assert sums(**parameters).info.digest == sums().info.digest


@pytest.mark.parametrize(("count", "found"), [(None, 12), (0, 0), (-3, 0), (5, 5), (12, 12), (99, 12)])
def test_the_count_is_that_of_the_tasks_that_come(count: int | None, found: int) -> None:
    assert sums().count(Selection(count=count)) == len(ids(sums(), count=count)) == found


def test_the_seed_decides_which_tasks_are_drawn_evenly_over_the_groups() -> None:
    assert ids(sums(seed=1), count=4) != ids(sums(seed=2), count=4)
    kinds = [task.metadata["category"] for task in sums(seed=1).tasks(Selection(count=4))]
    assert sorted(kinds) == ["a", "a", "b", "b"]


def test_places_name_tasks() -> None:
    assert ids(sums(), seeds=(3, 1)) == ["s3", "s1"]
    assert [task.row for task in sums().tasks(Selection(seeds=(3, 1)))] == [3, 1]
    assert sums().count(Selection(seeds=(3, 1))) == 2
    for place in (12, -1):
        with pytest.raises(UsageError, match="tasks 0 to 11"):
            ids(sums(), seeds=(place,))


async def test_an_episode_is_a_question_whose_best_answer_is_the_target() -> None:
    benchmark = sums()
    (task, *_) = benchmark.tasks(Selection())
    world = await benchmark.environment(task, "e")
    assert (await world.reset()).data == "0+1"
    assert await world.oracle() == 1
    step = await world.step("1")
    episode = Episode("e", "r", task.digest(), task.id, terminal_info=step.info)
    assert [score.value for score in await benchmark.grade(task, episode)] == [1.0]


def test_an_offline_one_has_no_best_answer_to_ask_for() -> None:
    info = sums(described(offline=True)).info
    assert (info.offline, info.oracle) == (True, False)


def test_the_metric_that_ranks_comes_first_and_further_ones_name_what_they_aggregate() -> None:
    first, second, third = metrics(
        described(
            score={"field": "usd", "low": None, "high": None, "higher_is_better": False, "threshold": 3.0},
            metric=[
                {"name": "avg_steps", "score": "steps"},
                {"name": "hard", "where": {"level": "3"}, "higher_is_better": True, "aggregation": "median"},
            ],
        )
    )
    assert (first.name, first.score, first.aggregation, first.threshold) == ("usd", "usd", "pass_rate", 3.0)
    assert (first.primary, first.directed, first.higher_is_better) == (True, True, False)
    assert (second.name, second.score, second.directed, second.primary) == ("avg_steps", "steps", False, False)
    assert (third.score, third.where, third.directed, third.aggregation) == ("hard", {"level": "3"}, True, "median")


def test_what_a_subclass_must_define_is_asked_for() -> None:
    class Half(NativeBenchmark):
        def load(self) -> LoadedTasks:
            return LoadedTasks((), "nothing")

    half: Callable[[BenchmarkSetup], NativeBenchmark] = Half
    with pytest.raises(TypeError, match=r"abstract method.*grade"):
        half(BenchmarkSetup(described(), Path()))
