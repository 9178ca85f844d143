"""Intervals of proportions and means against SciPy, hand calculation, and what must always hold."""

import math
import random
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.stats import Interval, clustered, proportion_clustered, student, wilson
from mesocosm.stats.interval import critical_value

LEVELS = st.floats(0.01, 0.999)
VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)
COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
TRIALS = st.integers(1, 6).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


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


@pytest.mark.parametrize(("successes", "n"), [(-1, 5), (6, 5), (0, 0), (1, -1)])
def test_wilson_refuses_impossible_counts(successes: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{successes} successes of {n} trials"):
        wilson(successes, n)


@pytest.mark.parametrize("n", [2, 3, 12, 29])
def test_a_mean_of_few_values_has_the_t_interval_of_scipy(n: int) -> None:
    import scipy.stats

    rng = random.Random(n)
    values = [rng.gauss(5, 3) for _ in range(n)]
    ours = student(values, 0.9)
    theirs = scipy.stats.t.interval(0.9, n - 1, loc=statistics.fmean(values), scale=scipy.stats.sem(values))
    assert (ours.low, ours.high) == pytest.approx(theirs, rel=1e-10)
    assert (ours.n, ours.method) == (n, "student")


@pytest.mark.parametrize("n", [30, 500])
def test_a_mean_of_thirty_values_or_more_has_the_normal_interval_of_scipy(n: int) -> None:
    import scipy.stats

    rng = random.Random(n)
    values = [rng.expovariate(1) for _ in range(n)]
    ours = student(values)
    theirs = scipy.stats.norm.interval(0.95, loc=statistics.fmean(values), scale=scipy.stats.sem(values))
    assert (ours.low, ours.high) == pytest.approx(theirs, rel=1e-10)
    assert (ours.n, ours.method) == (n, "normal")


@settings(deadline=None)
@given(VALUES, LEVELS)
def test_student_contains_the_mean_and_is_symmetric(values: list[float], level: float) -> None:
    interval = student(values, level)
    assert inside(interval)
    assert interval.value - interval.low == pytest.approx(interval.high - interval.value, rel=1e-6, abs=1e-6)


@settings(deadline=None)
@given(VALUES, LEVELS, LEVELS)
def test_student_widens_with_the_level(values: list[float], one: float, other: float) -> None:
    narrow, wide = student(values, min(one, other)), student(values, max(one, other))
    assert wide.low <= narrow.low
    assert narrow.high <= wide.high


def test_one_value_says_nothing_about_the_mean() -> None:
    interval = student([0.7])
    assert (interval.value, interval.low, interval.high) == (0.7, -math.inf, math.inf)
    assert not interval.bounded
    assert not interval.excludes(1e300)


@settings(deadline=None)
@given(st.integers(2, 29), st.integers(1, 5), st.integers())
def test_clusters_of_equal_size_give_the_t_interval_of_their_means(clusters: int, size: int, seed: int) -> None:
    rng = random.Random(seed)
    values = [[rng.gauss(0, 1) for _ in range(size)] for _ in range(clusters)]
    ours, means = clustered(values), student([statistics.fmean(v) for v in values])
    assert (ours.value, ours.low, ours.high) == pytest.approx((means.value, means.low, means.high), abs=1e-9)
    assert (ours.n, ours.method) == (clusters * size, "clustered")


def test_clusters_of_different_size_have_the_sandwich_error_of_a_regression_on_a_constant() -> None:
    import scipy.stats

    values = [[1.0, 2.0], [4.0], [0.0, 1.0, 5.0], [2.0, 2.0]]
    flat = np.concatenate([np.array(v) for v in values])
    scores = np.array([np.sum(np.array(v) - flat.mean()) for v in values])
    error = math.sqrt(scores @ scores * 4 / 3) / len(flat)
    margin = scipy.stats.t.ppf(0.975, 3) * error
    ours = clustered(values)
    assert (ours.value, ours.low, ours.high) == pytest.approx((flat.mean(), flat.mean() - margin, flat.mean() + margin))


def test_repeating_every_trial_does_not_narrow_a_clustered_interval() -> None:
    once = clustered([[1.0], [2.0], [4.0], [7.0]])
    often = clustered([[1.0] * 50, [2.0] * 50, [4.0] * 50, [7.0] * 50])
    assert (often.low, often.high) == pytest.approx((once.low, once.high))


def test_one_cluster_says_nothing_about_the_mean() -> None:
    interval = clustered([[1.0, 2.0, 3.0]])
    assert (interval.value, interval.low, interval.high, interval.n) == (2.0, -math.inf, math.inf, 3)


def test_clusters_without_values_are_refused() -> None:
    with pytest.raises(ValueError, match="no value"):
        clustered([[1.0], []])
    with pytest.raises(ValueError, match="no value"):
        clustered([])


def test_one_trial_per_task_is_an_ordinary_proportion() -> None:
    assert proportion_clustered([(1, 1)] * 7 + [(1, 0)] * 13) == wilson(7, 20)


def level_of_t(df: int) -> float:
    import scipy.stats

    t = scipy.stats.t.ppf(0.975, df)
    return float(scipy.stats.norm.cdf(t) - scipy.stats.norm.cdf(-t))


def test_trials_that_always_agree_count_once_per_task() -> None:
    many = proportion_clustered([(50, 50)] * 40)
    assert (many.low, many.high) == pytest.approx((wilson(40, 40, level_of_t(39)).low, 1.0))
    assert many.n == 2000


def test_a_clustered_proportion_has_the_wilson_interval_on_the_effective_number_of_trials() -> None:
    import scipy.stats

    counts = [(4, 4), (4, 3), (4, 0), (4, 0), (4, 1), (4, 4), (2, 1), (4, 0)]
    trials, rate = 30, 13 / 30
    squares = sum((c - n * rate) ** 2 for n, c in counts) * 8 / 7 / trials**2
    effective, t = rate * (1 - rate) / squares, scipy.stats.t.ppf(0.975, 7)
    roots = np.roots([1 + t * t / effective, -(2 * rate + t * t / effective), rate * rate])
    ours = proportion_clustered(counts)
    assert (ours.low, ours.high) == pytest.approx((min(roots), max(roots)), rel=1e-9)


def test_tasks_that_vary_less_than_chance_never_claim_more_trials_than_there_were() -> None:
    ours = proportion_clustered([(2, 1)] * 40)
    plain = wilson(40, 80, level_of_t(39))
    assert (ours.low, ours.high) == pytest.approx((plain.low, plain.high), rel=1e-9)


@settings(deadline=None)
@given(st.lists(TRIALS, min_size=1, max_size=30), LEVELS)
def test_a_clustered_proportion_contains_the_rate_and_stays_a_share(
    counts: list[tuple[int, int]], level: float
) -> None:
    interval = proportion_clustered(counts, level)
    assert 0 <= interval.low <= interval.value <= interval.high <= 1
    assert interval.low < interval.high


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


@pytest.mark.parametrize("df", [1.0, 7.0, math.inf])
def test_critical_values_agree_with_scipy(df: float) -> None:
    import scipy.stats

    theirs = scipy.stats.norm.ppf(0.95) if math.isinf(df) else scipy.stats.t.ppf(0.95, df)
    assert critical_value(0.9, df) == pytest.approx(theirs, rel=1e-10)


def test_an_interval_can_be_scaled_and_cut() -> None:
    interval = Interval(2.0, -1.0, 5.0, 9, "student")
    assert interval.times(3) == Interval(6.0, -3.0, 15.0, 9, "student")
    assert interval.clipped(0.0, 4.0) == Interval(2.0, 0.0, 4.0, 9, "student")


def test_an_interval_excludes_what_lies_outside_its_bounds() -> None:
    interval = Interval(2.0, 1.0, 3.0, 9, "student")
    assert [interval.excludes(x) for x in (0.9, 1.0, 3.0, 3.1)] == [True, False, False, True]
