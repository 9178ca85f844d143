"""Compare two runs in one metric: the difference with its interval and test, and the tasks behind it."""

import heapq
import math
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, TypedDict, Unpack

from mesocosm.engine.comparison.sample import Sample, Tasks
from mesocosm.stats import Interval, Significance, always_valid, moments
from mesocosm.stats.difference import (
    differences,
    independent_interval,
    independent_test,
    paired_interval,
    paired_test,
    smallest_independent,
    smallest_paired,
)

SHOWN = 2_000
"""Maximum tasks that a pair lists."""

CELLS = 20
"""Cells of the density plot along each axis."""

_RESAMPLES, _FEWEST_RESAMPLES, _SIGNS = 10_000, 1_000, 100_000_000
"""Resamples of the permutation test: 10,000, but at least 1,000 if they would need more random signs than the last."""

Winner = Literal["a", "b", "tie"]


@dataclass(frozen=True, slots=True)
class TaskPair:
    """One task in both runs: means over its trials, None if it has no value; `flipped` as in TaskCounts."""

    digest: str
    a: float | None
    b: float | None
    flipped: bool


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """Number of tasks by the better run, of flips between pass and fail, and of tasks that only one run scored.

    A task passes if more than half of its trials do; without pass/fail scores there are no flips.
    """

    a_better: int
    b_better: int
    same: int
    flipped: int
    only_a: int
    only_b: int


@dataclass(frozen=True, slots=True)
class TaskCell:
    """The number of tasks with about these values in both runs."""

    a: float
    b: float
    n: int


@dataclass(frozen=True, slots=True)
class PairedContrast:
    """Run b compared with run a: `delta` is the mean of b minus the mean of a over `n_b` and `n_a` independent items.

    `smallest` is the difference that this many items would show with 80 % power: infinite if none, None if the scores
    do not vary. `family` is the interval of the difference that holds jointly for all pairs of a comparison
    (Bonferroni). `sd` is the standard deviation of the paired differences, None if unpaired; `reach` the distance
    between the lowest and the highest item of both runs.
    """

    paired: bool
    mean_a: float
    mean_b: float
    delta: Interval
    found: Significance
    n_a: int
    n_b: int
    smallest: float | None
    counts: TaskCounts
    tasks: tuple[TaskPair, ...]
    density: tuple[TaskCell, ...]
    family: Interval
    sd: float | None = None
    reach: float = 0.0

    def winner(self, p_value: float, *, higher_is_better: bool) -> Winner:
        """Return the better run, or "tie" unless the interval excludes 0 and the adjusted `p_value` agrees."""
        return _winner(self.delta, p_value, higher_is_better=higher_is_better)


class ContrastOptions(TypedDict, total=False):
    """The options of `contrast`."""

    higher_is_better: bool
    level: float
    pairs: int
    open_ended: bool


