"""P values against SciPy, hand calculation, and what must always hold."""

import random
import statistics
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.stats import Moments, Significance, always_valid, holm, moments, sign_flip, welch

P_VALUES = st.lists(st.floats(0, 1), max_size=20)


def gauss(n: int, mean: float, sd: float, seed: int) -> list[float]:
    rng = random.Random(seed)
    return [rng.gauss(mean, sd) for _ in range(n)]


def scipy_sign_flip(differences: Sequence[float], resamples: float = np.inf) -> float:
    import scipy.stats

    found = scipy.stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        rng=np.random.default_rng(1),
    )
    return float(found.pvalue)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [1, 2, 6, 10, 14])
def test_few_pairs_give_the_exact_permutation_test_of_scipy(n: int, seed: int) -> None:
    differences = gauss(n, 0.6, 1, seed)
    found = sign_flip(differences)
    assert found.p_value == pytest.approx(scipy_sign_flip(differences) if n > 1 else 1.0)
    assert found.test == "sign flips exact"


@pytest.mark.parametrize(
    "differences", [[1.0] * 6, [1, 1, 1, -1, 0.5, 0.5], [0.1, 0.2, 0.3, -0.3, 0.6], [0.1] * 3 + [-0.3] * 2]
)
def test_tied_sums_count_as_equally_extreme(differences: list[float]) -> None:
    tenths = [round(10 * d) for d in differences]
    assert sign_flip(differences).p_value == pytest.approx(scipy_sign_flip(tenths))


def test_many_pairs_agree_with_the_random_permutations_of_scipy() -> None:
    differences = gauss(80, 0.2, 1, 3)
    found = sign_flip(differences)
    assert found.p_value == pytest.approx(scipy_sign_flip(differences, 20_000), abs=0.01)
    assert found.test == "sign flips"
    assert found == sign_flip(differences, seed=0)
    assert found.p_value != sign_flip(differences, seed=1).p_value


def test_random_flips_never_claim_less_than_one_in_their_number() -> None:
    assert sign_flip([1.0 + i / 100 for i in range(50)], resamples=999).p_value == 1 / 1000


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [15, 40, 150])
def test_random_flips_count_as_extreme_what_sums_of_signed_differences_are(n: int, seed: int) -> None:
    # Halves and wholes: their sums are exact, and many are ties.
    differences = [random.Random(seed * n + i).choice([-1.0, 0.5, 1.0, 1.5]) for i in range(n)]
    rng = random.Random(seed)
    drawn = [rng.getrandbits(99) for _ in differences]
    sums = [
        sum(abs(d) if bits >> r & 1 else -abs(d) for d, bits in zip(differences, drawn, strict=True)) for r in range(99)
    ]
    hits = sum(abs(total) >= abs(sum(differences)) for total in sums)
    assert sign_flip(differences, resamples=99, seed=seed).p_value == (hits + 1) / 100


@pytest.mark.parametrize("mean", [0.1, 0.2, 0.25])
def test_random_flips_are_as_near_as_ten_thousand_resamples_can_be(mean: float) -> None:
    rng = np.random.default_rng(7)
    differences = rng.exponential(1, 100) - 1 + mean
    sums = (rng.integers(0, 2, (200_000, 100), dtype=np.int8) * 2 - 1) @ np.abs(differences)
    exact = float(np.mean(np.abs(sums) >= abs(differences.sum())))
    assert sign_flip(list(differences)).p_value == pytest.approx(exact, abs=5 * (exact * (1 - exact) / 10_000) ** 0.5)


def test_ten_thousand_pairs_agree_with_the_t_test_of_scipy() -> None:
    import scipy.stats

    differences = gauss(10_000, 0.015, 1, 4)
    theirs = scipy.stats.ttest_1samp(differences, 0).pvalue
    assert sign_flip(differences, resamples=2_000).p_value == pytest.approx(theirs, abs=0.03)


def test_very_many_pairs_take_the_normal_limit() -> None:
    import scipy.stats

    differences = [1.0] * 50_200 + [-1.0] * 49_800
    found = sign_flip(differences)
    assert found.test == "sign flips normal"
    assert found.p_value == pytest.approx(scipy.stats.binomtest(50_200, 100_000).pvalue, abs=0.002)


def test_one_giant_among_many_pairs_is_still_resampled() -> None:
    # The giant decides every sum but its last digits, and those are even: half of all patterns are as extreme.
    found = sign_flip([1e6] + [1.0, -1.0] * 50_000, resamples=400)
    assert found.p_value == pytest.approx(0.5, abs=0.08)
    assert found.test == "sign flips"


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=13))
def test_mirroring_all_differences_changes_no_p_value(differences: list[float]) -> None:
    assert sign_flip([-d for d in differences]).p_value == sign_flip(differences).p_value


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=13))
def test_pairs_without_difference_change_no_p_value(differences: list[float]) -> None:
    assert sign_flip([*differences, 0.0, 0.0]).p_value == sign_flip(differences).p_value


