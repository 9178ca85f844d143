"""Percentile bootstrap of any statistic (Efron & Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13).

The cost is `resamples` times that of the statistic. For medians and quantiles, `quantile` has an exact, fast form.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

from mesocosm.stats.interval import Interval
from mesocosm.stats.moments import check_level

T = TypeVar("T")


def bootstrap(
    values: Sequence[T],
    statistic: Callable[[Sequence[T]], float],
    *,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """Return the percentile interval of `statistic` over independent `values`.

    Values may be of any type, for a ratio the pair (numerator, denominator). The same seed gives the same interval. A
    single value gives `[-inf, inf]`. Raise ValueError for no values, no resamples, or if the statistic of a resample
    is NaN.
    """
    rng = random.Random(seed)
    draws = (rng.choices(values, k=len(values)) for _ in range(resamples))
    return _percentile(values, len(values), draws, statistic, level)


def bootstrap_clustered(
    values_by_cluster: Sequence[Sequence[T]],
    statistic: Callable[[Sequence[T]], float],
    *,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    undefined: float = 0.0,
) -> Interval:
    """Return the percentile interval of `statistic` over all values, drawing whole clusters.

    Davison & Hinkley, Bootstrap Methods and their Application, 1997, section 3.8. A single cluster gives `[-inf, inf]`.
    `undefined` is the share of the resamples whose statistic may be NaN: these are left out, and more of them give
    `[-inf, inf]`. Raise ValueError for no values, no resamples, or, unless `undefined`, if the statistic of a resample
    is NaN.
    """
    rng = random.Random(seed)
    k = len(values_by_cluster)
    draws = (list(chain.from_iterable(rng.choices(values_by_cluster, k=k))) for _ in range(resamples))
    return _percentile(list(chain.from_iterable(values_by_cluster)), k, draws, statistic, level, undefined)


def _percentile(
    values: Sequence[T],
    units: int,
    draws: Iterator[Sequence[T]],
    statistic: Callable[[Sequence[T]], float],
    level: float,
    undefined: float = 0.0,
) -> Interval:
    check_level(level)
    if not values:
        raise ValueError("there is no value to resample; leave the number out when nothing was scored")
    estimate = statistic(values)
    if units == 1:
        return Interval(estimate, -math.inf, math.inf, len(values), "bootstrap", level)
    replicates = [statistic(draw) for draw in draws]
    if not replicates:
        raise ValueError("there is no resample; ask for 1,000 or more")
    defined = [replicate for replicate in replicates if not math.isnan(replicate)]
    if undefined and len(defined) < (1 - undefined) * len(replicates):
        return Interval(estimate, -math.inf, math.inf, len(values), "bootstrap", level)
    if not undefined and len(defined) < len(replicates):
        raise ValueError("the statistic of a resample is NaN; let it return a number for every choice of the values")
    replicates = sorted(defined)
    # Integer ranks, rounded outwards, because interpolation next to an infinite replicate would fail.
    last = len(replicates) - 1
    low = replicates[math.floor(last * (1 - level) / 2)]
    high = replicates[math.ceil(last * (1 + level) / 2)]
    return Interval(estimate, min(low, estimate), max(high, estimate), len(values), "bootstrap", level)
