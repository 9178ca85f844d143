"""Two runs on different tasks, compared as independent samples."""

import math
from collections.abc import Mapping, Sequence

from mesocosm.stats.comparison import DifferenceTest, scored
from mesocosm.stats.interval import Interval, critical_value, wilson
from mesocosm.stats.moments import Moments, is_pass_fail, moments
from mesocosm.stats.power import smallest_difference_unpaired, smallest_rate_difference
from mesocosm.stats.significance import Significance, fisher, welch, welch_df


def unpaired_difference(
    a: Mapping[str, Sequence[float]],
    b: Mapping[str, Sequence[float]],
    *,
    threshold: float | None = None,
    level: float = 0.95,
) -> DifferenceTest:
    """Compare two runs whose tasks differ; each maps a task to the values of its trials.

    With a `threshold`, a value counts 1 when it exceeds it, else 0. Pass or fail, all trials of a task agreeing:
    Newcombe's interval and Fisher's exact test. Anything else: Welch on task means. Tasks with the same name are not
    matched; a task without values counts as absent. Raises ValueError when a run has no values or one is not usable.
    """
    runs = scored(a, threshold), scored(b, threshold)
    means = [[math.fsum(values) / len(values) for values in run.values()] for run in runs]
    if not means[0] or not means[1]:
        raise ValueError(f"run {'b' if means[0] else 'a'} has no scored task; there is nothing to compare")
    pass_fail = all(is_pass_fail(values) for run in runs for values in run.values())
    compared = _rates if pass_fail and is_pass_fail(means[0]) and is_pass_fail(means[1]) else _means
    interval, found, smallest = compared(means[0], means[1], level)
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
        smallest_difference=smallest,
    )


def newcombe(passes_a: int, n_a: int, passes_b: int, n_b: int, level: float = 0.95) -> Interval:
    """Return the interval of the difference of two independent pass rates.

    Square-and-add of two Wilson intervals, method 10 of Newcombe 1998, Statist. Med. 17:873. `n` of the result is
    n_a + n_b. Raises ValueError for impossible counts.
    """
    a, b = wilson(passes_a, n_a, level), wilson(passes_b, n_b, level)
    difference = a.value - b.value
    low = difference - math.hypot(a.value - a.low, b.high - b.value)
    high = difference + math.hypot(a.high - a.value, b.value - b.low)
    return Interval(difference, max(low, -1.0), min(high, 1.0), n_a + n_b, "newcombe", level)


def welch_interval(a: Moments, b: Moments, level: float = 0.95) -> Interval:
    """Return the interval of the difference of two means with unequal variances (Welch 1947, Biometrika 34:28).

    One value on a side gives `[-inf, inf]`. `n` of the result is the number of values on both sides.
    """
    difference, n = a.mean - b.mean, a.n + b.n
    if min(a.n, b.n) < 2:
        return Interval(difference, -math.inf, math.inf, n, "welch", level)
    error = math.hypot(a.sd / math.sqrt(a.n), b.sd / math.sqrt(b.n))
    margin = critical_value(level, welch_df(a.sd, a.n, b.sd, b.n)) * error
    return Interval(difference, difference - margin, difference + margin, n, "welch", level)


def _rates(a: Sequence[float], b: Sequence[float], level: float) -> tuple[Interval, Significance, float | None]:
    passes_a, passes_b = int(sum(a)), int(sum(b))
    rate = (passes_a + passes_b) / (len(a) + len(b))
    interval = newcombe(passes_a, len(a), passes_b, len(b), level)
    smallest = smallest_rate_difference(rate, len(a), len(b), level=level)
    return interval, fisher(passes_a, len(a), passes_b, len(b)), smallest


def _means(a: Sequence[float], b: Sequence[float], level: float) -> tuple[Interval, Significance, float | None]:
    x, y = moments(a), moments(b)
    told = min(x.n, y.n) < 2 or x.sd > 0 or y.sd > 0
    smallest = smallest_difference_unpaired(x.sd, x.n, y.sd, y.n, level=level) if told else None
    return welch_interval(x, y, level), welch(x, y), smallest
