"""Confidence intervals of proportions and means.

An unknown bound is infinite: `[-inf, inf]` claims nothing. The mean of a single value and every maximum have this
interval. JSON has no infinity, so such a bound is null in JSON documents.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mesocosm.stats.distribution import t_quantile
from mesocosm.stats.moments import check_level, check_values, moments

NORMAL_FROM = 30
"""Minimum number of values for which the interval of a mean uses the normal quantile instead of Student's."""


Method = Literal[
    "wilson", "wilson clustered", "student", "normal", "clustered", "bootstrap", "exact bootstrap", "woodruff",
    "newcombe", "newcombe paired", "welch", "influence", "pearson", "spearman", "lang-reiczigel", "none",
]  # fmt: skip
"""How an interval was computed."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate from `n` values with its two-sided confidence interval: `low <= value <= high`.

    `method` is how the bounds were computed, `level` the share of such intervals that contain the true value.
    """

    value: float
    low: float
    high: float
    n: int
    method: Method
    level: float = 0.95

    @property
    def bounded(self) -> bool:
        """Whether both bounds are finite, so that the interval claims something."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def excludes(self, truth: float) -> bool:
        """Return whether `truth` is outside the interval."""
        return not self.low <= truth <= self.high

    def times(self, factor: float) -> "Interval":
        """Return the interval of the quantity times `factor`, which must be positive."""
        return replace(self, value=self.value * factor, low=self.low * factor, high=self.high * factor)

    def clipped(self, low: float, high: float) -> "Interval":
        """Return the interval cut to [`low`, `high`], the range of possible values."""
        return replace(self, low=max(self.low, low), high=min(self.high, high))


def critical_value(level: float, df: float = math.inf) -> float:
    """Return the two-sided critical value of Student's t, or of the normal distribution for infinite `df`.

    Raise ValueError unless 0 < level < 1.
    """
    check_level(level)
    return -t_quantile((1 - level) / 2, df)


def wilson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Return the Wilson score interval of a proportion (Wilson 1927, JASA 22:209).

    Raise ValueError unless 0 <= successes <= n and n >= 1.
    """
    if not 0 <= successes <= n or n < 1:
        raise ValueError(f"{successes} successes of {n} trials are impossible; give 0 <= successes <= n and n >= 1")
    low, high = _wilson_bounds(successes / n, n, critical_value(level))
    return Interval(successes / n, low, high, n, "wilson", level)


def student(values: Sequence[float], level: float = 0.95) -> Interval:
    """Return the interval of the mean of independent values: Student's t below 30 values, otherwise normal.

    A single value gives `[-inf, inf]`. Raise ValueError for no values or a value that is not usable.
    """
    sample = moments(values)
    method: Method = "student" if sample.n < NORMAL_FROM else "normal"
    if sample.n == 1:
        return Interval(sample.mean, -math.inf, math.inf, 1, method, level)
    df = sample.n - 1 if sample.n < NORMAL_FROM else math.inf
    return _around(sample.mean, critical_value(level, df) * sample.sd / math.sqrt(sample.n), sample.n, method, level)


def clustered(values_by_cluster: Collection[Sequence[float]], level: float = 0.95) -> Interval:
    """Return the interval of the mean over all values that are dependent within clusters (the trials of a task).

    Cluster-robust standard error with the factor G / (G - 1), and Student's t with G - 1 degrees of freedom for G
    clusters (Liang & Zeger 1986, Biometrika 73:13; Cameron & Miller 2015, J. Human Resources 50:317). With equal sizes
    it is the t interval of the cluster means. A single cluster gives `[-inf, inf]`. Raise ValueError for no clusters,
    an empty cluster or a value that is not usable.
    """
    sizes = [check_values(values) for values in values_by_cluster]
    return clustered_sums([math.fsum(values) for values in values_by_cluster], sizes, level)


def clustered_sums(sums: Sequence[float], sizes: Sequence[int], level: float = 0.95) -> Interval:
    """Return the same as `clustered`, from the sum and the number of values of each cluster."""
    check_values(sums)
    n = sum(sizes)
    mean = math.fsum(sums) / n
    if len(sums) == 1:
        return Interval(mean, -math.inf, math.inf, n, "clustered", level)
    margin = critical_value(level, len(sums) - 1) * clustered_error(sums, sizes, mean)
    return _around(mean, margin, n, "clustered", level)


def clustered_error(sums: Sequence[float], sizes: Sequence[int], mean: float) -> float:
    """Return the cluster-robust standard error of `mean` = sum(sums) / sum(sizes), for 2 or more clusters."""
    clusters = len(sums)
    residuals = [total - size * mean for total, size in zip(sums, sizes, strict=True)]
    return math.hypot(*residuals) * math.sqrt(clusters / (clusters - 1)) / sum(sizes)


def proportion_clustered(counts: Collection[tuple[int, int]], level: float = 0.95) -> Interval:
    """Return the interval of a pass rate over all trials, from (trials, passes) of each task.

    Wilson's interval on the effective number of trials, p(1-p) over the squared cluster-robust error, with the
    quantile of Student's t (Korn & Graubard 1998, Survey Methodology 24:193; Dean & Pagano 2015, J. Survey Statistics
    and Methodology 3:484). If all trials agree, the tasks count as the independent trials. With one trial per task it
    is `wilson`; a single task with several trials gives `[0, 1]`. Raise ValueError for no tasks or impossible counts.
    """
    for trials, passes in counts:
        if not 0 <= passes <= trials or trials < 1:
            raise ValueError(f"{passes} passes of {trials} trials are impossible; give 0 <= passes <= trials >= 1")
    if not counts:
        raise ValueError("there is no task to summarise; leave the number out when nothing was scored")
    sizes, sums = [n for n, _ in counts], [c for _, c in counts]
    n, rate, tasks = sum(sizes), sum(sums) / sum(sizes), len(sums)
    if n == tasks:
        return wilson(sum(sums), n, level)
    if tasks == 1:
        return Interval(rate, 0.0, 1.0, n, "wilson clustered", level)
    critical = critical_value(level, tasks - 1)
    low, high = _wilson_bounds(rate, _effective_trials(sums, sizes, rate), critical)
    return Interval(rate, low, high, n, "wilson clustered", level)


def _effective_trials(sums: Sequence[int], sizes: Sequence[int], rate: float) -> float:
    if rate in (0, 1):
        return len(sums)
    error = clustered_error(sums, sizes, rate)
    trials = sum(sizes)
    # Tasks that vary less than by chance would yield more effective trials than there were.
    return trials if error == 0 else min(trials, rate * (1 - rate) / error**2)


def _wilson_bounds(rate: float, n: float, z: float) -> tuple[float, float]:
    scale = 1 + z * z / n
    center = (rate + z * z / (2 * n)) / scale
    margin = z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / scale
    low = 0.0 if rate == 0 else max(0.0, center - margin)
    high = 1.0 if rate == 1 else min(1.0, center + margin)
    return min(low, rate), max(high, rate)


def _around(value: float, margin: float, n: int, method: Method, level: float) -> Interval:
    return Interval(value, value - margin, value + margin, n, method, level)
