"""Two runs on the same tasks."""

import dataclasses
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.stats import (
    DifferenceTest,
    Flip,
    mcnemar,
    mean_interval,
    paired_difference,
    paired_rate_difference,
    smallest_difference,
    smallest_flip_difference,
)

CELLS = st.tuples(*[st.integers(0, 60)] * 4).filter(any)


def run(values: list[float]) -> dict[str, list[float]]:
    return {f"task {i}": [value] for i, value in enumerate(values)}


def table(both: int, only_a: int, only_b: int, neither: int) -> DifferenceTest:
    a = [1.0] * both + [1.0] * only_a + [0.0] * only_b + [0.0] * neither
    b = [1.0] * both + [0.0] * only_a + [1.0] * only_b + [0.0] * neither
    return paired_difference(run(a), run(b))


def rewards(n: int, gain: float, seed: int = 1) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    rng = random.Random(seed)
    tasks = [rng.gauss(0, 5) for _ in range(n)]
    return run([t + rng.gauss(gain, 1) for t in tasks]), run([t + rng.gauss(0, 1) for t in tasks])


def test_rewards_have_the_interval_of_the_mean_difference() -> None:
    a, b = rewards(29, 0.8)
    found = paired_difference(a, b, level=0.9)
    assert found.difference == mean_interval([a[task][0] - b[task][0] for task in a], 0.9, symmetric=True)
    assert (found.paired, found.n_a, found.n_b) == (True, 29, 29)
    assert found.difference.value == pytest.approx(found.mean_a - found.mean_b)


def test_differences_that_do_not_vary_have_no_width_of_zero() -> None:
    found = paired_difference(run([0.9] * 20), run([0.4] * 20))
    assert (found.difference.method, found.difference.weak, found.verdict) == ("effective wilson", True, "a")
    assert found.difference.low < 0.5 == found.difference.high
    rounded = paired_difference(run([0.6, 0.3, 0.2, 1.0] * 5), run([0.5, 0.2, 0.1, 0.9] * 5))
    assert (rounded.difference.method, rounded.difference.weak) == ("effective wilson", True)
    nothing = paired_difference(run([37.5] * 20), run([37.5] * 20))
    assert (nothing.difference.method, nothing.difference.bounded, nothing.verdict) == ("none", False, "tie")


def test_differing_tasks_do_not_widen_the_paired_interval() -> None:
    a, b = rewards(40, 1.0)
    found = paired_difference(a, b)
    assert found.difference.high - found.difference.low < 1.5
    assert found.verdict == "a"
    assert paired_difference(b, a).verdict == "b"


def test_pass_or_fail_is_tested_by_mcnemar() -> None:
    found = table(20, 15, 3, 12)
    assert (found.p_value, found.test) == (mcnemar(15, 3, 50).p_value, "mcnemar exact")
    assert found.difference == paired_rate_difference(20, 15, 3, 12)
    assert found.verdict == "a"


def test_only_common_tasks_are_compared_and_the_others_named() -> None:
    a = {"x": [1.0], "y": [0.5], "z": [3.0], "empty in b": [1.0]}
    b = {"w": [9.0], "z": [2.0], "y": [0.5], "empty in b": []}
    found = paired_difference(a, b)
    assert (found.n_a, found.mean_a, found.mean_b) == (2, 1.75, 1.25)
    assert (found.only_a, found.only_b) == (("x", "empty in b"), ("w",))


def test_trials_of_a_task_count_once() -> None:
    a = {"x": [1.0, 0.0, 1.0, 0.0], "y": [1.0]}
    b = {"x": [0.0], "y": [1.0, 1.0]}
    found = paired_difference(a, b)
    assert (found.mean_a, found.mean_b, found.n_a) == (0.75, 0.5, 2)
    assert found.test == "sign flips exact"


