"""Which episodes a run owes."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from mesocosm.core.episode import EpisodeKey
from mesocosm.core.ports import Benchmark
from mesocosm.core.run import Selection
from mesocosm.core.task import Task
from mesocosm.engine.plan import Repeats, pending_episodes, planned


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
    left = [(item.task.seed, item.trial) for item in pending_episodes(benchmark(*tasks), Selection(trials=2), finished)]
    assert left == [(0, 0), (2, 0), (3, 0), (0, 1), (1, 1), (3, 1)]


def clusters(*tasks: Task, trials: int = 1) -> list[str | None]:
    """Return the name by which each planned task counts: that of its item, or its own."""
    plan = planned(benchmark(*tasks), Selection(trials=trials))
    return [item.task.cluster or item.digest for item in plan]


@pytest.mark.parametrize(
    "again",
    [row("b", "2 + 2"), Task("b", input="2 + 2", target="4"), Task("b", input="2 + 2", target="four")],
)
def test_tasks_that_ask_the_same_are_one_cluster_whatever_their_targets(again: Task) -> None:
    first, other, last = clusters(Task("a", input="2 + 2", target="4"), row("o", "3 + 3"), again)
    assert first == last != other


def test_tasks_that_ask_the_same_are_one_cluster_in_every_trial() -> None:
    assert len(set(clusters(row("a", 1), row("b", 1), row("c", 1), trials=3))) == 1


def test_a_task_that_names_its_item_keeps_it() -> None:
    tasks = [Task("a", input=1, cluster="one"), Task("b", input=1, cluster="two"), Task("c", input=1)]
    assert clusters(*tasks) == ["one", "two", "one"]


def test_tasks_with_other_targets_and_no_input_are_no_cluster() -> None:
    assert len(set(clusters(Task("a", target=1), Task("b", target=2)))) == 2


def test_a_plan_tells_how_many_tasks_ask_again_once_all_have_been_seen() -> None:
    repeats = Repeats()
    plan = planned(benchmark(row("a", 1), row("b", 2), row("c", 1), row("d", 1)), Selection(trials=2), repeats)
    assert [next(plan).task.id for _ in range(4)] == ["a", "b", "c", "d"]
    assert repeats.warnings() == ()
    list(plan)
    (warning,) = repeats.warnings()
    assert warning.startswith("2 of 4 tasks ask the same as one before them")


def test_a_plan_without_repeated_tasks_warns_of_nothing() -> None:
    repeats = Repeats()
    list(planned(benchmark(row("a", 1), row("b", 2)), Selection(), repeats))
    assert repeats.warnings() == ()
