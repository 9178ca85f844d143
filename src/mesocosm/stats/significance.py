"""P values of means: paired sign flips, Welch, always valid ones; and Holm's adjustment for several comparisons."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mesocosm.stats.distribution import normal_cdf, t_cdf
from mesocosm.stats.moments import Moments, check_values

_EXACT_PAIRS = 14
_BITS = 40
# Resampled sums need fewer bits (each costs time): rounding moves them by less than 0.001 standard deviations.
_MEAN_BITS = 20
# For comparison: the Monte-Carlo error of a p value of 0.05 from 10,000 resamples is 0.0022.
_NEGLIGIBLE = 0.002


_BETS = tuple(sign * 0.95 * 0.6**i for i in range(10) for sign in (1, -1))
"""Shares of the wealth that bets on a difference risk: even for any size of a difference between 0.02 and 1."""


@dataclass(frozen=True, slots=True)
class Significance:
    """A two-sided p value and the name of its test."""

    p_value: float
    test: str


def sign_flip(differences: Sequence[float], *, resamples: int = 10_000, seed: int = 0) -> Significance:
    """Return the paired permutation test: how often random signs give a mean at least as far from 0.

    Uses all sign patterns if at most 14 differences are not 0; otherwise `resamples` seeded ones plus the observed
    pattern (Phipson & Smyth 2010, SAGMB 9:39), at a cost linear in the pairs; or the normal limit if it is more
    accurate than resampling (its Berry-Esseen bound is below 0.002). Raise ValueError for no differences or one that
    is not usable.
    """
    check_values(differences)
    sizes = [abs(d) for d in differences if d]
    if not sizes:
        return Significance(1.0, "sign flips exact")
    # Integers make sums exact, so that ties are found; rounding can move a sum by half a unit per pair.
    peak = max(sizes)
    bits = _BITS
    if len(sizes) > _EXACT_PAIRS:
        bits = min(_BITS, _MEAN_BITS + math.ceil(peak / (math.fsum(sizes) / len(sizes))).bit_length())
    units = [round(math.ldexp(size / peak, bits)) for size in sizes]
    signed = sum(unit if d > 0 else -unit for unit, d in zip(units, filter(None, differences), strict=True))
    extreme = abs(signed) - len(units)
    if len(units) <= _EXACT_PAIRS:
        return Significance(_exact_flips(units, extreme), "sign flips exact")
    squares = math.fsum(float(unit) ** 2 for unit in units)
    if 0.56 * math.fsum(float(unit) ** 3 for unit in units) < _NEGLIGIBLE * squares**1.5:
        return Significance(2 * normal_cdf(-abs(signed) / math.sqrt(squares)), "sign flips normal")
    return Significance(_random_flips(units, extreme, resamples, random.Random(seed)), "sign flips")


def always_valid(differences: Sequence[float], width: float | None) -> Significance:
    """Return the test of paired differences that stays valid however often, and until whenever, somebody looks at it.

    The differences are at most `width`. p is 1 over the wealth of bets on them, of which each has no gain on average if
    their mean is 0: Π(1 + share · difference / width), averaged over several shares. The chance that it is ever above
    20 is 5 % at most (Ville 1939; Waudby-Smith & Ramdas 2024, J. Royal Statist. Soc. B 86:1). The order of the
    differences does not matter. p is 1 without `width`, or if it is exceeded: nothing can be bet on
    values without bounds.
    """
    check_values(differences)
    counts = Counter(d / width for d in differences if d) if width else Counter[float]()
    if not counts or max(map(abs, counts)) > 1 + 1e-9:
        return Significance(1.0, "always valid")
    logs = [math.fsum(n * math.log1p(share * d) for d, n in counts.items()) for share in _BETS]
    most = max(logs)
    log_wealth = most + math.log(math.fsum(math.exp(log - most) for log in logs) / len(logs))
    return Significance(math.exp(-max(log_wealth, 0.0)), "always valid")


def welch(a: Moments, b: Moments) -> Significance:
    """Return Welch's t test of two means; p is 1 if a side has fewer than two values.

    Without any spread t is undefined; p is then that of the rarest arrangement, 2 / C(n_a + n_b, n_a).
    """
    if min(a.n, b.n) < 2 or a.mean == b.mean:
        return Significance(1.0, "welch")
    error = math.hypot(a.sd / math.sqrt(a.n), b.sd / math.sqrt(b.n))
    if error == 0:
        return Significance(min(1.0, 2 * math.exp(-_log_choose(a.n + b.n, a.n))), "welch")
    return Significance(2 * t_cdf(-abs(a.mean - b.mean) / error, welch_df(a.sd, a.n, b.sd, b.n)), "welch")


def welch_df(sd_a: float, n_a: int, sd_b: float, n_b: int) -> float:
    """Return the Welch-Satterthwaite degrees of freedom for two or more values on each side (Welch 1947)."""
    peak = max(sd_a, sd_b)
    if peak == 0:
        return n_a + n_b - 2
    a, b = (sd_a / peak) ** 2 / n_a, (sd_b / peak) ** 2 / n_b
    return (a + b) ** 2 / (a * a / (n_a - 1) + b * b / (n_b - 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p values in the given order (Holm 1979, Scand. J. Statist. 6:65).

    Raise ValueError if one is not between 0 and 1.
    """
    wrong = [p for p in p_values if not 0 <= p <= 1]
    if wrong:
        raise ValueError(f"{wrong[0]} is not a p value; give numbers between 0 and 1")
    adjusted, largest = [0.0] * len(p_values), 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def _exact_flips(units: Sequence[int], extreme: int) -> float:
    # Flipping every sign mirrors the sums, so the first sign can be fixed.
    sums = [units[0]]
    for unit in units[1:]:
        sums = [s + unit for s in sums] + [s - unit for s in sums]
    return sum(abs(s) >= extreme for s in sums) / len(sums)


