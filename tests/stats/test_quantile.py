"""Exact bootstrap of medians and quantiles: against all resamples, random resamples and SciPy."""

import itertools
import math
import random
import statistics
from array import array
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.stats import bootstrap_clustered, median_clustered, median_interval, quantile_interval

LISTS = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=80)


def every_resample(
    values: Sequence[float], statistic: Callable[[Sequence[float]], float], level: float
) -> tuple[float, float]:
    replicates = sorted(map(statistic, itertools.product(values, repeat=len(values))))
    low, high = ((1 - level) / 2 * len(replicates), (1 + level) / 2 * len(replicates))
    return replicates[math.ceil(low - 1e-9) - 1], replicates[math.ceil(high - 1e-9) - 1]


@pytest.mark.parametrize("n", [5, 6])
@pytest.mark.parametrize("digits", [0, 1, 9])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_the_median_interval_is_that_of_all_resamples(n: int, digits: int, level: float) -> None:
    rng = random.Random(10 * n + digits)
    values = [round(rng.gauss(0, 1), digits) for _ in range(n)]
    ours = median_interval(values, level)
    assert (ours.low, ours.high) == pytest.approx(every_resample(values, statistics.median, level))
    assert ours.value == statistics.median(values)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_fewer_than_five_values_bound_no_median(n: int) -> None:
    found = median_interval([float(i) for i in range(n)])
    assert (found.low, found.high, found.method) == (-math.inf, math.inf, "none")


def test_a_median_of_fewer_than_ten_values_is_weak() -> None:
    assert [median_interval([float(i) for i in range(n)]).weak for n in (5, 9, 10, 30)] == [True, True, False, False]


def test_values_that_cannot_reach_a_quantile_do_not_bound_it() -> None:
    assert not quantile_interval([float(i) for i in range(50)], 0.99).bounded
    assert quantile_interval([float(i) for i in range(400)], 0.99).bounded


@pytest.mark.parametrize("q", [0.25, 0.5, 0.75])
def test_the_quantile_interval_is_that_of_all_resamples(q: float) -> None:
    values = [3.0, -1.0, 4.0, 1.0, 5.5, 9.0]
    ours = quantile_interval(values, q, 0.7)
    by_rank = every_resample(values, lambda draw: sorted(draw)[math.ceil(6 * q) - 1], 0.7)
    assert (ours.low, ours.high) == by_rank
    assert ours.value == sorted(values)[math.ceil(6 * q) - 1]


@pytest.mark.parametrize("n", [100, 101])
def test_the_median_interval_agrees_with_the_random_resamples_of_scipy(n: int) -> None:
    import scipy.stats

    rng = random.Random(n)
    values = [rng.lognormvariate(0, 1) for _ in range(n)]
    theirs = scipy.stats.bootstrap(
        (values,), np.median, method="percentile", n_resamples=20_000, rng=np.random.default_rng(1)
    ).confidence_interval
    ours = median_interval(values)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_a_quantile_interval_of_many_values_has_the_ranks_of_the_binomial_limit() -> None:
    n, q = 100_000, 0.95
    values = array("d", range(n))
    random.Random(1).shuffle(values)
    interval = quantile_interval(values, q)
    spread = 1.96 * math.sqrt(n * q * (1 - q))
    assert interval.value == n * q - 1
    assert interval.low == pytest.approx(interval.value - spread, abs=2)
    assert interval.high == pytest.approx(interval.value + spread, abs=2)


def test_an_even_median_of_many_values_lies_between_those_of_the_odd_neighbours() -> None:
    values = [float(i) for i in range(50_000)]
    random.Random(1).shuffle(values)
    even, odd = median_interval(values), median_interval(values[:-1])
    assert even.value == 24_999.5
    assert (even.low, even.high) == pytest.approx((odd.low, odd.high), abs=2)


@settings(deadline=None)
@given(LISTS, st.floats(0.01, 0.999))
def test_the_median_interval_contains_the_median(values: list[float], level: float) -> None:
    interval = median_interval(values, level)
    assert interval.low <= interval.value <= interval.high
    assert interval.value == pytest.approx(statistics.median(values), rel=1e-12)


