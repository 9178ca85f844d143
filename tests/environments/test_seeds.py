"""Which tasks a selection of seeds gives."""

from mesocosm.core.run import Selection
from mesocosm.environments.seeds import EPISODES, seed_count, seed_tasks


def test_a_count_gives_the_first_seeds() -> None:
    tasks = list(seed_tasks(Selection(count=3)))
    assert [(task.id, task.seed) for task in tasks] == [("seed-0", 0), ("seed-1", 1), ("seed-2", 2)]


def test_explicit_seeds_keep_their_order_and_beat_the_count() -> None:
    assert [task.seed for task in seed_tasks(Selection(seeds=(7, -1), count=9))] == [7, -1]


def test_without_a_selection_there_are_a_few() -> None:
    assert seed_count(Selection()) == len(list(seed_tasks(Selection()))) == EPISODES


def test_the_count_is_the_number_of_tasks() -> None:
    for selection in (Selection(count=0), Selection(count=4), Selection(seeds=()), Selection(seeds=(3, 3, 5))):
        assert seed_count(selection) == len(list(seed_tasks(selection)))


def test_a_repeated_seed_gives_different_tasks_of_one_cluster() -> None:
    tasks = list(seed_tasks(Selection(seeds=(3, 5, 3))))
    assert len({task.digest() for task in tasks}) == 3
    assert len({task.id for task in tasks}) == 3
    assert [task.cluster for task in tasks] == ["seed-3", None, "seed-3"]


def test_the_same_seed_is_the_same_task_in_any_selection() -> None:
    (given,) = seed_tasks(Selection(seeds=(2,)))
    counted = list(seed_tasks(Selection(count=3)))[2]
    assert given.digest() == counted.digest()
