"""Compare two runs: on the same tasks, or as independent samples."""

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import sub
from typing import Literal

from mesocosm.stats.interval import Interval, critical_value
from mesocosm.stats.mean import SMALL, mean_interval
from mesocosm.stats.moments import Moments, check_values, is_pass_fail, moments
from mesocosm.stats.power import (
    fewest_pairs,
    smallest_difference,
    smallest_difference_unpaired,
    smallest_flip_difference,
    smallest_rate_difference,
)
from mesocosm.stats.rates import barnard, mcnemar, paired_rate_difference, rate_difference
from mesocosm.stats.significance import Significance, sign_flip, welch, welch_df

Verdict = Literal["a", "b", "tie"]


@dataclass(frozen=True, slots=True)
class Flip:
    """A task that one run passed and the other failed: its pass shares in both (a majority of trials decides)."""

    task: str
    a: float
    b: float


@dataclass(frozen=True, slots=True)
class DifferenceTest:
    """The comparison of run a with run b.

    `difference` is the mean of a minus the mean of b over `n_a` and `n_b` tasks; each task counts once. If `paired`,
    n_a = n_b tasks are common, and `only_a` and `only_b` were left out. If unpaired, every task counts and both are
    empty. `flips` is empty unless the scores are pass or fail and paired. `smallest_difference` is the smallest
    difference that this many tasks can show with 80 % power: infinite if they cannot show any, None if the scores do
    not vary, so that it is unknown.
    """

    paired: bool
    mean_a: float
    mean_b: float
    difference: Interval
    p_value: float
    test: str
    n_a: int
    n_b: int
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    flips: tuple[Flip, ...]
    smallest_difference: float | None

    @property
    def verdict(self) -> Verdict:
        """The run with the larger mean, or "tie" unless the interval excludes 0 and the test rejects at its level.

        Intervals of few or discrete values are approximate, but the tests are exact: three tasks won out of three do
        not prove a difference. For several comparisons, first replace the p value by Holm's (`holm`).
        """
        if not self.difference.excludes(0) or self.p_value > 1 - self.difference.level:
            return "tie"
        return "a" if self.difference.value > 0 else "b"


def scored(run: Mapping[str, Sequence[float]], threshold: float | None) -> dict[str, Sequence[float]]:
    """Return the tasks that have values; with a `threshold`, each value becomes 1.0 above it, otherwise 0.0.

    Raise ValueError for a value that is not usable.
    """
    tasks = {task: values for task, values in run.items() if len(values)}
    for values in tasks.values():
        check_values(values)
    if threshold is None:
        return tasks
    return {task: [float(value > threshold) for value in values] for task, values in tasks.items()}