@settings(deadline=None)
@given(LISTS, st.floats(0.01, 0.99), st.floats(0.01, 0.999))
def test_the_quantile_interval_contains_the_quantile(values: list[float], q: float, level: float) -> None:
    interval = quantile_interval(values, q, level)
    assert interval.low <= interval.value <= interval.high


@settings(deadline=None)
@given(LISTS, st.floats(0.01, 0.999), st.floats(0.01, 0.999))
def test_the_median_interval_widens_with_the_level(values: list[float], one: float, other: float) -> None:
    narrow, wide = median_interval(values, min(one, other)), median_interval(values, max(one, other))
    assert wide.low <= narrow.low
    assert narrow.high <= wide.high


@settings(deadline=None)
@given(st.lists(st.integers(-1000, 1000), min_size=3, max_size=41).filter(lambda x: len(x) % 2))
def test_the_median_interval_of_negated_values_is_mirrored(values: list[int]) -> None:
    there, back = median_interval(values, 0.9), median_interval([-x for x in values], 0.9)
    assert (there.low, there.high) == (-back.high, -back.low)


def test_equal_values_leave_no_doubt() -> None:
    interval = median_interval([2.0] * 10)
    assert (interval.low, interval.value, interval.high, interval.method) == (2.0, 2.0, 2.0, "exact bootstrap")


def test_one_value_says_nothing_about_a_median() -> None:
    assert not median_interval([3.0]).bounded
    assert not quantile_interval([3.0], 0.9).bounded
    assert not median_clustered([[3.0, 4.0]]).bounded


@pytest.mark.parametrize("percent", [1, 7, 14, 28, 29, 55, 57, 99])
def test_a_whole_percent_of_a_hundred_values_is_that_rank(percent: int) -> None:
    assert quantile_interval(range(1, 101), percent / 100).value == percent


def test_a_quantile_next_to_nothing_is_the_smallest_value() -> None:
    assert quantile_interval([3.0, 1.0, 2.0], 1e-12).value == 1.0


@pytest.mark.parametrize("q", [0.0, 1.0, 95.0, math.nan])
def test_a_quantile_outside_the_open_unit_interval_is_refused(q: float) -> None:
    with pytest.raises(ValueError, match="quantile"):
        quantile_interval([1.0, 2.0], q)


@pytest.mark.parametrize("values", [[], [1.0, math.nan]])
def test_a_median_of_unusable_values_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="value"):
        median_interval(values)
    with pytest.raises(ValueError, match="value"):
        median_clustered([[1.0], values])


def test_no_clusters_are_refused() -> None:
    with pytest.raises(ValueError, match="no value"):
        median_clustered([])


def test_the_clustered_median_agrees_with_the_cluster_bootstrap() -> None:
    rng = random.Random(5)
    centers = [rng.gauss(0, 1) for _ in range(80)]
    clusters = [[rng.gauss(center, 0.5) for _ in range(rng.randint(1, 5))] for center in centers]
    ours = median_clustered(clusters)
    drawn = bootstrap_clustered(clusters, statistics.median, resamples=2_000)
    assert ours.value == drawn.value
    assert (ours.low, ours.high) == pytest.approx((drawn.low, drawn.high), abs=0.08)


def test_repeating_every_trial_narrows_a_clustered_median_by_no_more_than_the_rounding_of_a_rank() -> None:
    rng = random.Random(6)
    values = sorted(rng.gauss(0, 1) for _ in range(51))
    once, often = median_clustered([[x] for x in values]), median_clustered([[x] * 9 for x in values])
    assert often.value == once.value
    assert values.index(often.low) - values.index(once.low) in (0, 1)
    assert values.index(once.high) - values.index(often.high) in (0, 1)


def test_two_clusters_are_too_few_for_a_bounded_median() -> None:
    interval = median_clustered([[1.0, 2.0], [3.0, 4.0]])
    assert (interval.value, interval.low, interval.high) == (2.5, -math.inf, math.inf)
