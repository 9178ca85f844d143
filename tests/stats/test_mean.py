"""Intervals of means against statsmodels' and SciPy's parts, published formulas, and what must always hold."""

import itertools
import math
import random
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.stats import clustered, mean_interval, proportion_clustered, wilson
from mesocosm.stats.mean import mean_of_clusters

LEVELS = st.floats(0.01, 0.999)
SHARES = st.lists(st.floats(0, 1), min_size=2, max_size=40)
TRIALS = st.integers(1, 6).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


@pytest.mark.parametrize("n", [2, 3, 12, 29, 30, 500])
def test_without_skewness_it_is_the_t_interval_of_scipy(n: int) -> None:
    import scipy.stats

    rng = random.Random(n)
    half = [rng.gauss(0, 3) for _ in range(n // 2)]
    values = [5 + x for x in half] + [5 - x for x in half] + [5.0] * (n % 2)
    ours = mean_interval(values, 0.9)
    theirs = scipy.stats.t.interval(0.9, n - 1, loc=statistics.fmean(values), scale=scipy.stats.sem(values))
    assert (ours.low, ours.high) == pytest.approx(theirs, rel=1e-9)
    assert (ours.n, ours.method) == (n, "hall")


def test_one_value_says_nothing_about_the_mean() -> None:
    interval = mean_interval([0.7])
    assert (interval.value, interval.low, interval.high) == (0.7, -math.inf, math.inf)
    assert not interval.bounded
    assert not interval.excludes(1e300)


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40), LEVELS, LEVELS)
def test_an_interval_of_a_mean_contains_it_and_widens_with_the_level(
    values: list[float], one: float, other: float
) -> None:
    narrow, wide = mean_interval(values, min(one, other)), mean_interval(values, max(one, other))
    assert wide.low <= narrow.low <= narrow.value <= narrow.high <= wide.high


def test_skewness_is_removed_as_hall_does() -> None:
    """The ends solve T(u) = q with T(u) = u + g u^2 / 3 + g^2 u^3 / 27 + g / (6 n), Hall 1992, equation 2.2."""
    import scipy.stats

    rng = random.Random(1)
    values = [rng.expovariate(1) for _ in range(25)]
    mean, sd, n = statistics.fmean(values), statistics.stdev(values), len(values)
    skewness = float(scipy.stats.skew(values))
    quantile = scipy.stats.t.ppf(0.975, n - 1) / math.sqrt(n)
    ours = mean_interval(values)
    for end, q in ((ours.low, quantile), (ours.high, -quantile)):
        u = (mean - end) / sd
        assert u + skewness * u**2 / 3 + skewness**2 * u**3 / 27 + skewness / (6 * n) == pytest.approx(q, rel=1e-9)
    assert ours.high - mean > mean - ours.low


def test_the_mirror_of_values_has_the_mirror_of_the_interval() -> None:
    rng = random.Random(2)
    values = [rng.lognormvariate(0, 1) for _ in range(30)]
    ours, mirrored = mean_interval(values), mean_interval([-x for x in values])
    assert (ours.low, ours.high) == pytest.approx((-mirrored.high, -mirrored.low))


def test_values_that_do_not_vary_have_no_interval_without_bounds() -> None:
    found = mean_interval([37.5] * 20)
    assert (found.value, found.low, found.high, found.method) == (37.5, -math.inf, math.inf, "none")


def test_values_that_do_not_vary_may_within_their_bounds() -> None:
    found = mean_interval([0.1] * 20, bounds=(0, 1))
    assert 0 < found.low < 0.1 < found.high < 0.4
    assert found.weak


def test_a_bounded_mean_that_few_values_carry_counts_what_was_not_seen() -> None:
    values = [1.0] * 48 + [0.6, 0.2]
    found = mean_interval(values, bounds=(0, 1))
    assert (found.method, found.weak) == ("effective wilson", True)
    margin = 2.01 * statistics.stdev(values) / math.sqrt(50)
    assert found.low < found.value - margin < found.value < found.high < 1


def test_bounds_of_another_scale_give_the_same_interval() -> None:
    values = [0.0] * 40 + [0.5, 0.25, 1.0]
    share = mean_interval(values, bounds=(0, 1))
    points = mean_interval([50 + 20 * x for x in values], bounds=(50, 70))
    assert (points.low, points.high) == pytest.approx((50 + 20 * share.low, 50 + 20 * share.high))


def test_zeros_and_ones_within_bounds_have_nearly_wilsons_interval() -> None:
    found, exact = mean_interval([1.0] * 2 + [0.0] * 198, bounds=(0, 1)), wilson(2, 200)
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=2e-3)


@pytest.mark.parametrize("n", [9, 10])
def test_fewer_than_ten_values_are_weak(n: int) -> None:
    assert mean_interval([float(i) for i in range(n)]).weak == (n < 10)


def test_a_mean_that_one_value_carries_is_weak() -> None:
    rng = random.Random(3)
    assert not mean_interval([rng.gauss(0, 1) for _ in range(100)]).weak
    assert mean_interval([*(rng.gauss(0, 1) for _ in range(100)), 100.0]).weak


@settings(deadline=None)
@given(SHARES, LEVELS)
def test_an_interval_contains_the_mean_and_stays_within_bounds(values: list[float], level: float) -> None:
    found = mean_interval(values, level, bounds=(0, 1))
    assert -1e-12 <= found.low <= found.value + 1e-12
    assert found.value <= found.high + 1e-12 <= 1 + 2e-12