def paired_difference(
    a: Mapping[str, Sequence[float]],
    b: Mapping[str, Sequence[float]],
    *,
    threshold: float | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> DifferenceTest:
    """Compare two runs by the tasks that both scored; each run maps a task to the values of its trials.

    With a `threshold`, a value above it counts as 1, any other as 0. For pass or fail, if all trials of each task
    agree: Newcombe's paired interval and the exact McNemar test. Otherwise: the interval of the mean difference of task
    means (Student below 30 tasks, otherwise normal) and the sign-flip permutation test. Pass variants of one item as
    trials of one task. A task without values counts as absent. Raise ValueError if no task is common or a value is not
    usable.
    """
    runs = scored(a, threshold), scored(b, threshold)
    common = [task for task in runs[0] if task in runs[1]]
    if not common:
        raise ValueError("the runs have no scored task in common; compare them with unpaired_difference")
    means = [[math.fsum(run[task]) / len(run[task]) for task in common] for run in runs]
    pass_fail = all(is_pass_fail(run[task]) for run in runs for task in common)
    interval = paired_interval(means[0], means[1], pass_fail, level, 1.0 if pass_fail else None)
    found = paired_test(means[0], means[1], pass_fail, resamples=resamples, seed=seed)
    return DifferenceTest(
        paired=True,
        mean_a=math.fsum(means[0]) / len(common),
        mean_b=math.fsum(means[1]) / len(common),
        difference=interval,
        p_value=found.p_value,
        test=found.test,
        n_a=len(common),
        n_b=len(common),
        only_a=tuple(task for task in runs[0] if task not in runs[1]),
        only_b=tuple(task for task in runs[1] if task not in runs[0]),
        flips=_flips(common, means[0], means[1]) if pass_fail else (),
        smallest_difference=smallest_paired(means[0], means[1], pass_fail, level),
    )


def unpaired_difference(
    a: Mapping[str, Sequence[float]],
    b: Mapping[str, Sequence[float]],
    *,
    threshold: float | None = None,
    level: float = 0.95,
) -> DifferenceTest:
    """Compare two runs on different tasks; each run maps a task to the values of its trials.

    With a `threshold`, a value above it counts as 1, any other as 0. For pass or fail, if all trials of each task
    agree: Newcombe's interval and Fisher's exact test. Otherwise: Welch's test on task means. Tasks with the same name
    are not matched; a task without values counts as absent. Raise ValueError if a run has no values or a value is not
    usable.
    """
    runs = scored(a, threshold), scored(b, threshold)
    means = [[math.fsum(values) / len(values) for values in run.values()] for run in runs]
    if not means[0] or not means[1]:
        raise ValueError(f"run {'b' if means[0] else 'a'} has no scored task; there is nothing to compare")
    pass_fail = all(is_pass_fail(values) for run in runs for values in run.values())
    interval = independent_interval(means[0], means[1], pass_fail, level, 1.0 if pass_fail else None)
    found = independent_test(means[0], means[1], pass_fail)
    return DifferenceTest(
        paired=False,
        mean_a=math.fsum(means[0]) / len(means[0]),
        mean_b=math.fsum(means[1]) / len(means[1]),
        difference=interval,
        p_value=found.p_value,
        test=found.test,
        n_a=len(means[0]),
        n_b=len(means[1]),
        only_a=(),
        only_b=(),
        flips=(),
        smallest_difference=smallest_independent(means[0], means[1], pass_fail, level),
    )


def differences(x: Sequence[float], y: Sequence[float]) -> "array[float]":
    """Return the differences of paired values."""
    return array("d", map(sub, x, y))


def _table(x: Sequence[float], y: Sequence[float]) -> tuple[int, int, int, int]:
    """Return the number of tasks passed by both, only by x, only by y, and by neither."""
    both = sum(1 for one, other in zip(x, y, strict=True) if one and other)
    only_x, only_y = int(sum(x)) - both, int(sum(y)) - both
    return both, only_x, only_y, len(x) - both - only_x - only_y


def paired_interval(
    x: Sequence[float], y: Sequence[float], pass_fail: bool, level: float, width: float | None = None
) -> Interval:
    """Return the interval of the mean of x minus y: Tango's if all values are 0 or 1, otherwise Student's.

    `width` is the distance of the bounds of a value, which no difference exceeds. Differences that do not vary have the
    interval within ±`width`, or else the distance of the values that were seen.
    """
    if pass_fail and is_pass_fail(x) and is_pass_fail(y):
        return paired_rate_difference(*_table(x, y), level)
    deltas = differences(x, y)
    # Equal runs have symmetric differences, and the test flips their signs: both call for the same interval.
    found = mean_interval(deltas, level, symmetric=True)
    if len(deltas) < 2 or found.bounded:
        return found.clipped(-width, width) if width and found.bounded else found
    seen = max(map(max, (x, y))) - min(map(min, (x, y)))
    reach = max(width or 0.0, seen)
    return mean_interval(deltas, level, (-reach, reach) if reach else None)


def paired_test(
    x: Sequence[float], y: Sequence[float], pass_fail: bool, *, resamples: int = 10_000, seed: int = 0
) -> Significance:
    """Return the test of paired values: McNemar's if all values are 0 or 1, otherwise the sign-flip test."""
    if pass_fail and is_pass_fail(x) and is_pass_fail(y):
        return mcnemar(*_table(x, y)[1:3], len(x))
    return sign_flip(differences(x, y), resamples=resamples, seed=seed)


def smallest_paired(x: Sequence[float], y: Sequence[float], pass_fail: bool, level: float) -> float | None:
    """Return the smallest difference that these pairs can show with 80 % power.

    Infinite if there are too few pairs, None if their differences do not vary.
    """
    n = len(x)
    if pass_fail and is_pass_fail(x) and is_pass_fail(y):
        _, only_x, only_y, _ = _table(x, y)
        return smallest_flip_difference((only_x + only_y) / n, n, level=level)
    if n < fewest_pairs(level):
        return math.inf
    sd = moments(differences(x, y)).sd
    return smallest_difference(sd, n, level=level) if sd else None


def independent_interval(
    x: Sequence[float], y: Sequence[float], pass_fail: bool, level: float, width: float | None = None
) -> Interval:
    """Return the interval of the mean of x minus that of y, which are independent samples; `width` as for pairs."""
    if pass_fail and is_pass_fail(x) and is_pass_fail(y):
        return rate_difference(int(sum(x)), len(x), int(sum(y)), len(y), level)
    found = welch_interval(moments(x), moments(y), level)
    return found.clipped(-width, width) if width and found.bounded else found


def independent_test(x: Sequence[float], y: Sequence[float], pass_fail: bool) -> Significance:
    """Return the test of independent samples: Barnard's if all values are 0 or 1, otherwise Welch's."""
    if pass_fail and is_pass_fail(x) and is_pass_fail(y):
        return barnard(int(sum(x)), len(x), int(sum(y)), len(y))
    return welch(moments(x), moments(y))


def smallest_independent(x: Sequence[float], y: Sequence[float], pass_fail: bool, level: float) -> float | None:
    """Return the smallest difference that these samples can show with 80 % power, None if neither varies."""
    n_x, n_y = len(x), len(y)
    if pass_fail and is_pass_fail(x) and is_pass_fail(y):
        return smallest_rate_difference((sum(x) + sum(y)) / (n_x + n_y), n_x, n_y, level=level)
    one, other = moments(x), moments(y)
    varies = min(n_x, n_y) < 2 or one.sd > 0 or other.sd > 0
    return smallest_difference_unpaired(one.sd, n_x, other.sd, n_y, level=level) if varies else None


def welch_interval(a: Moments, b: Moments, level: float = 0.95) -> Interval:
    """Return the interval of the difference of two means with unequal variances (Welch 1947, Biometrika 34:28).

    A single value on either side, and values that do not vary, give `[-inf, inf]`. `n` of the result is the number of
    values on both sides.
    """
    difference, n = a.mean - b.mean, a.n + b.n
    error = math.hypot(a.sd / math.sqrt(a.n), b.sd / math.sqrt(b.n))
    if min(a.n, b.n) < 2 or error == 0:
        return Interval(difference, -math.inf, math.inf, n, "none", level)
    margin = critical_value(level, welch_df(a.sd, a.n, b.sd, b.n)) * error
    return Interval(difference, difference - margin, difference + margin, n, "welch", level, min(a.n, b.n) < SMALL)


def _flips(tasks: Sequence[str], a: Sequence[float], b: Sequence[float]) -> tuple[Flip, ...]:
    shares = zip(tasks, a, b, strict=True)
    return tuple(Flip(task, x, y) for task, x, y in shares if (x > 0.5) != (y > 0.5))
