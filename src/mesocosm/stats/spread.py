"""How values lie: mean, standard deviation, least, middle and greatest."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from mesocosm.stats.moments import moments


@dataclass(frozen=True, slots=True)
class Spread:
    """Statistics of values in their unit; `std` is that of the population (divisor n)."""

    n: int
    mean: float
    std: float
    min: float
    median: float
    max: float


def spread(values: Sequence[float]) -> Spread:
    """Return how `values` lie; of an even number, the median is the mean of the two in the middle.

    Raises ValueError when there is no value, or when one is not usable.
    """
    found, ordered = moments(values), sorted(values)
    half = found.n // 2
    # Halved before they are added, for the sum of two may be out of range.
    median = ordered[half] if found.n % 2 else ordered[half - 1] / 2 + ordered[half] / 2
    std = found.sd * math.sqrt((found.n - 1) / found.n)
    return Spread(found.n, found.mean, std, ordered[0], median, ordered[-1])