def test_trials_that_agree_leave_pass_or_fail() -> None:
    a, b = {"x": [1.0, 1.0], "y": [0.0]}, {"x": [0.0], "y": [0.0, 0.0, 0.0]}
    assert paired_difference(a, b).test == "mcnemar exact"


def test_flipped_tasks_are_listed_in_both_directions() -> None:
    a = {"kept": [1.0], "won": [1.0, 1.0, 0.0], "lost": [0.0], "half": [1.0, 0.0]}
    b = {"kept": [1.0], "won": [0.0], "lost": [1.0], "half": [0.0]}
    found = paired_difference(a, b)
    assert found.flips == (Flip("won", 2 / 3, 0.0), Flip("lost", 0.0, 1.0))


def test_rewards_have_no_flips_unless_a_threshold_makes_them_pass_or_fail() -> None:
    a, b = run([3.0, 1.0, 8.0]), run([1.0, 1.0, 9.0])
    assert paired_difference(a, b).flips == ()
    found = paired_difference(a, b, threshold=1.0)
    assert found.flips == (Flip("task 0", 1.0, 0.0),)
    assert (found.mean_a, found.mean_b, found.test) == (2 / 3, 1 / 3, "mcnemar exact")


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_fewer_than_six_tasks_are_always_a_tie(n: int) -> None:
    won, gained = table(0, n, 0, 0), paired_difference(run([9.0 + i for i in range(n)]), run([1.0] * n))
    for found in (won, gained):
        assert found.p_value > 0.05
        assert found.verdict == "tie"
        assert found.smallest_difference == math.inf


def test_six_tasks_out_of_six_are_no_tie() -> None:
    assert table(0, 6, 0, 0).verdict == "a"
    assert table(0, 0, 6, 0).verdict == "b"


def test_an_interval_around_zero_is_a_tie() -> None:
    found = table(20, 6, 5, 12)
    assert not found.difference.excludes(0)
    assert found.verdict == "tie"


def test_a_p_value_adjusted_for_several_comparisons_decides_the_verdict() -> None:
    found = table(20, 15, 3, 12)
    assert dataclasses.replace(found, p_value=0.08).verdict == "tie"


def test_the_same_run_twice_is_a_tie_without_difference() -> None:
    a, _ = rewards(12, 0)
    found = paired_difference(a, a)
    assert (found.difference.value, found.p_value, found.verdict) == (0, 1, "tie")
    assert found.smallest_difference is None


def test_the_smallest_difference_is_that_of_the_observed_spread() -> None:
    import scipy.stats

    a, b = rewards(20, 0.5)
    differences = [a[task][0] - b[task][0] for task in a]
    sd = math.sqrt(scipy.stats.tvar(differences))
    assert paired_difference(a, b).smallest_difference == pytest.approx(smallest_difference(sd, 20))
    assert table(20, 15, 3, 12).smallest_difference == smallest_flip_difference(18 / 50, 50)


@settings(deadline=None)
@given(st.lists(st.floats(-100, 100), min_size=2, max_size=12), st.randoms(use_true_random=False))
def test_swapping_the_runs_mirrors_everything(values: list[float], rng: random.Random) -> None:
    a, b = run(values), run(rng.sample(values, len(values)))
    here, there = paired_difference(a, b), paired_difference(b, a)
    assert here.p_value == there.p_value
    assert (here.difference.low, here.difference.high) == pytest.approx((-there.difference.high, -there.difference.low))
    assert {here.verdict, there.verdict} in ({"tie"}, {"a", "b"})


def test_runs_without_a_common_task_are_sent_to_the_unpaired_comparison() -> None:
    with pytest.raises(ValueError, match="unpaired_difference"):
        paired_difference({"x": [1.0]}, {"y": [1.0], "x": []})


def test_an_unusable_value_is_refused() -> None:
    with pytest.raises(ValueError, match="value 1 is nan"):
        paired_difference({"x": [1.0, math.nan]}, {"x": [1.0]})
