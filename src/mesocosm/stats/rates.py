"""Differences of two pass rates: score intervals, and exact unconditional tests with the same statistic.

A conditional test (McNemar's and Fisher's exact ones) rejects true null hypotheses in 0 to 3.5 % of all comparisons
where it says 5, as few tables are left once the number of passes is fixed. An unconditional test takes the largest p
value over all rates that both runs may share: its error is 5 % at most, and seldom far below. `perf/coverage.py` shows
it.
"""

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import accumulate

from mesocosm.stats.distribution import binomial_pmf, normal_cdf
from mesocosm.stats.interval import Interval, Method, critical_value
from mesocosm.stats.significance import Significance

_FEW, _SMALL = 5, 10
"""An interval is weak with fewer flips, or passes or failures; or with fewer tasks."""
_EXPECTED = 400
"""Maximum expected number of passes at the rates that are searched; with more, p is that of the normal distribution."""
_STEP = 0.2
"""Distance between the rates that are searched, in standard deviations of the number of passes."""
_SPREAD = 8
_ROUNDING = 1e-9


def mcnemar(only_a: int, only_b: int, n: int) -> Significance:
    """Return McNemar's test of `n` tasks, from the numbers of those that only one of two runs passed; unconditional.

    The statistic is |only_a - only_b| / √(only_a + only_b); p is its largest chance over all shares of tasks that only
    one run passes (Suissa & Shuster 1991, Biometrics 47:361). Raise ValueError for impossible numbers.
    """
    if min(only_a, only_b) < 0 or only_a + only_b > n:
        raise ValueError(f"{only_a} and {only_b} of {n} tasks are impossible; give numbers >= 0 with a sum <= n")
    if only_a == only_b:
        return Significance(1.0, "mcnemar exact")
    return Significance(_flips_beyond(abs(only_a - only_b) / math.sqrt(only_a + only_b), n), "mcnemar exact")


@lru_cache(maxsize=1024)
def critical_flips(n: int, level: float) -> float:
    """Return the statistic from which on `mcnemar` of n tasks rejects: a number that none reaches if it never does."""
    low, high = 0.5, math.sqrt(n) + 1
    while high - low > 1e-6:
        middle = (low + high) / 2
        if _flips_beyond(middle, n) <= 1 - level:
            high = middle
        else:
            low = middle
    return high


@lru_cache(maxsize=4096)
def _flips_beyond(statistic: float, n: int) -> float:
    end = min(1.0, _EXPECTED / n)
    most = _most(n, end)
    tails = _sign_tails(statistic, most)

    def beyond(rate: float) -> float:
        return math.fsum(chance * tails[flips] for flips, chance in _binomial(n, rate, most))

    return _largest(beyond, end, n, 0.0 if end == 1 else 2 * normal_cdf(-statistic))


def _sign_tails(statistic: float, most: int) -> list[float]:
    """Return for 0 to `most` flips the chance that their directions differ by `statistic` · √flips or more."""
    tails = [0.0]
    below, chance, last = 0.0, 0.0, -1  # P(X <= last), P(X = last) of X flips in one direction
    for flips in range(1, most + 1):
        # The same bound with one more flip: half of X = last moves above it.
        if last >= 0:
            below -= chance / 2
            chance *= flips / (2 * (flips - last))
        bound = math.floor((flips - statistic * math.sqrt(flips)) / 2 + _ROUNDING)
        while last < bound:
            chance = math.ldexp(1.0, -flips) if last < 0 else chance * (flips - last) / (last + 1)
            last += 1
            below += chance
        tails.append(min(2 * below, 1.0) if statistic else 1.0)
    return tails


def barnard(passes_a: int, n_a: int, passes_b: int, n_b: int) -> Significance:
    """Return Barnard's test of two independent pass rates.

    The statistic is the difference over its error with the pooled rate; p is its largest chance over all rates that
    both may share (Barnard 1947, Biometrika 34:123; Suissa & Shuster 1985, J. Royal Statist. Soc. A 148:317). Raise
    ValueError for impossible counts.
    """
    check_counts(passes_a, n_a, passes_b, n_b)
    if n_a > n_b:
        passes_a, n_a, passes_b, n_b = passes_b, n_b, passes_a, n_a
    statistic = abs(_pooled(passes_a, n_a, passes_b, n_b))
    if statistic < _ROUNDING:
        return Significance(1.0, "barnard exact")
    return Significance(_passes_beyond(statistic, n_a, n_b), "barnard exact")


