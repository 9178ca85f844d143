"""Power of comparisons, the smallest detectable difference, and the number of tasks needed.

Exact for means of normal values (noncentral t), and for McNemar's test of pass or fail up to 400 tasks.
"""

import math
from collections.abc import Callable
from functools import lru_cache

from mesocosm.stats.distribution import (
    binomial_cdf,
    binomial_pmf,
    chi_square_quantile,
    normal_cdf,
    normal_quantile,
)
from mesocosm.stats.interval import critical_value
from mesocosm.stats.moments import check_level
from mesocosm.stats.rates import barnard, critical_flips
from mesocosm.stats.significance import welch_df

_EXACT_TASKS = 400
_SLICES = 600
# With more degrees of freedom, Student's t gives the same power as the normal distribution to six digits.
_NORMAL_DF = 100_000
_MOST_TASKS = 10**12


def fewest_pairs(level: float = 0.95) -> int:
    """Return the smallest number of tasks with which an exact paired test can reject: 6 at 95 %, as 2 / 2^6 < 0.05.

    Raise ValueError unless 0 < level < 1.
    """
    check_level(level)
    n = 1
    while math.ldexp(2.0, -n) > 1 - level:
        n += 1
    return n


def paired_power(difference: float, sd: float, n: int, *, level: float = 0.95) -> float:
    """Return the probability that the t test of n paired differences detects a true mean `difference`.

    `sd` is the standard deviation of the paired differences. 0 below `fewest_pairs` tasks. Raise ValueError unless
    sd > 0.
    """
    _check_spread(sd)
    return t_power(abs(difference) * math.sqrt(n) / sd, n - 1, level) if n >= fewest_pairs(level) else 0.0


def smallest_difference(sd: float, n: int, *, power: float = 0.8, level: float = 0.95) -> float:
    """Return the smallest true mean difference that n pairs detect with probability `power`.

    `sd` is the standard deviation of the paired differences. Infinite below `fewest_pairs` tasks. Raise ValueError
    unless sd > 0 and 0 < power < 1.
    """
    _check_spread(sd)
    if n < fewest_pairs(level):
        return math.inf
    return _noncentrality(n - 1, power, level) * sd / math.sqrt(n)


@lru_cache(maxsize=256)
def smallest_flip_difference(flip_rate: float, n: int, *, power: float = 0.8, level: float = 0.95) -> float:
    """Return the smallest difference of two pass rates that McNemar's test on n tasks detects with chance `power`.

    `flip_rate` is the share of tasks that only one run passes; a larger difference implies more flips, all in one
    direction. Exact up to 400 tasks, above that by the normal approximation of Connor 1987, Biometrics 43:207. Infinite
    if no difference can be detected. Raise ValueError unless 0 <= flip_rate <= 1 and 0 < power < 1.
    """
    if not 0 <= flip_rate <= 1:
        raise ValueError(f"a flip rate of {flip_rate} is impossible; give a share of tasks between 0 and 1")
    chance = _flip_power if n <= _EXACT_TASKS else _flip_power_normal
    return _smallest(lambda d: chance(n, max(flip_rate, d), d, level), power)


def smallest_difference_unpaired(
    sd_a: float, n_a: int, sd_b: float, n_b: int, *, power: float = 0.8, level: float = 0.95
) -> float:
    """Return the smallest true difference of two means that Welch's test detects with probability `power`.

    Infinite with fewer than two values on a side. Raise ValueError unless one standard deviation is > 0 and
    0 < power < 1.
    """
    if min(n_a, n_b) < 2:
        return math.inf
    _check_spread(max(sd_a, sd_b))
    error = math.hypot(sd_a / math.sqrt(n_a), sd_b / math.sqrt(n_b))
    return _noncentrality(welch_df(sd_a, n_a, sd_b, n_b), power, level) * error


