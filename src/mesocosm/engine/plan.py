"""Which episodes of a run are pending: everything selected, minus what the store already holds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from mesocosm.core.episode import EpisodeKey
from mesocosm.core.ports import Benchmark, Growing, Planned
from mesocosm.core.run import Selection
from mesocosm.core.score import Metric
from mesocosm.core.task import Task


@dataclass(slots=True)
class Repeats:
    """How many of `tasks` tasks ask the same as one before them; `complete` once all of a trial have been counted."""

    tasks: int = 0
    repeated: int = 0
    complete: bool = False

    def warnings(self) -> tuple[str, ...]:
        """Return what readers of the numbers must know."""
        if not self.complete or not self.repeated:
            return ()
        effect = "tasks that ask the same count as one in intervals and comparisons"
        return (f"{self.repeated:,} of {self.tasks:,} tasks ask the same as one before them; {effect}",)


def planned(benchmark: Benchmark, selection: Selection, repeats: Repeats | None = None) -> Iterator[Planned]:
    """Yield every episode of a run lazily: all tasks once, then all of them for the next trial.

    Identical tasks are told apart by counting their occurrences, so that none is lost and order does not matter. Tasks
    that ask the same, whatever their targets, are not independent: later ones get the first one's digest as cluster.
    They are counted in `repeats`.
    """
    repeats = repeats or Repeats()
    # Seeds out of a range cannot be equal, so a plan of a million of them need not remember any.
    ranged = selection.seeds is None
    index = 0
    for trial in range(selection.trials):
        seen: dict[str, int] = {}
        clusters: dict[str, str] = {}
        tasks = benchmark.tasks_of(selection, trial) if isinstance(benchmark, Growing) else benchmark.tasks(selection)
        for given in tasks:
            task, name = given, given.digest()
            if ranged and task.seed is not None and task.input is None and task.target is None:
                yield Planned(task, name, trial, index)
                index += 1
                continue
            times = seen.get(name, 0)
            seen[name] = times + 1
            asked = _asked(task, name)
            again = asked in clusters and task.cluster is None
            cluster = clusters.setdefault(asked, task.cluster or name)
            if not trial:
                repeats.tasks += 1
                repeats.repeated += again
            if times:
                task = msgspec.structs.replace(task, occurrence=times)
                name = task.digest()
            if again:
                task = msgspec.structs.replace(task, cluster=cluster)
            yield Planned(task, name, trial, index)
            index += 1
        repeats.complete = True


def _asked(task: Task, name: str) -> str:
    """Return the digest of what a task asks: of all but its target. One without input asks by its target alone."""
    if task.target is None or task.input is None:
        return name
    return msgspec.structs.replace(task, target=None).digest()


def pending_episodes(
    benchmark: Benchmark, selection: Selection, finished: set[EpisodeKey], repeats: Repeats | None = None
) -> Iterator[Planned]:
    """Yield the planned episodes whose keys are not among the finished ones."""
    for item in planned(benchmark, selection, repeats):
        if (item.digest, item.trial) not in finished:
            yield item


def part_sizes(benchmark: Benchmark, selection: Selection, metrics: Sequence[Metric]) -> dict[str, int]:
    """Return of how many planned episodes each metric of a part is, by name, as far as the benchmark knows by now."""
    found = {metric.name: 0 for metric in metrics if metric.where}
    if not found:
        return found
    growing = isinstance(benchmark, Growing)
    for trial in range(selection.trials if growing else 1):
        tasks = benchmark.tasks_of(selection, trial) if isinstance(benchmark, Growing) else benchmark.tasks(selection)
        for task in tasks:
            for metric in metrics:
                if metric.where and metric.covers(task):
                    found[metric.name] += 1 if growing else selection.trials
    return found


def size(benchmark: Benchmark, selection: Selection) -> int:
    """Return how many episodes a run has, as far as its benchmark knows by now."""
    if isinstance(benchmark, Growing):
        return sum(1 for _ in planned(benchmark, selection))
    return benchmark.count(selection) * selection.trials
