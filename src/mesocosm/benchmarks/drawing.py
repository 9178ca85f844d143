"""Which tasks a smaller run takes: a seeded draw, spread evenly over strata, stable when the number grows."""

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from mesocosm.core.ids import digest
from mesocosm.core.task import Task


def draw(tasks: Sequence[Task], count: int | None, seed: int, stratum: Callable[[Task], str]) -> Iterator[Task]:
    """Yield `count` tasks (None: all) in the order of `tasks`.

    Each stratum gives its share in turn, the tasks of one in an order that only `seed` and the tasks themselves decide:
    a draw of 20 holds the draw of 10, and does not change when the data is sorted in another way.
    """
    if count is None or count >= len(tasks):
        yield from tasks
        return
    groups: dict[str, list[tuple[str, int]]] = {}
    for place, task in enumerate(tasks):
        groups.setdefault(stratum(task), []).append((digest([seed, task.digest()]), place))
    ordered = [sorted(groups[name]) for name in sorted(groups, key=lambda name: digest([seed, name]))]
    taken = [found[1] for turn in zip_longest(*ordered) for found in turn if found is not None][: max(count, 0)]
    yield from (tasks[place] for place in sorted(taken))