def check_counts(passes_a: int, n_a: int, passes_b: int, n_b: int) -> None:
    """Raise ValueError unless both runs can have passed so many of n >= 1 tasks."""
    if not (0 <= passes_a <= n_a and 0 <= passes_b <= n_b and n_a and n_b):
        raise ValueError(
            f"{passes_a} of {n_a} and {passes_b} of {n_b} passes are impossible; give 0 <= passes <= n >= 1"
        )


def _pooled(passes_a: int, n_a: int, passes_b: int, n_b: int) -> float:
    """Return the standardised difference of two rates, 0 if all tasks or none passed."""
    passes, n = passes_a + passes_b, n_a + n_b
    variance = passes * (n - passes) * (1 / n_a + 1 / n_b)
    return (passes_a / n_a - passes_b / n_b) * n / math.sqrt(variance) if variance else 0.0


@lru_cache(maxsize=1024)
def _passes_beyond(statistic: float, n_a: int, n_b: int) -> float:
    end = min(0.5, _EXPECTED / n_a)
    most_a, most_b = _most(n_a, end), _most(n_b, end)
    low, high = _rejected(statistic - _ROUNDING, n_a, most_a, n_b, most_b)

    def chance(rate: float) -> float:
        others = list(_binomial(n_b, rate, most_b))
        first, last = others[0][0], others[-1][0]
        up = list(accumulate(share for _, share in others))
        down = list(accumulate(share for _, share in reversed(others)))

        def beyond(a: int) -> float:
            below = 0.0 if low[a] < first else up[min(low[a], last) - first]
            return below + (0.0 if high[a] > last else down[last - max(high[a], first)])

        return math.fsum(share * beyond(a) for a, share in _binomial(n_a, rate, most_a))

    return _largest(chance, end, n_a + n_b, 0.0 if end == 0.5 else 2 * normal_cdf(-statistic))


def _rejected(statistic: float, n_a: int, most_a: int, n_b: int, most_b: int) -> tuple[list[int], list[int]]:
    """Return for each number of passes of a the largest one of b that is too few, and the smallest that is too many."""
    low, high = [], []
    few, many = -1, 0
    for a in range(most_a + 1):
        while few < most_b and (few + 1) * n_a < a * n_b and _pooled(a, n_a, few + 1, n_b) >= statistic:
            few += 1
        while many <= most_b and (many * n_a <= a * n_b or -_pooled(a, n_a, many, n_b) < statistic):
            many += 1
        low.append(few)
        high.append(many)
    return low, high


def _most(n: int, rate: float) -> int:
    """Return the largest number of passes of n tasks that has a chance at this rate."""
    return min(n, math.ceil(n * rate + _SPREAD * math.sqrt(n * rate)) + _SPREAD)


def _largest(chance: Callable[[float], float], end: float, n: int, least: float) -> float:
    """Return the largest chance over the rates up to `end` of a count of n, or `least` if that is larger."""
    angle = math.asin(math.sqrt(end))
    steps = math.ceil(2 * angle * math.sqrt(n) / _STEP)
    return min(1.0, max(least, *(chance(math.sin(angle * i / steps) ** 2) for i in range(1, steps + 1))))


def _binomial(n: int, rate: float, most: int) -> Iterator[tuple[int, float]]:
    """Yield the numbers of passes up to `most` with their chances, without those beyond eight standard deviations."""
    if rate >= 1:
        yield n, 1.0
        return
    spread = _SPREAD * math.sqrt(n * rate * (1 - rate)) + _SPREAD
    first, last = max(0, math.ceil(n * rate - spread)), min(most, math.floor(n * rate + spread))
    chance = binomial_pmf(first, n, rate)
    odds = rate / (1 - rate)
    for passes in range(first, last + 1):
        yield passes, chance
        chance *= odds * (n - passes) / (passes + 1)