def smallest_rate_difference(rate: float, n_a: int, n_b: int, *, power: float = 0.8, level: float = 0.95) -> float:
    """Return the smallest difference of two independent pass rates around `rate` detected with probability `power`.

    Two-sample normal approximation (Fleiss, Levin & Paik 2003, Statistical Methods for Rates and Proportions, 4.2).
    Infinite if Barnard's test cannot even distinguish all passed from none passed. Raise ValueError unless
    0 <= rate <= 1, both runs have tasks, and 0 < power < 1.
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"a pass rate of {rate} is impossible; give a share between 0 and 1")
    if barnard(n_a, n_a, 0, n_b).p_value > 1 - level:
        return math.inf
    return _smallest(lambda d: _rate_power(rate, d, n_a, n_b, level), power)


def pairs_needed(difference: float, sd: float, *, power: float = 0.8, level: float = 0.95) -> int:
    """Return the number of common tasks that detect a true mean `difference` with probability `power`.

    At least `fewest_pairs`. `sd` is the standard deviation of the paired differences; for pass or fail with a share f
    of flipped tasks it is √(f - difference²). Raise ValueError if sd <= 0, difference is 0, or the number is too large.
    """
    _check_effect(difference, sd)
    return _fewest(lambda n: paired_power(difference, sd, n, level=level), fewest_pairs(level), power)


def samples_needed(difference: float, sd_a: float, sd_b: float, *, power: float = 0.8, level: float = 0.95) -> int:
    """Return the number of tasks in each of two unpaired runs that detect a true `difference` of means.

    They detect it with probability `power`. For a pass rate p, sd is √(p(1-p)). Raise ValueError if no sd is > 0,
    difference is 0, or the number is too large.
    """
    _check_effect(difference, max(sd_a, sd_b))
    error = math.hypot(sd_a, sd_b)

    def chance(n: int) -> float:
        return t_power(abs(difference) * math.sqrt(n) / error, welch_df(sd_a, n, sd_b, n), level)

    return _fewest(chance, 2, power)


def t_power(noncentrality: float, df: float, level: float = 0.95) -> float:
    """Return the probability that |T| exceeds its two-sided critical value for a noncentral t variable.

    Mean of the normal power over the distribution of the standard error, by Simpson's rule:
    P(|T| > c) = E[Φ(δ - cS) + Φ(-δ - cS)], S² = χ²/df.
    """
    critical = critical_value(level, df if df <= _NORMAL_DF else math.inf)
    if df > _NORMAL_DF:
        return normal_cdf(noncentrality - critical) + normal_cdf(-noncentrality - critical)
    return math.fsum(
        weight * (normal_cdf(noncentrality - critical * s) + normal_cdf(-noncentrality - critical * s))
        for s, weight in _spread_weights(df)
    )


@lru_cache(maxsize=64)
def _spread_weights(df: float) -> tuple[tuple[float, float], ...]:
    """Return points s = √(χ²/df) and their probabilities, over all but 1e-13 of each tail.

    Simpson's rule in √s, because the density is smooth at 0 in √s for every df >= 1.
    """
    first, last = ((chi_square_quantile(p, df) / df) ** 0.25 for p in (1e-13, 1 - 1e-13))
    roots = [first + (last - first) * i / _SLICES for i in range(_SLICES + 1)]
    rule = [1 if i in (0, _SLICES) else 4 if i % 2 else 2 for i in range(_SLICES + 1)]
    logs = [(2 * df - 1) * math.log(u) - df * u**4 / 2 for u in roots]
    peak = max(logs)
    raw = [factor * math.exp(log - peak) for factor, log in zip(rule, logs, strict=True)]
    total = math.fsum(raw)
    return tuple((u * u, weight / total) for u, weight in zip(roots, raw, strict=True))


@lru_cache(maxsize=256)
def _noncentrality(df: float, power: float, level: float) -> float:
    """Return the number of standard errors that a t test detects with probability `power`."""
    _check_power(power)
    high = 1.0
    while t_power(high, df, level) < power:
        high *= 2
    return high * _smallest(lambda share: t_power(share * high, df, level), power)


def _flip_power(n: int, flip_rate: float, difference: float, level: float) -> float:
    """Return the mean, over the number of flips m, of the probability that a binomial(m, share) is extreme."""
    share = 0.5 + 0.5 * difference / flip_rate if flip_rate else 0.5
    spread = 7 * math.sqrt(n * flip_rate * (1 - flip_rate)) + 1
    first, last = max(1, math.floor(n * flip_rate - spread)), min(n, math.ceil(n * flip_rate + spread))
    critical = critical_flips(n, level)
    total = 0.0
    for m in range(first, last + 1):
        # So many of the flips may be in the opposite direction.
        limit = math.floor((m - critical * math.sqrt(m)) / 2)
        shown = binomial_cdf(limit, m, share) + binomial_cdf(limit, m, 1 - share) if limit >= 0 else 0.0
        total += binomial_pmf(m, n, flip_rate) * shown
    return total


def _flip_power_normal(n: int, flip_rate: float, difference: float, level: float) -> float:
    spread = math.sqrt(max(flip_rate - difference**2, 1e-300))
    z = normal_quantile((1 + level) / 2)
    return normal_cdf((difference * math.sqrt(n) - z * math.sqrt(flip_rate)) / spread)


def _rate_power(rate: float, difference: float, n_a: int, n_b: int, level: float) -> float:
    a = min(1.0, max(difference, rate + difference * n_b / (n_a + n_b)))
    b = a - difference
    pooled = (n_a * a + n_b * b) / (n_a + n_b)
    null = math.sqrt(pooled * (1 - pooled) * (1 / n_a + 1 / n_b))
    spread = math.sqrt(a * (1 - a) / n_a + b * (1 - b) / n_b)
    z = normal_quantile((1 + level) / 2)
    return normal_cdf((difference - z * null) / max(spread, 1e-300))


def _smallest(chance: Callable[[float], float], power: float) -> float:
    """Return the smallest share d in (0, 1] with chance(d) >= power, to seven digits; infinite if there is none."""
    _check_power(power)
    if chance(1.0) < power:
        return math.inf
    low, high = 0.0, 1.0
    while high - low > 1e-7 * high:
        middle = (low + high) / 2
        if chance(middle) < power:
            low = middle
        else:
            high = middle
    return high


def _fewest(chance: Callable[[int], float], least: int, power: float) -> int:
    _check_power(power)
    high = least
    while chance(high) < power:
        if high > _MOST_TASKS:
            raise ValueError("the difference is too small to be shown by any number of tasks; ask for a larger one")
        high *= 2
    low = max(least, high // 2)
    while low < high:
        middle = (low + high) // 2
        if chance(middle) < power:
            low = middle + 1
        else:
            high = middle
    return low


def _check_spread(sd: float) -> None:
    if not 0 < sd < math.inf:
        raise ValueError(f"a standard deviation of {sd} gives no power; values must vary")


def _check_effect(difference: float, sd: float) -> None:
    _check_spread(sd)
    if difference == 0:
        raise ValueError("no number of tasks shows a difference of 0; give the smallest difference that matters")


def _check_power(power: float) -> None:
    if not 0 < power < 1:
        raise ValueError(f"a power of {power} is impossible; give a share between 0 and 1, such as 0.8")
