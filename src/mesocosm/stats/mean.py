"""Confidence intervals of means: of independent values or of clusters, with or without bounds of the values.

Means of skewed values are corrected for their skewness (Hall 1992, J. Royal Statist. Soc. B 54:221). Clusters of
different sizes have the bias-reduced error CR2 with Satterthwaite's degrees of freedom (Bell & McCaffrey 2002, Survey
Methodology 28:169; Pustejovsky & Tipton 2018, J. Business & Economic Statistics 36:672). Where few values carry a
bounded mean, what was not seen counts: one value at each bound joins the variance, and the interval is Wilson's with
the number of passes and failures that has this variance. `perf/coverage.py` simulates how often they hold the truth.
"""

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from mesocosm.stats.interval import Interval, Method, critical_value, wilson, wilson_bounds
from mesocosm.stats.moments import check_values

SMALL = 10
"""An interval of fewer values is weak."""
FEW = 7
"""An interval is weak if fewer values differ from the most frequent one."""
SKEWED = 0.3
"""An interval is weak if the skewness of its n values, over √n, is above this: the mean depends on few of them."""
SPARSE = 0.4
"""Above this skewness over √n, a mean of bounded values also counts values at the bounds that were not seen."""
_FEWEST_DF = 9.0
"""An interval of clusters with fewer degrees of freedom is weak."""

Bounds = tuple[float, float]


def mean_interval(
    values: Sequence[float], level: float = 0.95, bounds: Bounds | None = None, *, symmetric: bool = False
) -> Interval:
    """Return the interval of the mean of independent values, which `bounds` contain if they are given.

    Without bounds, `symmetric` values have Student's interval, others Hall's.

    Without bounds, a single value and values that do not vary have no interval (`[-inf, inf]`, method "none"). Raise
    ValueError for no values or a value that is not usable.
    """
    return mean_of_clusters(values, [1] * check_values(values), level, bounds, symmetric=symmetric)


def clustered(values_by_cluster: Collection[Sequence[float]], level: float = 0.95) -> Interval:
    """Return the interval of the mean over all values that are dependent within clusters (the trials of a task).

    With equal sizes it is the interval of the cluster means. Raise ValueError for no clusters, an empty cluster or a
    value that is not usable.
    """
    sizes = [check_values(values) for values in values_by_cluster]
    return mean_of_clusters([math.fsum(values) for values in values_by_cluster], sizes, level)


def proportion_clustered(counts: Collection[tuple[int, int]], level: float = 0.95) -> Interval:
    """Return the interval of a pass rate over all trials, from (trials, passes) of each task.

    With one trial per task it is `wilson`; a single task with several trials gives `[0, 1]`. Raise ValueError for no
    tasks or impossible counts.
    """
    for trials, passes in counts:
        if not 0 <= passes <= trials or trials < 1:
            raise ValueError(f"{passes} passes of {trials} trials are impossible; give 0 <= passes <= trials >= 1")
    if not counts:
        raise ValueError("there is no task to summarise; leave the number out when nothing was scored")
    sizes, sums = [n for n, _ in counts], [c for _, c in counts]
    if sum(sizes) == len(sizes):
        return wilson(sum(sums), len(sums), level)
    return mean_of_clusters(sums, sizes, level, (0.0, 1.0))


@dataclass(frozen=True, slots=True)
class _Sample:
    """Sums and sizes of clusters with their mean; `residuals` are those of the sums, in units of `unit`."""

    sums: Sequence[float]
    sizes: Sequence[int]
    n: int
    mean: float
    residuals: Sequence[float]
    unit: float
    even: bool

    @classmethod
    def of(cls, sums: Sequence[float], sizes: Sequence[int]) -> "_Sample":
        n = sum(sizes)
        mean = math.fsum(sums) / n
        # A power of two keeps the cubes in range and is exact.
        peak = max(abs(max(sums)), abs(min(sums)))
        unit = math.ldexp(1.0, math.frexp(peak)[1] - 1) if peak else 1.0
        residuals = [(total - size * mean) / unit for total, size in zip(sums, sizes, strict=True)]
        return cls(sums, sizes, n, mean, residuals, unit, min(sizes) == max(sizes))

    @property
    def constant(self) -> bool:
        """Whether all cluster means are the same, but for rounding."""
        return max(map(abs, self.residuals)) <= 1e-12 * max(self.sizes)

    def skewness(self) -> float:
        """Return the skewness of the residuals over the root of their number: 0 if they do not vary, 1 at most."""
        clusters = len(self.residuals)
        squares = math.fsum(u * u for u in self.residuals) / clusters
        cubes = math.fsum(u * u * u for u in self.residuals) / clusters
        return cubes / (squares * math.sqrt(squares * clusters))

    def few(self, df: float) -> bool:
        """Return whether fewer than `FEW` clusters differ from the most frequent mean.

        With `df` degrees of freedom, clusters of different sizes count as df + 1 of equal size.
        """
        means = Counter(total / size for total, size in zip(self.sums, self.sizes, strict=True))
        return (len(self.sums) - max(means.values())) * (df + 1) / len(self.sums) < FEW

    def error(self) -> tuple[float, float]:
        """Return the standard error of the mean and its degrees of freedom."""
        if self.even:
            clusters = len(self.residuals)
            scale = math.sqrt(clusters / (clusters - 1)) / self.n
            return math.hypot(*self.residuals) * scale * self.unit, clusters - 1
        adjusted = (u / math.sqrt(1 - size / self.n) for u, size in zip(self.residuals, self.sizes, strict=True))
        squares = math.fsum(size * size for size in self.sizes)
        terms = [size * size / (self.n - size) for size in self.sizes]
        cross = math.fsum(terms) ** 2 - math.fsum(term * term for term in terms)
        return math.hypot(*adjusted) / self.n * self.unit, self.n**2 / (squares + cross)


