"""Distribution functions against SciPy."""

import math
from collections.abc import Callable

import pytest

from mesocosm.stats import distribution

PROBABILITIES = [1e-14, 1e-6, 0.001, 0.025, 0.3, 0.49, 0.61, 0.9, 0.975, 0.9995, 1 - 1e-9]
DEGREES = [0.7, 1, 2, 3.5, 9, 29, 30, 200, 12_345.6, 1e6]


def agrees(ours: float, theirs: float) -> bool:
    return math.isclose(ours, theirs, rel_tol=1e-10, abs_tol=1e-300)


@pytest.mark.parametrize("p", PROBABILITIES)
def test_normal_quantile_agrees_with_scipy(p: float) -> None:
    import scipy.stats

    assert agrees(distribution.normal_quantile(p), scipy.stats.norm.ppf(p))


@pytest.mark.parametrize("z", [-37.0, -8.0, -1.96, 0.0, 0.3, 5.0])
def test_normal_cdf_agrees_with_scipy_into_the_tail(z: float) -> None:
    import scipy.stats

    assert agrees(distribution.normal_cdf(z), scipy.stats.norm.cdf(z))


@pytest.mark.parametrize("df", DEGREES)
@pytest.mark.parametrize("t", [-40.0, -3.1, -0.4, 1e-5, 0.9, 2.2, 12.0])
def test_t_cdf_agrees_with_scipy(t: float, df: float) -> None:
    import scipy.stats

    assert agrees(distribution.t_cdf(t, df), scipy.stats.t.cdf(t, df))


@pytest.mark.parametrize("df", DEGREES)
@pytest.mark.parametrize("p", PROBABILITIES)
def test_t_quantile_agrees_with_scipy(p: float, df: float) -> None:
    import scipy.stats

    assert agrees(distribution.t_quantile(p, df), scipy.stats.t.ppf(p, df))


def test_t_with_infinite_degrees_of_freedom_is_normal() -> None:
    assert distribution.t_cdf(1.2, math.inf) == distribution.normal_cdf(1.2)
    assert distribution.t_quantile(0.9, math.inf) == distribution.normal_quantile(0.9)


def test_t_cdf_reaches_its_ends_at_infinity() -> None:
    assert distribution.t_cdf(-math.inf, 3) == 0
    assert distribution.t_cdf(math.inf, 3) == 1
    assert distribution.t_cdf(1e200, 3) == 1


@pytest.mark.parametrize("df", DEGREES)
@pytest.mark.parametrize("p", PROBABILITIES)
def test_chi_square_quantile_agrees_with_scipy(p: float, df: float) -> None:
    import scipy.stats

    assert agrees(distribution.chi_square_quantile(p, df), scipy.stats.chi2.ppf(p, df))


@pytest.mark.parametrize("n", [1, 2, 9, 50, 3_000, 1_000_000])
@pytest.mark.parametrize("p", [0.0, 1e-4, 0.2, 0.5, 0.97, 1.0])
def test_binomial_agrees_with_scipy_around_its_mean(n: int, p: float) -> None:
    import scipy.stats

    spread = math.sqrt(n * p * (1 - p))
    for step in (-4, -1, 0, 1, 4):
        k = min(n, max(0, round(n * p + step * spread)))
        assert agrees(distribution.binomial_pmf(k, n, p), scipy.stats.binom.pmf(k, n, p))
        assert agrees(distribution.binomial_cdf(k, n, p), scipy.stats.binom.cdf(k, n, p))


def test_binomial_is_certain_outside_its_range() -> None:
    assert distribution.binomial_pmf(-1, 5, 0.5) == distribution.binomial_pmf(6, 5, 0.5) == 0
    assert distribution.binomial_cdf(-1, 5, 0.5) == 0
    assert distribution.binomial_cdf(5, 5, 0.5) == 1


@pytest.mark.parametrize(("a", "b"), [(0.01, 5.0), (0.5, 0.5), (1.0, 3.0), (40.0, 7.5), (1e5, 2e5)])
@pytest.mark.parametrize("x", [0.0, 1e-9, 0.1, 0.3333, 0.6, 0.999, 1.0])
def test_beta_cdf_agrees_with_scipy(x: float, a: float, b: float) -> None:
    import scipy.stats

    assert agrees(distribution._beta(x, 1 - x, a, b), scipy.stats.beta.cdf(x, a, b))


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, math.nan])
@pytest.mark.parametrize(
    "quantile",
    [
        distribution.normal_quantile,
        lambda p: distribution.t_quantile(p, 3),
        lambda p: distribution.chi_square_quantile(p, 3),
    ],
)
def test_a_probability_without_finite_quantile_is_refused(quantile: Callable[[float], float], p: float) -> None:
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        quantile(p)


@pytest.mark.parametrize("df", [0.0, -1.0, math.nan])
def test_impossible_degrees_of_freedom_are_refused(df: float) -> None:
    with pytest.raises(ValueError, match="df is"):
        distribution.t_cdf(1.0, df)
    with pytest.raises(ValueError, match="df is"):
        distribution.chi_square_quantile(0.5, df)


def test_a_thousand_million_trials_still_have_a_binomial_tail() -> None:
    import scipy.stats

    assert distribution.binomial_cdf(500_010_000, 10**9, 0.5) == pytest.approx(
        scipy.stats.binom.cdf(500_010_000, 10**9, 0.5), rel=1e-8
    )


def test_arguments_beyond_reach_fail_aloud() -> None:
    with pytest.raises(ArithmeticError, match="incomplete beta function did not converge"):
        distribution._beta(0.5, 0.5, 1e15, 1e15)
    with pytest.raises(ArithmeticError, match="incomplete gamma function did not converge"):
        distribution._gamma_tails(1e15 + 2, 1e15)
