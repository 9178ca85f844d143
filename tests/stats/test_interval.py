"""Intervals of proportions and means against SciPy, hand calculation, and what must always hold."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.stats import Interval, wilson
from mesocosm.stats.interval import critical_value

LEVELS = st.floats(0.01, 0.999)
VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)
COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def inside(interval: Interval, slack: float = 0.0) -> bool:
    return interval.low <= interval.value + slack and interval.value <= interval.high + slack


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 20), (20, 20), (7, 20), (286, 1319), (3, 10**6)])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_wilson_agrees_with_scipy(successes: int, n: int, level: float) -> None:
    import scipy.stats

    ours = wilson(successes, n, level)
    theirs = scipy.stats.binomtest(successes, n).proportion_ci(level, method="wilson")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-10, abs=1e-15)
    assert (ours.value, ours.n, ours.method, ours.level) == (successes / n, n, "wilson", level)


@settings(deadline=None)
@given(COUNTS, LEVELS)
def test_wilson_contains_the_rate_and_stays_a_share(counts: tuple[int, int], level: float) -> None:
    interval = wilson(*counts, level)
    assert 0 <= interval.low <= interval.value <= interval.high <= 1
    assert interval.low < interval.high


@settings(deadline=None)
@given(COUNTS)
def test_wilson_of_failures_mirrors_that_of_passes(counts: tuple[int, int]) -> None:
    successes, n = counts
    passes, failures = wilson(successes, n), wilson(n - successes, n)
    assert passes.low == pytest.approx(1 - failures.high, abs=1e-12)
    assert passes.high == pytest.approx(1 - failures.low, abs=1e-12)


@settings(deadline=None)
@given(COUNTS, LEVELS, LEVELS)
def test_wilson_widens_with_the_level(counts: tuple[int, int], one: float, other: float) -> None:
    narrow, wide = wilson(*counts, min(one, other)), wilson(*counts, max(one, other))
    assert wide.low <= narrow.low + 1e-12
    assert narrow.high <= wide.high + 1e-12


@pytest.mark.parametrize(("passes", "n"), [(0, 100), (4, 100), (5, 10), (95, 100), (96, 100)])
def test_a_rate_is_weak_with_fewer_than_five_passes_or_failures(passes: int, n: int) -> None:
    assert wilson(passes, n).weak == (min(passes, n - passes) < 5)


@pytest.mark.parametrize(("successes", "n"), [(-1, 5), (6, 5), (0, 0), (1, -1)])
def test_wilson_refuses_impossible_counts(successes: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{successes} successes of {n} trials"):
        wilson(successes, n)


@pytest.mark.parametrize("df", [1.0, 7.0, math.inf])
def test_critical_values_agree_with_scipy(df: float) -> None:
    import scipy.stats

    theirs = scipy.stats.norm.ppf(0.95) if math.isinf(df) else scipy.stats.t.ppf(0.95, df)
    assert critical_value(0.9, df) == pytest.approx(theirs, rel=1e-10)


def test_an_interval_can_be_scaled_and_cut() -> None:
    interval = Interval(2.0, -1.0, 5.0, 9, "hall")
    assert interval.times(3) == Interval(6.0, -3.0, 15.0, 9, "hall")
    assert interval.clipped(0.0, 4.0) == Interval(2.0, 0.0, 4.0, 9, "hall")


def test_an_interval_excludes_what_lies_outside_its_bounds() -> None:
    interval = Interval(2.0, 1.0, 3.0, 9, "hall")
    assert [interval.excludes(x) for x in (0.9, 1.0, 3.0, 3.1)] == [True, False, False, True]
