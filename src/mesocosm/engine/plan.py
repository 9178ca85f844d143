"""The episodes of a run: the planned ones, and those pending because the store does not have them yet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from mesocosm.core.abilities import Growing
from mesocosm.core.episode import EpisodeKey
from mesocosm.core.ports import Benchmark, Planned
from mesocosm.core.run import Selection
from mesocosm.core.score import Metric
from mesocosm.core.task import Task


@dataclass(slots=True)
class Repeats:
    """How many of `tasks` tasks have the same question as an earlier one.

    `complete` once a whole trial has been counted.
    """

    tasks: int = 0
    repeated: int = 0
    complete: bool = False

    def warnings(self) -> tuple[str, ...]:
        """Return warnings for readers of the results."""
        if not self.complete or not self.repeated:
            return ()
        effect = "tasks that ask the same count as one in intervals and comparisons"
        return (f"{self.repeated:,} of {self.tasks:,} tasks ask the same as one before them; {effect}",)


def planned(benchmark: Benchmark, selection: Selection, repeats: Repeats | None = None) -> Iterator[Planned]:
    """Yield every episode of a run lazily: all tasks once, then all of them for the next trial.

    Identical tasks are distinguished by counting their occurrences, so none is lost and their order does not matter.
    Tasks with the same question but different targets are not independent: later ones get the first one's digest as
    cluster, and are counted in `repeats`.
    """
    repeats = repeats or Repeats()
    # Seeds from a range are distinct, so a plan of a million of them need not remember any.
    ranged = selection.seeds is None
    index = 0
    for trial in range(selection.trials):
        seen: dict[str, int] = {}
        clusters: dict[str, str] = {}
        for given in _tasks(benchmark, selection, trial):
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


def _tasks(benchmark: Benchmark, selection: Selection, trial: int) -> Iterator[Task]:
    return benchmark.tasks_of(selection, trial) if isinstance(benchmark, Growing) else benchmark.tasks(selection)


def _asked(task: Task, name: str) -> str:
    """Return the digest of a task's question: everything but its target, unless the task has no input."""
    if task.target is None or task.input is None:
        return name
    return msgspec.structs.replace(task, target=None).digest()


def pending_episodes(
    benchmark: Benchmark, selection: Selection, finished: set[EpisodeKey], repeats: Repeats | None = None
) -> Iterator[Planned]:
    """Yield the planned episodes whose keys are not in `finished`."""
    for item in planned(benchmark, selection, repeats):
        if (item.digest, item.trial) not in finished:
            yield item


def part_sizes(benchmark: Benchmark, selection: Selection, metrics: Sequence[Metric]) -> dict[str, int]:
    """Return the number of planned episodes of each metric of a part, by name, as far as the benchmark knows them."""
    found = {metric.name: 0 for metric in metrics if metric.where}
    if not found:
        return found
    growing = isinstance(benchmark, Growing)
    for trial in range(selection.trials if growing else 1):
        for task in _tasks(benchmark, selection, trial):
            for metric in metrics:
                if metric.where and metric.covers(task):
                    found[metric.name] += 1 if growing else selection.trials
    return found


def size(benchmark: Benchmark, selection: Selection) -> int:
    """Return the number of episodes of a run, as far as its benchmark knows them."""
    if isinstance(benchmark, Growing):
        return sum(1 for _ in planned(benchmark, selection))
    return benchmark.count(selection) * selection.trials
