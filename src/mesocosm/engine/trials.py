"""Trials of tasks, counted for pass@k and pass^k."""

from array import array
from dataclasses import dataclass, field

from mesocosm.stats import Interval, pass_at_k, pass_hat_k

MOST = 64
"""The largest k that is computed: each costs a pass over all tasks."""


@dataclass(frozen=True, slots=True)
class Chance:
    """pass@k or pass^k: `value [low, high]` over `tasks` tasks with k or more trials.

    `pessimistic` counts trials that are missing (their grader failed, or the machine) as not passed, None where none
    is missing. A bound of None is not known.
    """

    value: float
    low: float | None
    high: float | None
    tasks: int
    pessimistic: float | None = None


@dataclass(frozen=True, slots=True)
class Passes:
    """The chances that at least one of k trials passes (`at`), and that all of them do (`hat`)."""

    k: int
    at: Chance
    hat: Chance


@dataclass(slots=True)
class Trials:
    """What became of the trials of each task; tasks are numbered as they are met, and so are the items they belong to.

    A trial with a value, or one that failed by the agent's own doing, is a trial. One that is missing for another cause
    says nothing of the agent and is none; one that a grader left out never is.
    """

    places: dict[str, int] = field(default_factory=dict)
    items: dict[str, int] = field(default_factory=dict)
    clusters: "array[int]" = field(default_factory=lambda: array("q"))
    values: "array[float]" = field(default_factory=lambda: array("d"))
    tasks: "array[int]" = field(default_factory=lambda: array("q"))
    failed: "array[int]" = field(default_factory=lambda: array("q"))
    missing: "array[int]" = field(default_factory=lambda: array("q"))

    def place(self, task: str, cluster: str = "") -> int:
        """Return the number of a task, which may be a variant of the item `cluster`; a new one gets the next."""
        if task not in self.places:
            self.places[task] = len(self.places)
            self.clusters.append(self.items.setdefault(cluster or task, len(self.items)))
        return self.places[task]

    def add(self, place: int, value: float) -> None:
        """Count a trial with a value."""
        self.values.append(value)
        self.tasks.append(place)

    def fail(self, place: int) -> None:
        """Count a trial that the agent failed."""
        self.failed.append(place)

    def miss(self, place: int) -> None:
        """Note a trial that is missing."""
        self.missing.append(place)

    def counts(self, bar: float, *, pessimistic: bool = False) -> list[tuple[int, int]]:
        """Return (trials, passes) of each task, also of those without trials; a pass is a value above `bar`."""
        sizes, passed = array("q", bytes(8 * len(self.places))), array("q", bytes(8 * len(self.places)))
        for place, value in zip(self.tasks, self.values, strict=True):
            sizes[place] += 1
            passed[place] += value > bar
        for place in self.failed:
            sizes[place] += 1
        for place in self.missing if pessimistic else ():
            sizes[place] += 1
        return list(zip(sizes, passed, strict=True))


def passes(trials: Trials, bar: float) -> tuple[Passes, ...]:
    """Return pass@k and pass^k for k = 1 … n, n being the most trials that a task has, at most 64.

    Each is over the tasks that have k trials or more, skipped and missing ones not counted. Episodes that are still
    pending are no trials in either reading. Source of both estimators: `stats.pass_at_k`.
    """
    counts = trials.counts(bar)
    worst = trials.counts(bar, pessimistic=True) if trials.missing else None
    most = max((size for size, _ in counts), default=0)
    items = trials.clusters if len(trials.items) < len(trials.places) else None
    return tuple(_passes(counts, worst, items, k) for k in range(1, min(most, MOST) + 1))


def _passes(
    counts: list[tuple[int, int]], worst: list[tuple[int, int]] | None, items: "array[int] | None", k: int
) -> Passes:
    at, hat = pass_at_k(counts, k, clusters=items), pass_hat_k(counts, k, clusters=items)
    if worst is None:
        return Passes(k, _chance(at.interval, None), _chance(hat.interval, None))
    low_at, low_hat = pass_at_k(worst, k), pass_hat_k(worst, k)
    return Passes(k, _chance(at.interval, low_at.interval.value), _chance(hat.interval, low_hat.interval.value))


def _chance(found: Interval, pessimistic: float | None) -> Chance:
    low, high = (found.low, found.high) if found.bounded else (None, None)
    return Chance(found.value, low, high, found.n, pessimistic)