@settings(deadline=None)
@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=20))
def test_values_of_any_size_have_an_interval_around_their_mean(values: list[float]) -> None:
    found = mean_interval(values)
    assert found.low <= found.value <= found.high


@settings(deadline=None)
@given(st.integers(2, 29), st.integers(2, 5), st.integers())
def test_clusters_of_equal_size_give_the_interval_of_their_means(clusters: int, size: int, seed: int) -> None:
    rng = random.Random(seed)
    values = [[rng.gauss(0, 1) for _ in range(size)] for _ in range(clusters)]
    ours, means = clustered(values), mean_interval([statistics.fmean(v) for v in values])
    assert (ours.value, ours.low, ours.high) == pytest.approx((means.value, means.low, means.high), abs=1e-9)
    assert (ours.n, ours.method) == (clusters * size, "clustered")


def test_clusters_of_different_size_have_the_error_cr2_and_satterthwaites_degrees_of_freedom() -> None:
    """Against the matrices of Pustejovsky & Tipton 2018, written out for a regression on a constant."""
    import scipy.stats

    values = [[1.0, 2.0], [4.0], [0.0, 1.0, 5.0], [2.0, 2.0], [3.0]]
    flat = np.concatenate([np.array(v) for v in values])
    n = len(flat)
    hat = np.full((n, n), 1 / n)
    ends = np.cumsum([0, *map(len, values)])
    vectors, variance = [], 0.0
    for first, last in itertools.pairwise(ends):
        size = last - first
        block = np.eye(size) - hat[first:last, first:last]
        root = np.linalg.inv(scipy.linalg.sqrtm(block)).real
        weights = root @ np.ones(size) / n
        variance += float(weights @ (flat[first:last] - flat.mean())) ** 2
        vectors.append((np.eye(n) - hat)[:, first:last] @ weights)
    gram = np.array([[a @ b for b in vectors] for a in vectors])
    df = np.trace(gram) ** 2 / (gram**2).sum()
    margin = scipy.stats.t.ppf(0.975, df) * math.sqrt(variance)
    ours = clustered(values)
    assert (ours.value, ours.low, ours.high) == pytest.approx((flat.mean(), flat.mean() - margin, flat.mean() + margin))


def test_repeating_every_trial_does_not_narrow_a_clustered_interval() -> None:
    once = clustered([[1.0], [2.0], [4.0], [7.0]])
    often = clustered([[1.0] * 50, [2.0] * 50, [4.0] * 50, [7.0] * 50])
    assert (often.low, often.high) == pytest.approx((once.low, once.high))


def test_one_cluster_says_nothing_about_the_mean() -> None:
    interval = clustered([[1.0, 2.0, 3.0]])
    assert (interval.value, interval.low, interval.high, interval.n) == (2.0, -math.inf, math.inf, 3)


def test_few_clusters_that_outweigh_the_others_are_weak() -> None:
    rng = random.Random(4)
    even = mean_of_clusters([rng.gauss(0, 1) for _ in range(40)], [4] * 40)
    uneven = mean_of_clusters([rng.gauss(0, 1) for _ in range(40)], [100] * 3 + [1] * 37)
    assert (even.weak, uneven.weak) == (False, True)


def test_clusters_without_values_are_refused() -> None:
    with pytest.raises(ValueError, match="no value"):
        clustered([[1.0], []])
    with pytest.raises(ValueError, match="no value"):
        clustered([])


def test_one_trial_per_task_is_an_ordinary_proportion() -> None:
    assert proportion_clustered([(1, 1)] * 7 + [(1, 0)] * 13) == wilson(7, 20)


def test_trials_that_always_agree_count_about_once_per_task() -> None:
    many, once = proportion_clustered([(50, 50)] * 40), wilson(40, 40)
    assert many.low == pytest.approx(once.low, abs=0.01)
    assert (many.high, many.n, many.weak) == (1.0, 2000, True)


@settings(deadline=None)
@given(st.lists(TRIALS, min_size=1, max_size=30), LEVELS)
def test_a_clustered_proportion_contains_the_rate_and_stays_a_share(
    counts: list[tuple[int, int]], level: float
) -> None:
    interval = proportion_clustered(counts, level)
    assert 0 <= interval.low <= interval.value <= interval.high <= 1


def test_one_task_leaves_its_pass_rate_open() -> None:
    interval = proportion_clustered([(4, 1)])
    assert (interval.value, interval.low, interval.high) == (0.25, 0.0, 1.0)


@pytest.mark.parametrize("counts", [[(3, 4)], [(3, -1)], [(0, 0)]])
def test_impossible_trials_are_refused(counts: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="impossible"):
        proportion_clustered(counts)


def test_a_proportion_of_no_tasks_is_refused() -> None:
    with pytest.raises(ValueError, match="no task"):
        proportion_clustered([])


def test_symmetric_values_have_the_t_interval_and_are_weak_if_they_are_skewed() -> None:
    values = [-0.5] * 6 + [0.0] * 2
    found = mean_interval(values, symmetric=True)
    margin = 2.364624 * statistics.stdev(values) / math.sqrt(8)
    assert (found.low, found.high) == pytest.approx((-0.375 - margin, -0.375 + margin), abs=1e-5)
    assert (found.method, found.weak) == ("student", True)


def test_trials_of_huge_values_have_an_interval_although_their_sum_is_no_usable_value() -> None:
    found = clustered([[9e299, 9e299], [8e299, 7e299], [1.0, 2.0]])
    assert found.value == pytest.approx(5.5e299)
    assert found.low < found.value < found.high