def contrast(
    a: Sample,
    b: Sample,
    tasks: Tasks,
    *,
    higher_is_better: bool = True,
    level: float = 0.95,
    pairs: int = 1,
    open_ended: bool = False,
) -> PairedContrast:
    """Compare run b with run a by the tasks that both scored, or as independent samples if there are none.

    The statistics are those of `stats.difference`, computed on arrays because a million one-value mappings take
    seconds. Variants of one item count as one item. `pairs` is the number of comparisons made together. If
    `open_ended`, the runs go on or ended when somebody wished: the test is then one that may be looked at again and
    again (`always_valid`), and there is none of independent samples. Raises ValueError if a run has no value at all, or
    if a difference is too large to compute with.
    """
    count = len(tasks.digests)
    a.fill(count)
    b.fill(count)
    common = array("q", (place for place in range(count) if a.sizes[place] and b.sizes[place]))
    if not common:
        return _unpaired(a, b, tasks, level, pairs, open_ended)
    x, y = _items(a, tasks, common), _items(b, tasks, common)
    n = len(x)
    pass_fail = a.binary and b.binary
    width = _width(a, b)
    delta = paired_interval(y, x, pass_fail, level, width)
    found = always_valid(differences(y, x), width) if open_ended else _test(y, x, pass_fail)
    family = delta if pairs < 2 else paired_interval(y, x, pass_fail, joint_level(level, pairs), width)
    means = _task_means(a, common), _task_means(b, common)
    flips = [i for i, pair in enumerate(zip(*means, strict=True)) if (pair[0] > 0.5) != (pair[1] > 0.5)]
    if not pass_fail:
        flips = []
    only = a.scored - len(common), b.scored - len(common)
    listed = _listed(means, common, flips, tasks)
    return PairedContrast(
        paired=True,
        mean_a=math.fsum(x) / n,
        mean_b=math.fsum(y) / n,
        delta=delta,
        found=found,
        n_a=n,
        n_b=n,
        smallest=smallest_paired(y, x, pass_fail, level),
        counts=_counts(means, len(flips), only, higher_is_better=higher_is_better),
        tasks=(*listed, *_alone(a, b, tasks, SHOWN - len(listed))),
        density=_density(*means),
        family=family,
        sd=moments(differences(y, x)).sd,
        reach=_reach(x, y),
    )


def paired_delta(a: Sample, b: Sample, tasks: Tasks, level: float = 0.95) -> Interval:
    """Return the interval of the mean of b minus the mean of a over the items that both scored, without a test.

    Raises ValueError if they share no scored task.
    """
    count = len(tasks.digests)
    a.fill(count)
    b.fill(count)
    common = [place for place in range(count) if a.sizes[place] and b.sizes[place]]
    if not common:
        raise ValueError("the two runs share no scored task")
    x, y = _items(a, tasks, common), _items(b, tasks, common)
    return paired_interval(y, x, a.binary and b.binary, level, _width(a, b))


def better(a: Sample, b: Sample, tasks: Tasks, *, higher_is_better: bool = True, level: float = 0.95) -> Winner:
    """Return the winner of `contrast` as the only comparison, at a fraction of its cost.

    The test is skipped if the interval contains 0, and data for display is not computed. Raises ValueError as
    `contrast`.
    """
    count = len(tasks.digests)
    a.fill(count)
    b.fill(count)
    places = [place for place in range(count) if a.sizes[place] and b.sizes[place]]
    pass_fail = a.binary and b.binary
    p_value = 1.0
    if places:
        x, y = _items(a, tasks, places), _items(b, tasks, places)
        delta = paired_interval(y, x, pass_fail, level, _width(a, b))
        if delta.excludes(0):
            p_value = 0.0 if _surely(y, x, level) else _test(y, x, pass_fail).p_value
    else:
        x, y = _scored(a, b, tasks)
        delta = independent_interval(y, x, pass_fail, level, _width(a, b))
        if delta.excludes(0):
            p_value = independent_test(y, x, pass_fail).p_value
    return _winner(delta, p_value, higher_is_better=higher_is_better)


def _surely(x: Sequence[float], y: Sequence[float], level: float) -> bool:
    """Return whether the test of pairs is certain to reject, by Hoeffding's bound: that saves 10,000 resamples."""
    deltas = differences(x, y)
    squares = math.fsum(d * d for d in deltas)
    return 2 * math.exp(-(math.fsum(deltas) ** 2) / (2 * squares)) < 1 - level if squares else False


def _winner(delta: Interval, p_value: float, *, higher_is_better: bool) -> Winner:
    if not delta.excludes(0) or p_value > 1 - delta.level:
        return "tie"
    return "b" if (delta.value > 0) == higher_is_better else "a"


@dataclass(frozen=True, slots=True)
class MissingValues:
    """Episodes of each run without a value, not counting the agent's failures, and the declared bounds of a value."""

    a: int
    b: int
    low: float | None = None
    high: float | None = None


