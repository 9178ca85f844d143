"""pass@k and pass^k."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.stats import mean_interval, pass_at_k, pass_hat_k, wilson

COUNTS = st.lists(
    st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), min_size=1, max_size=20
)


def test_pass_at_k_agrees_with_hand_calculation() -> None:
    # Two of four trials chosen: 1 - C(3,2)/C(4,2) = 0.5, 1 - C(2,2)/C(4,2) = 5/6, 1, 0.
    found = pass_at_k([(4, 1), (4, 2), (4, 4), (4, 0)], 2)
    assert found.interval.value == pytest.approx((1 / 2 + 5 / 6 + 1 + 0) / 4)


def test_pass_hat_k_agrees_with_hand_calculation() -> None:
    # C(1,2)=0, C(2,2)/C(4,2) = 1/6, C(3,2)/C(4,2) = 1/2, 1.
    found = pass_hat_k([(4, 1), (4, 2), (4, 3), (4, 4)], 2)
    assert found.interval.value == pytest.approx((0 + 1 / 6 + 1 / 2 + 1) / 4)


def test_the_interval_is_that_of_independent_tasks() -> None:
    found = pass_hat_k([(4, 1), (4, 2), (4, 3), (4, 3)], 2, 0.8)
    tasks = mean_interval([0, 1 / 6, 1 / 2, 1 / 2], 0.8, (0, 1))
    assert (found.interval.low, found.interval.high) == pytest.approx((tasks.low, tasks.high))
    assert (found.interval.n, found.interval.level) == (4, 0.8)


def test_tasks_worth_all_or_nothing_have_a_wilson_interval() -> None:
    assert pass_hat_k([(4, 4)] * 7 + [(4, 0)] * 13, 4).interval == wilson(7, 20)
    assert pass_at_k([(1, 1)] * 20, 1).interval == wilson(20, 20)


def test_the_interval_never_leaves_the_unit_range() -> None:
    found = pass_hat_k([(4, 1), (4, 0), (4, 0)], 1)
    assert found.interval.low >= 0
    assert pass_at_k([(4, 3), (4, 4), (4, 4)], 1).interval.high <= 1


def test_tasks_with_fewer_trials_are_left_out_and_counted() -> None:
    found = pass_at_k([(4, 2), (3, 3), (1, 1), (5, 0)], 4)
    assert (found.k, found.tasks, found.skipped) == (4, 2, 2)
    assert found.interval.value == 0.5


def test_one_task_leaves_its_interval_open() -> None:
    found = pass_at_k([(4, 2)], 2)
    assert found.interval.value == pytest.approx(5 / 6)
    assert (found.interval.low, found.interval.high, found.interval.method) == (0, 1, "none")


@settings(deadline=None)
@given(COUNTS)
def test_one_trial_is_the_mean_pass_share(counts: list[tuple[int, int]]) -> None:
    share = sum(c / n for n, c in counts) / len(counts)
    assert pass_at_k(counts, 1).interval.value == pytest.approx(share)
    assert pass_hat_k(counts, 1).interval.value == pytest.approx(share)


@settings(deadline=None)
@given(st.integers(1, 7), st.integers(0, 7), st.integers(1, 7))
def test_both_are_the_share_of_all_choices_of_k_trials(n: int, c: int, k: int) -> None:
    c, k = min(c, n), min(k, n)
    choices = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k([(n, c)], k).interval.value == pytest.approx(sum(map(any, choices)) / len(choices))
    assert pass_hat_k([(n, c)], k).interval.value == pytest.approx(sum(map(all, choices)) / len(choices))


@settings(deadline=None)
@given(COUNTS)
def test_passing_once_is_never_rarer_than_passing_always(counts: list[tuple[int, int]]) -> None:
    for k in range(1, max(n for n, _ in counts) + 1):
        assert pass_hat_k(counts, k).interval.value <= pass_at_k(counts, k).interval.value + 1e-12


def test_thousands_of_trials_do_not_overflow() -> None:
    found = pass_hat_k([(5_000, 4_000), (5_000, 4_999)], 2_500)
    assert 0 < found.interval.value < 0.5
    assert math.isclose(found.interval.value, 0.25, rel_tol=1e-9)


def test_more_trials_than_any_task_has_are_refused() -> None:
    with pytest.raises(ValueError, match=r"no task has 5 trials, the most is 4"):
        pass_at_k([(4, 2), (3, 1)], 5)
    with pytest.raises(ValueError, match="no task has 1 trials, the most is 0"):
        pass_hat_k([], 1)


@pytest.mark.parametrize("k", [0, -1])
def test_k_below_one_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match=f"k is {k}"):
        pass_at_k([(4, 2)], k)


@pytest.mark.parametrize("counts", [(3, 4), (3, -1)])
def test_impossible_counts_are_refused(counts: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="impossible"):
        pass_hat_k([(4, 4), counts], 1)
