"""Count, mean and standard deviation of a sample, and the validity checks of samples."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

LARGEST = 1e300
"""Larger magnitudes are rejected: sums of many such values would overflow."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Size, mean and sample standard deviation (divisor n - 1; 0 for one value) in the unit of the values."""

    n: int
    mean: float
    sd: float


def moments(values: Sequence[float]) -> Moments:
    """Return the moments of `values`, from exactly rounded sums. An `array('d')` is not copied.

    Raise ValueError for no values or a value that is not `usable`.
    """
    n = check_values(values)
    peak = max(abs(max(values)), abs(min(values)))
    if peak == 0:
        return Moments(n, 0.0, 0.0)
    # Scaling by a power of two keeps the squares in range and is exact.
    unit = math.ldexp(1.0, math.frexp(peak)[1] - 1)
    mean = math.fsum(x / unit for x in values) / n
    squares = math.fsum((x / unit - mean) ** 2 for x in values)
    return Moments(n, mean * unit, math.sqrt(squares / max(n - 1, 1)) * unit)


def usable(value: float) -> bool:
    """Return whether a score can be used in statistics: not NaN, and at most `LARGEST` in magnitude."""
    return abs(value) <= LARGEST


def check_values(values: Sequence[float]) -> int:
    """Return the number of values. Raise ValueError if there are none or one of them is not `usable`."""
    if len(values) == 0:
        raise ValueError("there is no value to summarise; leave the number out when nothing was scored")
    if not _all_usable(values):
        place = next(i for i, x in enumerate(values) if not usable(x))
        raise ValueError(f"value {place} is {values[place]}; leave such values out and count them as missing")
    return len(values)


def _all_usable(values: Sequence[float]) -> bool:
    # C-level passes, for long samples; max and min alone would miss a NaN.
    try:
        return all(map(math.isfinite, values)) and max(values) <= LARGEST and min(values) >= -LARGEST
    except OverflowError:  # an integer too large for a float
        return False


def check_level(level: float) -> None:
    """Raise ValueError unless `level` is a confidence level strictly between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"a confidence level of {level} is impossible; give a share between 0 and 1, such as 0.95")


def is_pass_fail(values: Sequence[float]) -> bool:
    """Return whether every value is 0 or 1, so that their mean is a proportion."""
    return all(x in (0, 1) for x in values)


@dataclass(frozen=True, slots=True)
class Spread:
    """Statistics of values in their unit; `std` is the population standard deviation (divisor n)."""

    n: int
    mean: float
    std: float
    min: float
    median: float
    max: float


def spread(values: Sequence[float]) -> Spread:
    """Return the statistics of `values`; the median of an even number of values is the mean of the middle two.

    Raise ValueError for no values or a value that is not `usable`.
    """
    found, ordered = moments(values), sorted(values)
    half = found.n // 2
    # Halved before adding, because the sum of two values may overflow.
    median = ordered[half] if found.n % 2 else ordered[half - 1] / 2 + ordered[half] / 2
    std = found.sd * math.sqrt((found.n - 1) / found.n)
    return Spread(found.n, found.mean, std, ordered[0], median, ordered[-1])