def paired_rate_difference(both: int, only_a: int, only_b: int, neither: int, level: float = 0.95) -> Interval:
    """Return the interval of the difference of two paired pass rates, from the numbers of tasks in each cell.

    The differences that a score test does not reject (Tango 1998, Statist. Med. 17:891). Raise ValueError for no tasks
    or negative numbers.
    """
    n = both + only_a + only_b + neither
    if min(both, only_a, only_b, neither) < 0 or n == 0:
        raise ValueError(f"{(both, only_a, only_b, neither)} tasks are impossible; give numbers >= 0 with a sum >= 1")

    def score(difference: float) -> float:
        more, fewer = (only_a, only_b) if difference >= 0 else (only_b, only_a)
        size = abs(difference)
        linear = only_a + only_b - (2 * n - more + fewer) * size
        # The most likely share of tasks that only the worse run passes.
        share = (linear + math.sqrt(linear**2 + 8 * n * fewer * size * (1 - size))) / (4 * n)
        return _standardised(only_a - only_b - n * difference, n * (2 * share + size * (1 - size)))

    return _inverted(score, (only_a - only_b) / n, n, "tango", level, weak=only_a + only_b < _FEW or n < _SMALL)


def rate_difference(passes_a: int, n_a: int, passes_b: int, n_b: int, level: float = 0.95) -> Interval:
    """Return the interval of the difference of two independent pass rates; `n` of the result is n_a + n_b.

    The differences that a score test does not reject (Miettinen & Nurminen 1985, Statist. Med. 4:213). Raise ValueError
    for impossible counts.
    """
    check_counts(passes_a, n_a, passes_b, n_b)
    n, observed = n_a + n_b, passes_a / n_a - passes_b / n_b

    def score(difference: float) -> float:
        a = _most_likely(difference, passes_a / n_a, passes_b / n_b, n_b / n_a)
        b = min(max(a - difference, 0.0), 1.0)
        variance = (a * (1 - a) / n_a + b * (1 - b) / n_b) * n / (n - 1)
        return _standardised(observed - difference, variance)

    fewest = min(passes_a + passes_b, n - passes_a - passes_b)
    return _inverted(score, observed, n, "miettinen-nurminen", level, weak=fewest < _FEW or min(n_a, n_b) < _SMALL)


def _most_likely(difference: float, rate_a: float, rate_b: float, ratio: float) -> float:
    """Return the most likely rate of a if it is larger by `difference`; `ratio` is n_b / n_a.

    The root of a cubic equation (Farrington & Manning 1990, Statist. Med. 9:1447).
    """
    third = 3 * (1 + ratio)
    square = -(1 + ratio + rate_a + ratio * rate_b + difference * (ratio + 2)) / third
    linear = (difference**2 + difference * (2 * rate_a + ratio + 1) + rate_a + ratio * rate_b) / third
    constant = -rate_a * difference * (1 + difference) / third
    offset = square**3 - 1.5 * square * linear + 1.5 * constant
    radius = math.copysign(math.sqrt(max(square**2 - linear, 0.0)), offset)
    turn = math.acos(min(max(offset / radius**3, -1.0), 1.0)) if radius else 0.0
    root = 2 * radius * math.cos((math.pi + turn) / 3) - square
    return min(max(root, difference, 0.0), 1.0, 1 + difference)


def _standardised(distance: float, variance: float) -> float:
    if variance <= 0:
        return math.copysign(math.inf, distance) if distance else 0.0
    return distance / math.sqrt(variance)


def _inverted(
    score: Callable[[float], float], value: float, n: int, method: Method, level: float, *, weak: bool
) -> Interval:
    """Return the differences around `value` whose score is within the critical value; scores fall as they grow."""
    critical = critical_value(level)
    ends = []
    for end, sign in ((-1.0, 1), (1.0, -1)):
        inside, outside = value, end
        if sign * score(end) <= critical:
            inside = end
        while abs(outside - inside) > 1e-12:
            middle = (inside + outside) / 2
            if sign * score(middle) <= critical:
                inside = middle
            else:
                outside = middle
        ends.append(inside)
    return Interval(value, min(ends[0], value), max(ends[1], value), n, method, level, weak)
