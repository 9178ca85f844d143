"""Aggregate the values of a run's episodes into one number with its confidence interval."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace

from mesocosm.stats.interval import Interval, wilson
from mesocosm.stats.mean import Bounds, mean_interval, mean_of_clusters, proportion_clustered
from mesocosm.stats.moments import check_level, check_values, is_pass_fail
from mesocosm.stats.quantile import median_clustered, median_interval

AGGREGATIONS = ("mean", "median", "max", "min", "sum", "pass_rate")


def aggregate(
    how: str,
    values: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    threshold: float = 0.0,
    level: float = 0.95,
    bounds: Bounds | None = None,
) -> Interval:
    """Return the aggregation `how` of `values`; `clusters` names the task of each value when tasks have several trials.

    mean
        see `mesocosm.stats.mean`; clustered by task. `bounds` are those of all possible values, if they are known;
        values beyond them make them unknown. Values of only 0 and 1 are a proportion and treated like pass_rate if both
        occur, or if these are the bounds: a count that happens to be 1 throughout is not a proportion.
    pass_rate
        share of values strictly greater than `threshold`: Wilson, or that of clusters between 0 and 1.
    median
        exact percentile bootstrap; Woodruff when clustered. No interval where it would be a single value.
    sum
        n times the mean and its interval.
    max, min
        the value with infinite bounds, because a sample does not bound an extreme (method "none").

    Linear in the number of values (median: one sort); an `array('d')` is not copied. Raise ValueError for an unknown
    `how`, no values, a value that is not usable, a level not between 0 and 1, or `clusters` of another length.
    """
    check_level(level)
    n = check_values(values)
    if bounds is not None and not bounds[0] <= min(values) <= max(values) <= bounds[1]:
        bounds = None
    if clusters is not None and len(clusters) != n:
        raise ValueError(f"{len(clusters)} cluster names for {n} values; give one for each value")
    if clusters is not None and len(set(clusters)) == n:
        clusters = None
    match how:
        case "mean":
            return _mean(values, clusters, level, bounds)
        case "sum":
            return _sum(values, clusters, level, bounds)
        case "pass_rate":
            return _rate(values, clusters, threshold, level)
        case "median":
            return _median(values, clusters, level)
        case "max" | "min":
            extreme = float(max(values) if how == "max" else min(values))
            return Interval(extreme, -math.inf, math.inf, n, "none", level)
    raise ValueError(f"there is no aggregation {how!r}; choose one of {', '.join(AGGREGATIONS)}")


def _mean(
    values: Sequence[float], clusters: Sequence[Hashable] | None, level: float, bounds: Bounds | None
) -> Interval:
    if is_pass_fail(values) and (bounds == (0, 1) or min(values) < max(values)):
        return _rate(values, clusters, 0.5, level)
    if clusters is None:
        return mean_interval(values, level, bounds)
    sums: dict[Hashable, float] = {}
    sizes: dict[Hashable, int] = {}
    for name, value in zip(clusters, values, strict=True):
        sums[name] = sums.get(name, 0.0) + value
        sizes[name] = sizes.get(name, 0) + 1
    return mean_of_clusters(list(sums.values()), list(sizes.values()), level, bounds)


def _sum(values: Sequence[float], clusters: Sequence[Hashable] | None, level: float, bounds: Bounds | None) -> Interval:
    total, scaled = math.fsum(values), _mean(values, clusters, level, bounds).times(len(values))
    return replace(scaled, value=total, low=min(scaled.low, total), high=max(scaled.high, total))


def _rate(values: Sequence[float], clusters: Sequence[Hashable] | None, threshold: float, level: float) -> Interval:
    if clusters is None:
        return wilson(sum(1 for value in values if value > threshold), len(values), level)
    counts: dict[Hashable, tuple[int, int]] = {}
    for name, value in zip(clusters, values, strict=True):
        trials, passes = counts.get(name, (0, 0))
        counts[name] = trials + 1, passes + (value > threshold)
    return proportion_clustered(counts.values(), level)


def _median(values: Sequence[float], clusters: Sequence[Hashable] | None, level: float) -> Interval:
    if clusters is None:
        found = median_interval(values, level)
    else:
        groups: dict[Hashable, list[float]] = {}
        for name, value in zip(clusters, values, strict=True):
            groups.setdefault(name, []).append(value)
        found = median_clustered(groups.values(), level)
    if found.low < found.high:
        return found
    return Interval(found.value, -math.inf, math.inf, found.n, "none", level)