def mean_of_clusters(
    sums: Sequence[float],
    sizes: Sequence[int],
    level: float = 0.95,
    bounds: Bounds | None = None,
    *,
    symmetric: bool = False,
) -> Interval:
    """Return the interval of the mean of all values, from the sum and the number of values of each cluster.

    See `mean_interval` and `clustered`, which check the values: a sum may be larger than what is usable as a value.
    """
    clusters = check_values(sizes)
    method: Method = "clustered" if clusters < sum(sizes) else "student" if symmetric else "hall"
    sample = _Sample.of(sums, sizes)
    if clusters == 1 or (bounds is None and sample.constant):
        low, high = bounds or (-math.inf, math.inf)
        return Interval(sample.mean, low, high, sample.n, "none", level)
    error, df = sample.error()
    critical = critical_value(level, df)
    skewness = 0.0 if sample.constant else sample.skewness()
    weak = clusters < SMALL or sample.few(df) or df < _FEWEST_DF
    if bounds is not None and (sample.constant or abs(skewness) > SPARSE):
        low, high = _with_unseen(sample, bounds, critical)
        return Interval(sample.mean, low, high, sample.n, "effective wilson", level, weak)
    if sample.even:
        low, high = _without_skewness(sample.mean, error, 0.0 if symmetric else skewness, clusters, critical)
    else:
        low, high = sample.mean - critical * error, sample.mean + critical * error
    found = Interval(sample.mean, low, high, sample.n, method, level, weak or (not bounds and abs(skewness) > SKEWED))
    return found if bounds is None else found.clipped(*bounds)


def _without_skewness(mean: float, error: float, skewness: float, n: int, critical: float) -> tuple[float, float]:
    """Return the interval from the inverse of Hall's transformation of Student's t, for `skewness` over √n."""
    if abs(skewness) < 1e-7:
        return mean - critical * error, mean + critical * error
    bias = skewness / 6
    # In units of the error: t = 3 ((1 + skewness (q - bias))^(1/3) - 1) / skewness.
    ends = (3 * (_cube_root(1 + skewness * (q - bias)) - 1) / skewness for q in (critical, -critical))
    low, high = (mean - error * end for end in ends)
    return min(low, mean), max(high, mean)


def _cube_root(x: float) -> float:
    return math.copysign(abs(x) ** (1 / 3), x)


def _with_unseen(sample: _Sample, bounds: Bounds, critical: float) -> tuple[float, float]:
    """Return Wilson's interval on the number of trials with this variance, a cluster at each bound included.

    These two clusters have the root of the mean size: how far the trials of a task agree is not known. If all of them
    agree, the mean size.
    """
    lowest, width = bounds[0], bounds[1] - bounds[0]
    mean_size = sample.n / len(sample.sums)
    size = mean_size if sample.constant else math.sqrt(mean_size)
    n = sample.n + 2 * size
    sums = [(total - count * lowest) / width for total, count in zip(sample.sums, sample.sizes, strict=True)]
    total = math.fsum(sums)
    rate, center = min(max(total / sample.n, 0.0), 1.0), (total + size) / n
    squares = math.fsum(
        (a - count * center) ** 2 / (1 - count / n) for a, count in zip(sums, sample.sizes, strict=True)
    )
    squares += size**2 * (center**2 + (1 - center) ** 2) / (1 - size / n)
    low, high = wilson_bounds(rate, center * (1 - center) * n * sample.n / squares, critical)
    return lowest + width * low, lowest + width * high
