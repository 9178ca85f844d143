"""Distribution functions and quantiles: normal, Student, chi-square, binomial, beta and gamma.

Implemented here because the standard library has only the normal distribution, and SciPy is too heavy for a command
line. Densities use the saddle-point form of Loader, "Fast and accurate computation of binomial probabilities" (2000),
which stays accurate for millions of trials, unlike differences of log-gamma values.
"""

import math
from collections.abc import Callable
from functools import lru_cache

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
# Enough for 10^9 trials: a continued fraction needs about the square root of that.
_MAX_TERMS = 100_000


def normal_cdf(z: float) -> float:
    """Return P(Z <= z) for a standard normal Z."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


def normal_quantile(p: float) -> float:
    """Return z with P(Z <= z) = p, to machine precision. Raise ValueError unless 0 < p < 1.

    Start: Abramowitz & Stegun 26.2.23 (error below 5e-4), then three Halley steps.
    """
    _check_probability(p)
    if p > 0.5:
        return -normal_quantile(1 - p)
    t = math.sqrt(-2 * math.log(p))
    top = (0.010328 * t + 0.802853) * t + 2.515517
    bottom = ((0.001308 * t + 0.189269) * t + 1.432788) * t + 1
    z = top / bottom - t
    for _ in range(3):
        step = (normal_cdf(z) - p) / math.exp(-0.5 * z * z - _HALF_LOG_TWO_PI)
        z -= step / (1 + 0.5 * z * step)
    return z


def t_cdf(t: float, df: float) -> float:
    """Return P(T <= t) for Student's t with `df` degrees of freedom, which may be infinite.

    Raise ValueError unless df > 0.
    """
    _check_positive("df", df)
    if math.isinf(df):
        return normal_cdf(t)
    if math.isinf(t):
        return 1.0 if t > 0 else 0.0
    ratio = t / math.sqrt(df)
    whole = 1 + ratio * ratio
    tail = 0.0 if math.isinf(whole) else 0.5 * _beta(1 / whole, ratio * ratio / whole, df / 2, 0.5)
    return 1 - tail if t > 0 else tail


@lru_cache(maxsize=1024)
def t_quantile(p: float, df: float) -> float:
    """Return t with P(T <= t) = p for `df` degrees of freedom, which may be infinite.

    Raise ValueError unless 0 < p < 1 and df > 0.
    """
    _check_probability(p)
    _check_positive("df", df)
    if math.isinf(df):
        return normal_quantile(p)
    if p > 0.5:
        return -t_quantile(1 - p, df)
    return 0.0 if p == 0.5 else -_solve(lambda t: t_cdf(-t, df), p)


def chi_square_quantile(p: float, df: float) -> float:
    """Return x with P(X <= x) = p for chi-square with `df` degrees of freedom.

    Raise ValueError unless 0 < p < 1 and df > 0.
    """
    _check_probability(p)
    _check_positive("df", df)
    if p < 0.5:
        return 1 / _solve(lambda inverse: _gamma_tails(0.5 / inverse, df / 2)[0], p)
    return _solve(lambda x: _gamma_tails(x / 2, df / 2)[1], 1 - p)


def binomial_pmf(k: int, n: int, p: float) -> float:
    """Return the probability of exactly `k` successes in `n` trials with success probability `p`."""
    if not 0 <= k <= n:
        return 0.0
    return _binomial_density(k, n - k, p, 1 - p)


def binomial_cdf(k: int, n: int, p: float) -> float:
    """Return the probability of at most `k` successes in `n` trials with success probability `p`."""
    if k < 0:
        return 0.0
    return 1.0 if k >= n else _beta(1 - p, p, n - k, k + 1)


def _gamma_tails(x: float, a: float) -> tuple[float, float]:
    """Return P(X <= x) and P(X > x) for a gamma variable of shape `a` and scale 1.

    The smaller one is computed directly and keeps its precision: by a series below a + 1, by a continued fraction above
    (DLMF 8.7.1, 8.9.2).
    """
    if x <= 0 or math.isinf(x):
        return (0.0, 1.0) if x <= 0 else (1.0, 0.0)
    density = math.exp(-_stirling_error(a) - _deviance(a, x)) / math.sqrt(2 * math.pi * a)
    if x >= a + 1:
        upper = density * a * _gamma_fraction(x, a)
        return 1 - upper, upper
    total = term = 1.0
    step = a
    while term > total * 1e-17:
        step += 1
        term *= x / step
        total += term
    return density * total, 1 - density * total


def _gamma_fraction(x: float, a: float) -> float:
    shift = x + 1 - a
    c, d = math.inf, 1 / shift
    value = d
    for i in range(1, _MAX_TERMS):
        numerator = -i * (i - a)
        shift += 2
        d = 1 / _nonzero(numerator * d + shift)
        c = _nonzero(shift + numerator / c)
        value *= d * c
        if abs(d * c - 1) < 1e-15:
            return value
    raise ArithmeticError(f"the incomplete gamma function did not converge at x={x}, a={a}")


def _beta(x: float, y: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta at x; y = 1 - x is passed too, so that neither end loses precision."""
    if x <= 0 or y <= 0:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_below(y, x, b, a)
    return _beta_below(x, y, a, b)


