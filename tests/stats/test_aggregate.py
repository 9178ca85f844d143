"""One number of a run for each aggregation."""

import math
import statistics
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.stats import (
    AGGREGATIONS,
    Interval,
    aggregate,
    clustered,
    mean_interval,
    median_clustered,
    median_interval,
    proportion_clustered,
    wilson,
)

REWARDS = [2.0, -1.0, 0.5, 7.0, 3.0, 0.0]
TASKS = ["x", "x", "y", "z", "z", "z"]
GROUPS = [[2.0, -1.0], [0.5], [7.0, 3.0, 0.0]]


def test_a_mean_is_of_values_or_clustered_by_task() -> None:
    assert aggregate("mean", REWARDS, level=0.9) == mean_interval(REWARDS, 0.9)
    assert aggregate("mean", REWARDS, level=0.9, bounds=(-5, 10)) == mean_interval(REWARDS, 0.9, (-5, 10))
    assert aggregate("mean", REWARDS, TASKS) == clustered(GROUPS)


def test_a_mean_of_zeros_and_ones_is_a_proportion() -> None:
    assert aggregate("mean", [1.0, 0.0, 1.0, 1.0]) == wilson(3, 4)
    assert aggregate("mean", [1.0, 0.0, 1.0, 1.0], ["x", "x", "y", "y"]) == proportion_clustered([(2, 1), (2, 2)])


def test_a_mean_of_286_passes_in_1319_is_the_published_accuracy() -> None:
    interval = aggregate("mean", [1.0] * 286 + [0.0] * 1033)
    assert (interval.value, interval.low, interval.high) == pytest.approx((0.2168, 0.1954, 0.2399), abs=5e-5)


def test_a_pass_rate_counts_values_strictly_above_the_threshold() -> None:
    assert aggregate("pass_rate", REWARDS) == wilson(4, 6)
    assert aggregate("pass_rate", REWARDS, threshold=2.0) == wilson(2, 6)
    assert aggregate("pass_rate", REWARDS, TASKS, threshold=0.5) == proportion_clustered([(2, 1), (1, 0), (3, 2)])


def test_a_median_is_bootstrapped_exactly_or_clustered() -> None:
    assert aggregate("median", REWARDS, level=0.8) == median_interval(REWARDS, 0.8)
    assert aggregate("median", REWARDS, TASKS) == median_clustered(GROUPS)


@pytest.mark.parametrize("tasks", [None, [task // 2 for task in range(20)]], ids=["values", "trials"])
def test_a_median_of_equal_values_has_no_interval(tasks: list[int] | None) -> None:
    found = aggregate("median", [37.5] * 19 + [40.0], tasks)
    assert (found.value, found.bounded, found.method) == (37.5, False, "none")


def test_a_sum_is_the_mean_times_the_number_of_values() -> None:
    mean, total = aggregate("mean", REWARDS), aggregate("sum", REWARDS)
    assert total.value == 11.5
    assert (total.low, total.high) == pytest.approx((6 * mean.low, 6 * mean.high))
    assert (total.n, total.method) == (6, "hall")


@pytest.mark.parametrize(("how", "value"), [("max", 7.0), ("min", -1.0)])
def test_an_extreme_claims_no_interval(how: str, value: float) -> None:
    for clusters in (None, TASKS):
        assert aggregate(how, REWARDS, clusters) == Interval(value, -math.inf, math.inf, 6, "none")


@pytest.mark.parametrize("how", AGGREGATIONS)
def test_one_trial_per_task_needs_no_clusters(how: str) -> None:
    assert aggregate(how, REWARDS, range(6)) == aggregate(how, REWARDS)


@pytest.mark.parametrize("how", AGGREGATIONS)
def test_tasks_may_be_interleaved(how: str) -> None:
    mixed = [("z", 7.0), ("x", 2.0), ("z", 3.0), ("y", 0.5), ("x", -1.0), ("z", 0.0)]
    found = aggregate(how, [v for _, v in mixed], [task for task, _ in mixed])
    expected = aggregate(how, REWARDS, TASKS)
    assert (found.value, found.low, found.high) == pytest.approx((expected.value, expected.low, expected.high))


@pytest.mark.parametrize("how", AGGREGATIONS)
def test_an_array_of_doubles_is_as_good_as_a_list(how: str) -> None:
    assert aggregate(how, array("d", REWARDS), TASKS) == aggregate(how, REWARDS, TASKS)


@pytest.mark.parametrize("how", AGGREGATIONS)
@settings(deadline=None)
@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), size=st.integers(1, 4))
def test_every_interval_contains_its_value(how: str, values: list[float], size: int) -> None:
    interval = aggregate(how, values, [i // size for i in range(len(values))])
    assert interval.low <= interval.value <= interval.high
    assert interval.n == len(values)


@settings(deadline=None)
@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_values_are_those_of_the_standard_library(values: list[float]) -> None:
    assert aggregate("mean", values).value == pytest.approx(statistics.fmean(values), rel=1e-12, abs=1e-12)
    assert aggregate("median", values).value == statistics.median(values)
    assert aggregate("sum", values).value == math.fsum(values)


def test_an_unknown_aggregation_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'mode'; choose one of mean, median, max, min, sum, pass_rate"):
        aggregate("mode", REWARDS)


@pytest.mark.parametrize("how", AGGREGATIONS)
def test_nothing_scored_is_refused(how: str) -> None:
    with pytest.raises(ValueError, match="no value"):
        aggregate(how, [])


@pytest.mark.parametrize("how", AGGREGATIONS)
def test_a_value_that_is_not_a_number_is_refused(how: str) -> None:
    with pytest.raises(ValueError, match="value 1 is nan"):
        aggregate(how, [1.0, math.nan])


def test_a_cluster_name_is_needed_for_every_value() -> None:
    with pytest.raises(ValueError, match="2 cluster names for 3 values"):
        aggregate("mean", [1.0, 2.0, 3.0], ["x", "y"])


def test_an_impossible_level_is_refused() -> None:
    with pytest.raises(ValueError, match="confidence level"):
        aggregate("max", [1.0], level=95)