def _random_flips(units: Sequence[int], extreme: int, resamples: int, rng: random.Random) -> float:
    """Flip the signs of all resamples at once: bit r of every long integer here belongs to resample r."""
    total = sum(units)
    # The sums in binary: one column per weight, with at most two digits that are not yet added.
    columns: list[list[int]] = [[] for _ in range(total.bit_length() + 1)]
    for unit in units:
        positive = rng.getrandbits(resamples)
        for weight in range(unit.bit_length()):
            if unit >> weight & 1:
                _carry(columns, weight, positive)
    sums = []
    for weight, column in enumerate(columns):
        if len(column) == 2:
            _carry(columns, weight, 0)
        sums.append(column[0] if column else 0)
    # The sum of the positive ones is p, of all of them 2 p - total.
    above = _at_least(sums, (total + extreme + 1) // 2, resamples)
    not_below = _at_least(sums, (total - extreme) // 2 + 1, resamples)
    hits = above + resamples - not_below if extreme > 0 else resamples
    return (hits + 1) / (resamples + 1)


def _carry(columns: Sequence[list[int]], weight: int, digits: int) -> None:
    """Add binary digits of one weight; three of them become one digit and a carry."""
    while True:
        column = columns[weight]
        column.append(digits)
        if len(column) < 3:
            return
        a, b, c = column
        half = a ^ b
        column[:] = (half ^ c,)
        digits, weight = a & b | half & c, weight + 1


def _at_least(sums: Sequence[int], bound: int, resamples: int) -> int:
    """Return how many resamples have a sum of at least `bound`; `sums` has their binary digits, lowest first."""
    above, equal = 0, (1 << resamples) - 1
    for weight in reversed(range(len(sums))):
        if bound >> weight & 1:
            equal &= sums[weight]
        else:
            above |= equal & sums[weight]
            equal ^= equal & sums[weight]
    return (above | equal).bit_count()


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