def _beta_below(x: float, y: float, a: float, b: float) -> float:
    density = _binomial_density(a, b, x, y)
    return density * b / (a + b) * _beta_fraction(x, a, b) if density else 0.0


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction DLMF 8.17.22, evaluated by the modified Lentz method."""
    c, d = 1.0, 1 / _nonzero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / _nonzero(1 + even * d)
        c = _nonzero(1 + even / c)
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / _nonzero(1 + odd * d)
        c = _nonzero(1 + odd / c)
        value *= d * c
        if abs(d * c - 1) < 1e-15:
            return value
    raise ArithmeticError(f"the incomplete beta function did not converge at x={x}, a={a}, b={b}")


def _nonzero(x: float) -> float:
    return x if abs(x) > 1e-300 else 1e-300


def _binomial_density(a: float, b: float, p: float, q: float) -> float:
    """Return C(a+b, a) p^a q^b in Loader's form for real a, b >= 0 and q = 1 - p."""
    n = a + b
    if a == 0 or b == 0:
        return _power(q, n) if a == 0 else _power(p, n)
    if p <= 0 or q <= 0:
        return 0.0
    exponent = _stirling_error(n) - _stirling_error(a) - _stirling_error(b)
    exponent -= _deviance(a, n * p) + _deviance(b, n * q)
    return math.exp(exponent) * math.sqrt(n / (2 * math.pi * a * b))


def _power(base: float, exponent: float) -> float:
    return math.exp(exponent * math.log(base)) if base > 0 else float(exponent == 0)


def _stirling_error(n: float) -> float:
    """Return log Γ(n+1) minus its Stirling approximation."""
    if n <= 15:
        return math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - _HALF_LOG_TWO_PI
    s = 1 / (n * n)
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - s / 1188) * s) * s) * s) / n


def _deviance(x: float, mean: float) -> float:
    """Return x log(x / mean) + mean - x, without cancellation if both are close."""
    gap = x - mean
    if abs(gap) >= 0.1 * (x + mean):
        return x * math.log(x / mean) - gap
    v = gap / (x + mean)
    total, term, j = gap * v, 2 * x * v, 1
    while True:
        term *= v * v
        larger = total + term / (2 * j + 1)
        if larger == total:
            return total
        total, j = larger, j + 1


def _solve(decreasing: Callable[[float], float], target: float) -> float:
    """Return x > 0 at which a decreasing function has the value `target`, to about machine precision."""
    low, high = 0.0, 1.0
    while decreasing(high) > target and high < 1e300:
        low, high = high, high * 2
    while low < (middle := (low + high) / 2) < high and high - low > 1e-15 * high:
        if decreasing(middle) > target:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _check_probability(p: float) -> None:
    if not 0 < p < 1:
        raise ValueError(f"a probability of {p} has no finite quantile; give one strictly between 0 and 1")


def _check_positive(name: str, value: float) -> None:
    if not value > 0:
        raise ValueError(f"{name} is {value}; it must be greater than 0")
