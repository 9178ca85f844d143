"""Which episodes a run owes: everything selected, minus what the store already holds."""

from collections.abc import Iterator

import msgspec

from mesocosm.core.episode import EpisodeKey
from mesocosm.core.ports import Benchmark, Growing, Planned
from mesocosm.core.run import Selection


def planned(benchmark: Benchmark, selection: Selection) -> Iterator[Planned]:
    """Yield every episode of a run lazily: all tasks once, then all of them for the next trial.

    Identical tasks are told apart by counting their occurrences, so that none is lost and order does not matter.
    """
    # Seeds out of a range cannot be equal, so a plan of a million of them need not remember any.
    ranged = selection.seeds is None
    index = 0
    for trial in range(selection.trials):
        seen: dict[str, int] = {}
        tasks = benchmark.tasks_of(selection, trial) if isinstance(benchmark, Growing) else benchmark.tasks(selection)
        for task in tasks:
            name = task.digest()
            if ranged and task.seed is not None and task.input is None and task.target is None:
                yield Planned(task, name, trial, index)
                index += 1
                continue
            times = seen.get(name, 0)
            seen[name] = times + 1
            if times:
                again = msgspec.structs.replace(task, occurrence=times)
                yield Planned(again, again.digest(), trial, index)
            else:
                yield Planned(task, name, trial, index)
            index += 1


def owed(benchmark: Benchmark, selection: Selection, finished: set[EpisodeKey]) -> Iterator[Planned]:
    """Yield the planned episodes whose keys are not among the finished ones."""
    for item in planned(benchmark, selection):
        if (item.digest, item.trial) not in finished:
            yield item


def size(benchmark: Benchmark, selection: Selection) -> int:
    """Return how many episodes a run has, as far as its benchmark knows by now."""
    if isinstance(benchmark, Growing):
        return sum(1 for _ in planned(benchmark, selection))
    return benchmark.count(selection) * selection.trials
