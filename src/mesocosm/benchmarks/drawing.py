"""Select tasks for a smaller run: a seeded sample, spread evenly over strata, stable when the sample grows."""

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from mesocosm.core.ids import digest
from mesocosm.core.task import Task


def draw(tasks: Sequence[Task], count: int | None, seed: int, stratum: Callable[[Task], str]) -> Iterator[Task]:
    """Yield `count` tasks (None: all) in the order of `tasks`.

    The strata are visited in turn. Within a stratum the order depends only on `seed` and the tasks' content, so a
    sample of 20 contains the sample of 10, and reordering the data does not change it.
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
