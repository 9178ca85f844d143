"""Tasks of environments: one seed each."""

from collections import Counter
from collections.abc import Iterator

from mesocosm.core.run import Selection
from mesocosm.core.task import Task

EPISODES = 5
"""Default number of seeds of a run, because seeds are unlimited."""


def seed_count(selection: Selection) -> int:
    """Return the number of seeds that `selection` selects."""
    if selection.seeds is not None:
        return len(selection.seeds)
    return EPISODES if selection.count is None else max(selection.count, 0)


def seed_tasks(selection: Selection) -> Iterator[Task]:
    """Yield the given seeds in the given order, otherwise 0, 1, …; a seed given n times is n tasks of one cluster."""
    if selection.seeds is None:
        for seed in range(seed_count(selection)):
            yield Task(f"seed-{seed}", seed=seed)
        return
    repeated = {seed for seed, times in Counter(selection.seeds).items() if times > 1}
    seen: Counter[int] = Counter()
    for seed in selection.seeds:
        occurrence = seen[seed]
        seen[seed] += 1
        name = f"seed-{seed}-{occurrence + 1}" if occurrence else f"seed-{seed}"
        yield Task(name, seed=seed, cluster=f"seed-{seed}" if seed in repeated else None, occurrence=occurrence)