def pessimistic(
    a: Sample,
    b: Sample,
    tasks: Tasks,
    lacking: MissingValues,
    **options: Unpack[ContrastOptions],
) -> PairedContrast:
    """Compare as `contrast` does, but count values missing in run b as worst and values missing in run a as best.

    This bounds the effect of missing values from one side. Values are filled in for tasks with fewer trials than
    others, first where they move the difference most. Tasks that neither run scored are left out, since they are
    unknown. Raises ValueError as `contrast` does.
    """
    count = len(tasks.digests)
    a.fill(count)
    b.fill(count)
    seen = [
        sample.sums[place] / sample.sizes[place] for sample in (a, b) for place in range(count) if sample.sizes[place]
    ]
    low = min(seen) if lacking.low is None else min(lacking.low, *seen)
    high = max(seen) if lacking.high is None else max(lacking.high, *seen)
    worst, best = (low, high) if options.get("higher_is_better", True) else (high, low)
    return contrast(
        _filled(a, b, lacking.a, best),
        _filled(b, a, lacking.b, worst),
        tasks,
        **options,
    )


def _filled(sample: Sample, other: Sample, lacking: int, value: float) -> Sample:
    """Return a copy of `sample` with up to `lacking` additional values, each equal to `value`."""
    sums, sizes = array("d", sample.sums), array("q", sample.sizes)
    trials = max(*sizes, *other.sizes)

    def moved(place: int) -> float:
        mean = other.mean(place) if not sizes[place] else sample.mean(place)
        assert mean is not None
        return abs(mean - value) / (sizes[place] + 1)

    places = (i for i in range(len(sizes)) if sizes[i] < trials and (sizes[i] or other.sizes[i]))
    for place in sorted(places, key=moved, reverse=True):
        added = min(trials - sizes[place], lacking)
        sums[place] += added * value
        sizes[place] += added
        lacking -= added
        if not lacking:
            break
    return replace(sample, sums=sums, sizes=sizes, binary=sample.binary and value in (0.0, 1.0))


def _width(a: Sample, b: Sample) -> float | None:
    """Return the largest possible distance of two values, None if it is not known."""
    if a.binary and b.binary:
        return 1.0
    return None if a.width is None or b.width is None else max(a.width, b.width)


def _reach(x: Sequence[float], y: Sequence[float]) -> float:
    highest, lowest = max(map(max, (x, y))), min(map(min, (x, y)))
    return highest - lowest


def joint_level(level: float, pairs: int) -> float:
    """Return the level for each of `pairs` intervals so that they hold jointly with `level` (Bonferroni)."""
    return 1 - (1 - level) / max(pairs, 1)


def _unpaired(a: Sample, b: Sample, tasks: Tasks, level: float, pairs: int, open_ended: bool) -> PairedContrast:
    x, y = _scored(a, b, tasks)
    pass_fail = a.binary and b.binary
    width = _width(a, b)
    delta = independent_interval(y, x, pass_fail, level, width)
    family = delta if pairs < 2 else independent_interval(y, x, pass_fail, joint_level(level, pairs), width)
    return PairedContrast(
        paired=False,
        mean_a=math.fsum(x) / len(x),
        mean_b=math.fsum(y) / len(y),
        delta=delta,
        found=Significance(1.0, "always valid") if open_ended else independent_test(y, x, pass_fail),
        n_a=len(x),
        n_b=len(y),
        smallest=smallest_independent(y, x, pass_fail, level),
        counts=TaskCounts(0, 0, 0, 0, a.scored, b.scored),
        tasks=(),
        density=(),
        family=family,
        reach=_reach(x, y),
    )


def _scored(a: Sample, b: Sample, tasks: Tasks) -> "tuple[array[float], array[float]]":
    """Return the items of each run. Raises ValueError if one has none."""
    every = range(len(tasks.digests))
    x = _items(a, tasks, [place for place in every if a.sizes[place]])
    y = _items(b, tasks, [place for place in every if b.sizes[place]])
    if not x or not y:
        raise ValueError(f"run {'b' if x else 'a'} has no scored task; there is nothing to compare")
    return x, y


