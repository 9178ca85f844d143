"""Which episodes a run owes."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from mesocosm.core.episode import EpisodeKey
from mesocosm.core.ports import Benchmark
from mesocosm.core.run import Selection
from mesocosm.core.task import Task
from mesocosm.engine.plan import owed, planned


class Rows:
    """Just enough of a benchmark to be planned."""

    def __init__(self, *tasks: Task) -> None:
        self.all = tasks

    def tasks(self, selection: Selection) -> Iterator[Task]:
        return iter(self.all)


def benchmark(*tasks: Task) -> Benchmark:
    return cast(Benchmark, Rows(*tasks))


def row(name: str, value: Any) -> Task:
    return Task(name, input=value)


def test_all_tasks_come_once_before_the_next_trial_begins() -> None:
    plan = list(planned(benchmark(row("a", 1), row("b", 2)), Selection(trials=2)))
    assert [(item.task.id, item.trial, item.index) for item in plan] == [
        ("a", 0, 0),
        ("b", 0, 1),
        ("a", 1, 2),
        ("b", 1, 3),
    ]


def test_identical_rows_are_separate_episodes() -> None:
    plan = list(planned(benchmark(row("a", 1), row("b", 1), row("c", 1)), Selection()))
    assert len({item.digest for item in plan}) == 3


def test_the_order_of_rows_does_not_change_their_keys() -> None:
    rows = [row("a", 1), row("b", 2), row("c", 1)]
    forwards = {item.digest for item in planned(benchmark(*rows), Selection())}
    backwards = {item.digest for item in planned(benchmark(*rows[::-1]), Selection())}
    assert forwards == backwards


def test_a_seed_given_twice_is_two_episodes() -> None:
    seeds = [Task("seed-1", seed=1), Task("seed-1", seed=1)]
    assert len({item.digest for item in planned(benchmark(*seeds), Selection(seeds=(1, 1)))}) == 2


@pytest.mark.parametrize("task", [Task("a"), Task("a", target=1), Task("a", target=1, seed=2)])
def test_identical_tasks_without_input_are_separate_episodes(task: Task) -> None:
    assert len({item.digest for item in planned(benchmark(task, task), Selection())}) == 2


def test_what_is_finished_is_not_owed() -> None:
    tasks = [Task(f"seed-{seed}", seed=seed) for seed in range(4)]
    finished = {EpisodeKey(tasks[1].digest(), 0), EpisodeKey(tasks[2].digest(), 1)}
    left = [(item.task.seed, item.trial) for item in owed(benchmark(*tasks), Selection(trials=2), finished)]
    assert left == [(0, 0), (2, 0), (3, 0), (0, 1), (1, 1), (3, 1)]
