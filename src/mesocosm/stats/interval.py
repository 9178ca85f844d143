"""Confidence intervals, and those of proportions.

An unknown bound is infinite: `[-inf, inf]` claims nothing. The mean of a single value and every maximum have this
interval. JSON has no infinity, so such a bound is null in JSON documents.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mesocosm.stats.distribution import t_quantile
from mesocosm.stats.moments import check_level

_FEW = 5
"""The interval of a rate is weak with fewer passes, or fewer failures."""

Method = Literal[
    "wilson", "effective wilson", "hall", "student", "clustered", "bootstrap", "exact bootstrap", "woodruff",
    "tango", "miettinen-nurminen", "welch", "influence", "pearson", "spearman", "lang-reiczigel", "program's stderr",
    "none",
]  # fmt: skip
"""How an interval was computed."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate from `n` values with its two-sided confidence interval: `low <= value <= high`.

    `method` is how the bounds were computed, `level` the share of such intervals that contain the true value; of `weak`
    ones it may be another share, as they rest on few values.
    """

    value: float
    low: float
    high: float
    n: int
    method: Method
    level: float = 0.95
    weak: bool = False

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
    low, high = wilson_bounds(successes / n, n, critical_value(level))
    return Interval(successes / n, low, high, n, "wilson", level, min(successes, n - successes) < _FEW)


def clustered_error(sums: Sequence[float], sizes: Sequence[int], mean: float) -> float:
    """Return the cluster-robust standard error of `mean` = sum(sums) / sum(sizes), for 2 or more clusters."""
    clusters = len(sums)
    residuals = [total - size * mean for total, size in zip(sums, sizes, strict=True)]
    return math.hypot(*residuals) * math.sqrt(clusters / (clusters - 1)) / sum(sizes)


def wilson_bounds(rate: float, n: float, z: float) -> tuple[float, float]:
    """Return Wilson's interval of a rate over `n` trials, which need not be a whole number, for the quantile `z`."""
    scale = 1 + z * z / n
    center = (rate + z * z / (2 * n)) / scale
    margin = z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / scale
    low = 0.0 if rate == 0 else max(0.0, center - margin)
    high = 1.0 if rate == 1 else min(1.0, center + margin)
    return min(low, rate), max(high, rate)