def test_no_difference_shows_nothing() -> None:
    assert sign_flip([0.0, 0.0]).p_value == 1


def test_sign_flips_refuse_unusable_differences() -> None:
    with pytest.raises(ValueError, match="no value"):
        sign_flip([])
    with pytest.raises(ValueError, match="value 1 is nan"):
        sign_flip([1.0, float("nan")])


def test_welch_agrees_with_scipy() -> None:
    import scipy.stats

    a, b = gauss(9, 1, 3, 1), gauss(25, 0, 1, 2)
    theirs = scipy.stats.ttest_ind(a, b, equal_var=False).pvalue
    assert welch(moments(a), moments(b)).p_value == pytest.approx(theirs, rel=1e-9)


def test_welch_shows_nothing_from_one_value() -> None:
    assert welch(moments([9.0]), moments([1.0, 2.0, 1.5])).p_value == 1


def test_welch_without_spread_gives_the_chance_of_the_rarest_arrangement() -> None:
    assert welch(Moments(3, 5.0, 0.0), Moments(3, 3.0, 0.0)).p_value == pytest.approx(2 / 20)
    assert welch(Moments(9, 5.0, 0.0), Moments(9, 5.0, 0.0)).p_value == 1


def test_holm_multiplies_the_smallest_by_all_and_keeps_the_order() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_adjusts_equal_and_large_values_alike() -> None:
    assert holm([0.5, 0.9, 0.5]) == [1.0, 1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


@settings(deadline=None)
@given(P_VALUES)
def test_holm_never_lowers_a_p_value_nor_swaps_two(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    assert [adjusted[i] for i in order] == sorted(adjusted)
    assert not adjusted or min(adjusted) == min(1.0, len(p_values) * min(p_values))


@settings(deadline=None)
@given(P_VALUES, st.floats(0.001, 0.5))
def test_holm_rejects_as_the_step_down_procedure_does(p_values: list[float], alpha: float) -> None:
    rejected = 0
    for place, p in enumerate(sorted(p_values)):
        if p * (len(p_values) - place) > alpha:
            break
        rejected += 1
    assert sum(q <= alpha for q in holm(p_values)) == rejected


@pytest.mark.parametrize("wrong", [-0.1, 1.2, float("nan")])
def test_holm_refuses_what_is_no_p_value(wrong: float) -> None:
    with pytest.raises(ValueError, match="is not a p value"):
        holm([0.1, wrong])


def test_sign_flips_reject_a_true_null_about_as_often_as_they_should() -> None:
    rng = random.Random(9)
    shown = [sign_flip([rng.gauss(0, 1) for _ in range(9)]).p_value <= 0.05 for _ in range(1_500)]
    assert statistics.fmean(shown) == pytest.approx(0.05, abs=0.015)


def test_always_valid_p_is_one_over_the_wealth_of_bets() -> None:
    shares = [sign * 0.95 * 0.6**i for i in range(10) for sign in (1, -1)]
    wealth = statistics.fmean((1 + share) ** 9 * (1 - share / 2) ** 3 for share in shares)
    found = always_valid([2.0] * 9 + [-1.0] * 3 + [0.0] * 50, 2.0)
    assert found.test == "always valid"
    assert found.p_value == pytest.approx(1 / wealth)


def test_always_valid_p_does_not_depend_on_order_or_sign() -> None:
    values = gauss(40, 0.2, 0.1, 3)
    assert always_valid(values[::-1], 1.0).p_value == pytest.approx(always_valid(values, 1.0).p_value)
    assert always_valid([-value for value in values], 1.0).p_value == pytest.approx(always_valid(values, 1.0).p_value)


@pytest.mark.parametrize(
    ("differences", "width"), [([0.0] * 9, 1.0), ([1.0] * 50, None), ([1.0] * 50 + [1.5], 1.0), ([1.0, -1.0] * 20, 1.0)]
)
def test_nothing_to_bet_on_and_no_gain_give_one(differences: list[float], width: float | None) -> None:
    assert always_valid(differences, width) == Significance(1.0, "always valid")


def test_a_million_differences_are_no_trouble() -> None:
    assert always_valid([1.0] * 1_000_000, 1.0).p_value == 0.0


def test_false_alarms_stay_below_five_percent_at_any_look_where_an_ordinary_test_has_more() -> None:
    rng = random.Random(5)
    valid = ordinary = 0
    for _ in range(400):
        differences: list[float] = []
        alarm = False
        usual = False
        for _ in range(25):
            differences += [float(rng.choice((-1, 0, 0, 0, 1))) for _ in range(20)]
            flips, gain = sum(map(abs, differences)), abs(sum(differences))
            alarm |= always_valid(differences, 1.0).p_value <= 0.05
            usual |= gain >= 1.97 * flips**0.5
        valid += alarm
        ordinary += usual
    assert valid <= 0.055 * 400 < 0.12 * 400 <= ordinary
