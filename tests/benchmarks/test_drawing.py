"""Which tasks a smaller run takes."""

from collections import Counter

import pytest

from mesocosm.benchmarks.drawing import draw
from mesocosm.core.task import Task

TASKS = [Task(f"t{number}", input=number, metadata={"kind": "abc"[number % 3]}) for number in range(60)]


def kind(task: Task) -> str:
    return str(task.metadata["kind"])


def drawn(count: int | None, seed: int = 0, tasks: list[Task] = TASKS) -> list[str]:
    return [task.id for task in draw(tasks, count, seed, kind)]


@pytest.mark.parametrize("count", [None, 60, 61, 1_000])
def test_all_are_taken_in_their_order_when_that_many_are_wanted(count: int | None) -> None:
    assert drawn(count) == [task.id for task in TASKS]


@pytest.mark.parametrize("count", [0, -1])
def test_nothing_is_taken_when_nothing_is_wanted(count: int) -> None:
    assert drawn(count) == []


def test_a_draw_keeps_the_order_of_the_tasks_and_repeats_none() -> None:
    places = [int(name[1:]) for name in drawn(25)]
    assert places == sorted(set(places))
    assert len(places) == 25


def test_equal_seeds_draw_the_same_and_others_others() -> None:
    assert drawn(10, seed=3) == drawn(10, seed=3)
    assert drawn(10, seed=3) != drawn(10, seed=4)


def test_a_larger_draw_holds_the_smaller_one() -> None:
    for count in range(1, 60):
        assert set(drawn(count)) < set(drawn(count + 1))


def test_the_order_of_the_data_does_not_matter() -> None:
    assert set(drawn(20, tasks=TASKS[::-1])) == set(drawn(20))


def test_every_stratum_gives_its_share() -> None:
    counts = Counter(name for task in draw(TASKS, 20, 0, kind) for name in kind(task))
    assert sorted(counts.values()) == [6, 7, 7]


def test_what_a_small_stratum_lacks_the_others_give() -> None:
    few = [task for task in TASKS if kind(task) == "a"] + [task for task in TASKS if kind(task) == "b"][:2]
    counts = Counter(kind(task) for task in draw(few, 12, 0, kind))
    assert counts == {"a": 10, "b": 2}


def test_equal_tasks_are_told_apart_by_their_place() -> None:
    twins = [Task(f"t{number}", input="same", metadata={"kind": "a"}) for number in range(5)]
    assert len(set(drawn(3, tasks=twins))) == 3
