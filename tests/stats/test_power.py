"""What a comparison can show: against SciPy, simulation and enumeration."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.stats import (
    fewest_pairs,
    mcnemar,
    paired_power,
    pairs_needed,
    samples_needed,
    smallest_difference,
    smallest_difference_unpaired,
    smallest_flip_difference,
    smallest_rate_difference,
)
from mesocosm.stats.power import t_power


def scipy_power(noncentrality: float, df: float, level: float) -> float:
    import scipy.stats

    critical = scipy.stats.t.ppf((1 + level) / 2, df)
    t = scipy.stats.nct(df, noncentrality)
    return float(t.sf(critical) + t.cdf(-critical))


def flip_power(n: int, flips: float, difference: float) -> float:
    import scipy.stats

    share = 0.5 + 0.5 * difference / flips
    return float(
        sum(
            scipy.stats.binom.pmf(m, n, flips) * scipy.stats.binom.pmf(k, m, share)
            for m in range(n + 1)
            for k in range(m + 1)
            if mcnemar(k, m - k, n).p_value <= 0.05
        )
    )


@pytest.mark.parametrize("df", [1, 1.5, 2, 5, 9.7, 29, 400, 99_000])
@pytest.mark.parametrize("noncentrality", [0.3, 2.8, 4.5])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_power_is_that_of_the_noncentral_t_of_scipy(noncentrality: float, df: float, level: float) -> None:
    assert t_power(noncentrality, df, level) == pytest.approx(scipy_power(noncentrality, df, level), abs=1e-8)


@pytest.mark.parametrize("df", [1, 2, 50, 99_999, 100_001, 1e9])
def test_without_a_difference_power_is_the_false_alarm_rate(df: float) -> None:
    assert t_power(0, df) == pytest.approx(0.05, abs=1e-8)


def test_power_is_what_a_simulation_finds() -> None:
    import scipy.stats

    rng = random.Random(1)
    shown = sum(
        scipy.stats.ttest_1samp([rng.gauss(1.0, 1.5) for _ in range(12)], 0).pvalue <= 0.05 for _ in range(1_500)
    )
    assert paired_power(1.0, 1.5, 12) == pytest.approx(shown / 1_500, abs=0.04)


def test_six_pairs_are_the_fewest_that_can_show_anything_at_95_percent() -> None:
    assert fewest_pairs() == 6
    assert mcnemar(6, 0, 6).p_value <= 0.05 < mcnemar(5, 0, 5).p_value
    assert fewest_pairs(0.99) == 8
    assert paired_power(100.0, 1.0, 5) == 0


@pytest.mark.parametrize("n", [6, 20, 50, 3_000])
def test_the_smallest_difference_has_the_power_asked_for(n: int) -> None:
    difference = smallest_difference(2.0, n, power=0.9)
    assert paired_power(difference, 2.0, n) == pytest.approx(0.9, abs=1e-6)


def test_the_smallest_difference_of_many_pairs_is_the_normal_textbook_value() -> None:
    assert smallest_difference(1.0, 10**6) == pytest.approx((1.959964 + 0.841621) / 1_000, rel=1e-5)


def test_five_pairs_show_no_difference_at_all() -> None:
    assert smallest_difference(1.0, 5) == math.inf
    assert smallest_flip_difference(0.1, 5) == math.inf


@pytest.mark.parametrize(("n", "flips"), [(6, 0.0), (20, 0.05), (40, 0.3)])
def test_the_smallest_flip_difference_has_the_exact_power_of_mcnemar(n: int, flips: float) -> None:
    difference = smallest_flip_difference(flips, n)
    assert flip_power(n, max(flips, difference), difference) == pytest.approx(0.8, abs=1e-5)


def test_the_flip_approximation_continues_the_exact_values() -> None:
    exact, normal = smallest_flip_difference(0.2, 400), smallest_flip_difference(0.2, 401)
    assert normal == pytest.approx(exact, rel=0.05)
    assert smallest_flip_difference(0.2, 40_000) == pytest.approx(exact / 10, rel=0.06)


def test_the_smallest_unpaired_difference_has_the_power_of_welch() -> None:
    difference = smallest_difference_unpaired(1.0, 12, 1.0, 12)
    assert scipy_power(difference / math.sqrt(2 / 12), 22, 0.95) == pytest.approx(0.8, abs=1e-6)
    assert smallest_difference_unpaired(1.0, 1, 1.0, 12) == math.inf


def test_the_smallest_rate_difference_needs_the_textbook_number_of_tasks() -> None:
    # Fleiss, Levin & Paik 2003: rates 0.6 and 0.7 need 356 tasks a side at 80 % power without continuity correction.
    assert smallest_rate_difference(0.65, 356, 356) == pytest.approx(0.1, abs=2e-4)


def test_a_rate_at_the_edge_can_still_show_a_difference() -> None:
    assert 0.05 < smallest_rate_difference(0.0, 100, 100) < 0.12
    assert smallest_rate_difference(1.0, 100, 100) == pytest.approx(smallest_rate_difference(0.0, 100, 100), rel=1e-6)


def test_two_tasks_a_side_show_no_rate_difference_at_all() -> None:
    assert smallest_rate_difference(0.5, 2, 3) == math.inf
    assert smallest_rate_difference(0.5, 3, 3) <= 1


@pytest.mark.parametrize("difference", [0.05, 0.5, 3.0])
def test_the_pairs_needed_are_the_fewest_with_enough_power(difference: float) -> None:
    n = pairs_needed(difference, 1.0)
    assert paired_power(difference, 1.0, n) >= 0.8
    assert n == 6 or paired_power(difference, 1.0, n - 1) < 0.8
    assert pairs_needed(-difference, 1.0) == n


def test_the_samples_needed_agree_with_the_textbook() -> None:
    # Cohen 1988: a medium effect of 0.5 needs 64 a side at 80 % power.
    assert samples_needed(0.5, 1.0, 1.0) == 64


@settings(deadline=None, max_examples=30)
@given(st.floats(0, 1), st.integers(6, 60))
def test_more_tasks_show_smaller_flip_differences(flips: float, n: int) -> None:
    assert smallest_flip_difference(flips, n + 30) < smallest_flip_difference(flips, n) + 1e-6


@pytest.mark.parametrize("sd", [0.0, -1.0, math.nan, math.inf])
def test_an_impossible_spread_is_refused(sd: float) -> None:
    with pytest.raises(ValueError, match="standard deviation"):
        smallest_difference(sd, 10)
    with pytest.raises(ValueError, match="standard deviation"):
        pairs_needed(1.0, sd)


def test_no_number_of_tasks_shows_a_difference_of_nothing() -> None:
    with pytest.raises(ValueError, match="difference of 0"):
        pairs_needed(0.0, 1.0)
    with pytest.raises(ValueError, match="too small"):
        samples_needed(1e-12, 1.0, 1.0)


@pytest.mark.parametrize("power", [0.0, 1.0, 80.0])
def test_an_impossible_power_is_refused(power: float) -> None:
    with pytest.raises(ValueError, match="power"):
        smallest_difference(1.0, 10, power=power)


@pytest.mark.parametrize("rate", [-0.1, 1.1, math.nan])
def test_an_impossible_rate_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="impossible"):
        smallest_flip_difference(rate, 10)
    with pytest.raises(ValueError, match="impossible"):
        smallest_rate_difference(rate, 10, 10)