def _test(x: Sequence[float], y: Sequence[float], pass_fail: bool) -> Significance:
    return paired_test(x, y, pass_fail, resamples=max(_FEWEST_RESAMPLES, min(_RESAMPLES, _SIGNS // len(x))))


def _items(sample: Sample, tasks: Tasks, places: Sequence[int]) -> "array[float]":
    """Return the mean of each item over the values of all its variants."""
    if not tasks.clustered:
        return _task_means(sample, places)
    sums: dict[int, float] = {}
    sizes: dict[int, int] = {}
    for place in places:
        item = tasks.clusters[place]
        sums[item] = sums.get(item, 0.0) + sample.sums[place]
        sizes[item] = sizes.get(item, 0) + sample.sizes[place]
    return array("d", (total / size for total, size in zip(sums.values(), sizes.values(), strict=True)))


def _task_means(sample: Sample, places: Sequence[int]) -> "array[float]":
    sums, sizes = sample.sums, sample.sizes
    # The common case: every task has exactly one trial.
    if len(places) == len(sizes) == sizes.count(1):
        return sums
    return array("d", (sums[place] / sizes[place] for place in places))


Means = tuple[Sequence[float], Sequence[float]]


def _counts(means: Means, flipped: int, only: tuple[int, int], *, higher_is_better: bool) -> TaskCounts:
    below = sum(1 for a, b in zip(*means, strict=True) if a < b)
    above = sum(1 for a, b in zip(*means, strict=True) if a > b)
    better = (above, below) if higher_is_better else (below, above)
    return TaskCounts(*better, len(means[0]) - above - below, flipped, *only)


def _listed(means: Means, places: Sequence[int], flips: Sequence[int], tasks: Tasks) -> list[TaskPair]:
    """Return the flipped tasks, then the others, each by decreasing difference, then in plan order."""
    a, b = means

    def apart(i: int) -> float:
        return abs(a[i] - b[i])

    flipped = set(flips)
    chosen = heapq.nlargest(SHOWN, flips, key=apart)
    others = (i for i in range(len(a)) if i not in flipped)
    chosen += heapq.nlargest(SHOWN - len(chosen), others, key=apart)
    return [TaskPair(tasks.digests[places[i]], a[i], b[i], i in flipped) for i in chosen]


def _alone(a: Sample, b: Sample, tasks: Tasks, room: int) -> list[TaskPair]:
    """Return tasks that only one run scored, at most `room`."""
    places = (place for place in range(len(tasks.digests)) if bool(a.sizes[place]) != bool(b.sizes[place]))
    return [
        TaskPair(tasks.digests[place], a.mean(place), b.mean(place), flipped=False) for place in islice(places, room)
    ]


def _density(a: Sequence[float], b: Sequence[float]) -> tuple[TaskCell, ...]:
    """Count tasks by both values: by exact value if there are few different ones, else in equal cells."""
    few = len({*islice(a, 1_000)} | {*islice(b, 1_000)}) <= CELLS and len({*a} | {*b}) <= CELLS
    if few:
        return tuple(TaskCell(x, y, n) for (x, y), n in sorted(Counter(zip(a, b, strict=True)).items()))
    low, high = min(map(min, (a, b))), max(map(max, (a, b)))
    # Values too close together for CELLS cells share the first one.
    width = (high - low) / CELLS or 1.0
    cells = Counter(
        (min(int((x - low) / width), CELLS - 1), min(int((y - low) / width), CELLS - 1))
        for x, y in zip(a, b, strict=True)
    )
    return tuple(TaskCell(low + (i + 0.5) * width, low + (j + 0.5) * width, n) for (i, j), n in sorted(cells.items()))
