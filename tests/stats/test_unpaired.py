"""Two runs on different tasks."""

import math
import random

import pytest
from hypothesis import strategies as st

from mesocosm.stats import (
    barnard,
    moments,
    rate_difference,
    smallest_rate_difference,
    unpaired_difference,
    welch_interval,
)

COUNTS = st.integers(1, 80).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def run(values: list[float], name: str = "task") -> dict[str, list[float]]:
    return {f"{name} {i}": [value] for i, value in enumerate(values)}


def gauss(n: int, mean: float, sd: float, seed: int) -> list[float]:
    rng = random.Random(seed)
    return [rng.gauss(mean, sd) for _ in range(n)]


def test_welch_agrees_with_scipy() -> None:
    import scipy.stats

    a, b = gauss(9, 1, 3, 1), gauss(25, 0, 1, 2)
    theirs = scipy.stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.9)
    ours = welch_interval(moments(a), moments(b), 0.9)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9)
    assert (ours.n, ours.method) == (34, "welch")


def test_one_value_on_a_side_says_nothing() -> None:
    found = unpaired_difference(run([4.0]), run([1.0, 2.0, 3.0]))
    assert not found.difference.bounded
    assert (found.p_value, found.verdict, found.smallest_difference) == (1, "tie", math.inf)
    assert unpaired_difference(run([4.0]), run([2.0])).smallest_difference == math.inf


def test_rewards_are_compared_by_welch_on_task_means() -> None:
    import scipy.stats

    a = {f"a{i}": [x - 1, x + 1] for i, x in enumerate(gauss(12, 3, 1, 3))}
    b = run(gauss(15, 0, 2, 4))
    found = unpaired_difference(a, b)
    means = [sum(v) / 2 for v in a.values()], [v[0] for v in b.values()]
    assert found.p_value == pytest.approx(scipy.stats.ttest_ind(*means, equal_var=False).pvalue, rel=1e-6)
    assert (found.paired, found.n_a, found.n_b, found.test, found.verdict) == (False, 12, 15, "welch", "a")


def test_pass_or_fail_is_compared_by_barnard() -> None:
    found = unpaired_difference(run([1.0] * 30 + [0.0] * 10), run([1.0] * 10 + [0.0] * 20))
    assert found.difference == rate_difference(30, 40, 10, 30)
    assert found.p_value == barnard(30, 40, 10, 30).p_value
    assert found.smallest_difference == smallest_rate_difference(40 / 70, 40, 30)
    assert (found.test, found.verdict) == ("barnard exact", "a")


def test_a_threshold_makes_rewards_pass_or_fail() -> None:
    found = unpaired_difference(run([3.0, 0.2, 0.5]), run([0.1, 0.5]), threshold=0.5)
    assert (found.mean_a, found.mean_b, found.test) == (1 / 3, 0.0, "barnard exact")


def test_means_of_rewards_that_happen_to_be_whole_are_no_pass_or_fail() -> None:
    assert unpaired_difference({"x": [3.0, -1.0], "y": [0.0]}, run([0.0, 1.0])).test == "welch"


def test_tasks_of_the_same_name_are_not_matched_nor_listed() -> None:
    found = unpaired_difference(run([1.0, 5.0, 9.0]), run([0.0, 4.0, 8.0]))
    assert (found.only_a, found.only_b, found.flips) == ((), (), ())
    assert found.verdict == "tie"


def test_scores_without_any_spread_leave_the_smallest_difference_open() -> None:
    found = unpaired_difference(run([5.0] * 3), run([3.0] * 3))
    assert (found.smallest_difference, found.verdict) == (None, "tie")


@pytest.mark.parametrize(("a", "b", "name"), [({}, {"x": [1.0]}, "a"), ({"x": [1.0]}, {"y": []}, "b")])
def test_a_run_without_scores_is_named(a: dict[str, list[float]], b: dict[str, list[float]], name: str) -> None:
    with pytest.raises(ValueError, match=f"run {name} has no scored task"):
        unpaired_difference(a, b)
