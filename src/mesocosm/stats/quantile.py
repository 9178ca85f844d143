"""Medians and quantiles with the exact percentile bootstrap, without resampling.

The r-th smallest of n draws with replacement is at most the k-th smallest value if and only if at least r draws are: a
binomial probability (Efron 1979, Ann. Statist. 7:1, section 3; Maritz & Jarrett 1978, JASA 73:194). So the limit of
infinitely many resamples costs one sort and a few binomial tails.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from functools import partial
from itertools import chain

from mesocosm.stats.distribution import binomial_cdf, binomial_pmf
from mesocosm.stats.interval import Interval, clustered_error, critical_value
from mesocosm.stats.mean import SMALL
from mesocosm.stats.moments import check_level, check_values

# The probability that the r-th smallest draw is more than this many ranks from a given border is below 1e-13.
_REACH = 64


def median_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """Return the median with its exact bootstrap interval; for even counts, the mean of the two middle values.

    Fewer than five values, which bound no median well enough, give `[-inf, inf]`. Raise ValueError for no values or a
    value that is not usable.
    """
    check_level(level)
    n = check_values(values)
    if n % 2:
        return quantile_interval(values, 0.5, level)
    ordered = sorted(values)
    if not _enough(n, 0.5, level):
        return Interval(_median(ordered), -math.inf, math.inf, n, "none", level)
    low, high = (_middle_quantile(ordered, p) for p in ((1 - level) / 2, (1 + level) / 2))
    median = _median(ordered)
    return Interval(median, min(low, median), max(high, median), n, "exact bootstrap", level, n < SMALL)


def quantile_interval(values: Sequence[float], q: float, level: float = 0.95) -> Interval:
    """Return the ⌈nq⌉-th smallest of n values with its exact bootstrap interval.

    Values so few that their range is no interval of this level give `[-inf, inf]`. Raise ValueError unless 0 < q < 1,
    and for no values or one that is not usable.
    """
    check_level(level)
    n = check_values(values)
    if not 0 < q < 1:
        raise ValueError(f"there is no {q} quantile; give a share strictly between 0 and 1")
    ordered = sorted(values)
    # 0.07 * 100 is slightly more than 7 in binary.
    rank = max(math.ceil(round(n * q, 9)), 1)
    value = ordered[rank - 1]
    if not _enough(n, q, level):
        return Interval(value, -math.inf, math.inf, n, "none", level)
    ranks = range(1, n + 1)
    low, high = (
        ordered[bisect_left(ranks, p, key=lambda k: _at_least(rank, n, k))] for p in ((1 - level) / 2, (1 + level) / 2)
    )
    return Interval(value, low, high, n, "exact bootstrap", level, n < SMALL)


def _enough(n: int, q: float, level: float) -> bool:
    """Return whether the range of n values contains the q-quantile about as often as `level` says: five of a median."""
    return 1 - q**n - (1 - q) ** n >= 1 - 1.3 * (1 - level)


def median_clustered(values_by_cluster: Collection[Sequence[float]], level: float = 0.95) -> Interval:
    """Return the median of all values that are dependent within clusters.

    Woodruff's interval: the cluster-robust interval of the share below the median, converted back to values (Woodruff
    1952, JASA 47:635). It is the large-sample limit of the cluster bootstrap, at the cost of one sort. A bound is
    infinite if there are too few clusters for it. Raise ValueError for no clusters, an empty cluster or a value that is
    not usable.
    """
    sizes = [check_values(values) for values in values_by_cluster]
    ordered = sorted(chain.from_iterable(values_by_cluster))
    check_values(ordered)
    n, median = len(ordered), _median(ordered)
    if len(sizes) == 1:
        return Interval(median, -math.inf, math.inf, n, "none", level)
    below = [sum((x < median) + 0.5 * (x == median) for x in values) for values in values_by_cluster]
    margin = critical_value(level, len(sizes) - 1) * clustered_error(below, sizes, 0.5)
    first, last = math.floor(n * (0.5 - margin)), math.ceil(n * (0.5 + margin))
    low = ordered[first - 1] if first >= 1 else -math.inf
    high = ordered[last - 1] if last <= n else math.inf
    weak = len(sizes) < SMALL
    return Interval(median, min(low, median), max(high, median), n, "woodruff", level, weak)


def _at_least(rank: int, n: int, k: int) -> float:
    """Return P(the rank-th smallest of n draws is among the k smallest values)."""
    return 1 - binomial_cdf(rank - 1, n, k / n)


def _median(ordered: Sequence[float]) -> float:
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else _average(ordered[half - 1], ordered[half])


def _average(a: float, b: float) -> float:
    return (a + b) / 2


def _middle_quantile(ordered: Sequence[float], p: float) -> float:
    """Return the p-quantile of the bootstrap distribution of the median of an even number of values.

    It is one of the values or the average of two.
    """
    n = len(ordered)
    place = bisect_left(range(n), p, key=lambda k: _middle_at_most(ordered, ordered[k]))
    place = bisect_left(ordered, ordered[min(place, n - 1)])
    # The quantile is above the value before this place; averages in between have one value on each side.
    below = ordered[max(0, place - _REACH) : place]
    above = ordered[place : place + _REACH]
    floor = ordered[place - 1] if place else ordered[0]
    averages = sorted({t for a in below for b in above if floor < (t := _average(a, b)) < ordered[place]})
    found = bisect_left(averages, p, key=partial(_middle_at_most, ordered))
    return averages[found] if found < len(averages) else ordered[place]


def _middle_at_most(ordered: Sequence[float], t: float) -> float:
    """Return P(the average of the two middle values of n draws <= t).

    Either more than half of the draws are <= t, or exactly half are. In the second case, the largest of those and the
    smallest of the others are independent, and their average must be <= t.
    """
    n, half = len(ordered), len(ordered) // 2
    k = bisect_right(ordered, t)
    certain = _at_least(half + 1, n, k)
    if k in (0, n):
        return certain
    split = 0.0
    for i in range(k, max(0, k - _REACH), -1):
        largest = (i / k) ** half - ((i - 1) / k) ** half
        j = bisect_right(ordered, t, k, n, key=partial(_average, ordered[i - 1]))
        split += largest * (1 - ((n - j) / (n - k)) ** half)
    return certain + binomial_pmf(half, n, k / n) * split
