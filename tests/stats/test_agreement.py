"""Agreement beyond chance, with the numbers of statsmodels 0.15, scikit-learn 1.9 and krippendorff 0.9."""

import math
import random
from collections.abc import Sequence

import pytest

from mesocosm.stats import (
    Agreement,
    ConfusionCounts,
    agreement,
    alpha_interval,
    cohen_kappa,
    corrected_rate,
    fit,
    krippendorff_alpha,
)


def pairs(table: Sequence[Sequence[int]]) -> list[list[tuple[int, int]]]:
    """Return a table of counts as pairs, each in a cluster of its own."""
    return [[(i, j)] for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]


def measured(table: Sequence[Sequence[int]]) -> Agreement:
    found = agreement(pairs(table))
    assert found is not None
    return found


# The table, kappa of statsmodels and scikit-learn, the asymptotic interval of statsmodels.
KNOWN = [
    ([[20, 5], [10, 15]], 0.4, 0.151092, 0.648908),
    ([[12, 2], [5, 21]], 0.633508, 0.390718, 0.876298),
    ([[11, 3, 1], [2, 9, 4], [0, 1, 9]], 0.588785, 0.383632, 0.793938),
]


@pytest.mark.parametrize(("table", "kappa", "low", "high"), KNOWN)
def test_kappa_and_its_interval_agree_with_foreign_parts(
    table: list[list[int]], kappa: float, low: float, high: float
) -> None:
    found = measured(table).kappa

    assert found is not None
    assert found.value == pytest.approx(kappa, abs=1e-6)
    # A percentile interval of some dozens of items is not the asymptotic one; it is near.
    assert found.low == pytest.approx(low, abs=0.05)
    assert found.high == pytest.approx(high, abs=0.05)


def test_kappa_does_not_exist_for_one_category() -> None:
    assert cohen_kappa([("right", "right")] * 9) is None
    assert agreement([[("right", "right")]] * 9) == Agreement(9, 1.0, None)


def test_opposite_judgements_are_worse_than_chance() -> None:
    assert cohen_kappa([("right", "wrong"), ("wrong", "right")]) == -1


def test_without_pairs_there_is_no_agreement() -> None:
    assert agreement([[], []]) is None


def test_few_equal_judgements_claim_little() -> None:
    few, many = measured([[2, 0], [0, 3]]).kappa, measured([[20, 0], [0, 20]]).kappa

    assert few is not None
    assert many is not None
    assert few.value == many.value == 1
    assert few.low < 0.2
    assert 0.8 < many.low < 1


def test_the_interval_is_unknown_where_kappa_often_does_not_exist() -> None:
    found = measured([[3, 1], [0, 1]]).kappa

    assert found is not None
    assert not found.bounded


def test_the_trials_of_one_task_say_little() -> None:
    single = agreement([[("right", "right"), ("wrong", "wrong"), ("right", "wrong")] * 5])

    assert single is not None
    assert single.kappa is not None
    assert not single.kappa.bounded


# Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011, example C: three observers, missing values.
ROWS = ("*****3412113 3*3".replace(" ", ""), "1*213343*******", "**21344*2113 3*4".replace(" ", ""))
UNITS = [[row[item] for row in ROWS if row[item] != "*"] for item in range(15)]


def test_alpha_agrees_with_the_published_value() -> None:
    assert krippendorff_alpha(UNITS) == pytest.approx(0.691358, abs=1e-6)


def test_alpha_has_an_interval_over_the_items_that_were_judged_twice() -> None:
    found = alpha_interval([[unit] for unit in UNITS])

    assert found is not None
    assert found.n == 12
    assert 0.2 < found.low < found.value < found.high <= 1


def test_alpha_does_not_exist_for_one_category() -> None:
    assert krippendorff_alpha([["right", "right"], ["right", "right", "right"]]) is None
    assert alpha_interval([[["right", "right"]]] * 4) is None


def test_alpha_of_few_equal_judgements_claims_little() -> None:
    found = alpha_interval([[["right", "right"]], [["wrong", "wrong"]], [["wrong", "wrong"]]])

    assert found is not None
    assert found.value == 1
    assert found.low < 0.2


TABLE = ConfusionCounts(yes_yes=12, yes_no=5, no_yes=2, no_no=21)


def test_a_judge_is_lenient_by_what_it_lets_pass_too_often() -> None:
    assert TABLE.n == 40
    assert pytest.approx(0.075) == TABLE.bias
    assert TABLE.sensitivity is not None
    assert TABLE.specificity is not None
    assert TABLE.sensitivity.value == pytest.approx(12 / 14)
    assert TABLE.specificity.value == pytest.approx(21 / 26)


def test_the_corrected_rate_of_the_judged_items_is_that_of_people() -> None:
    found = corrected_rate(17, 40, TABLE)

    assert found is not None
    assert found.value == pytest.approx(14 / 40)
    assert 0 < found.low < found.value < found.high < 0.7


@pytest.mark.parametrize(
    "table", [ConfusionCounts(9, 0, 3, 0), ConfusionCounts(0, 4, 0, 8), ConfusionCounts(5, 5, 5, 5)]
)
def test_a_rate_cannot_be_corrected_by_what_says_nothing(table: ConfusionCounts) -> None:
    assert corrected_rate(10, 30, table) is None


def test_the_interval_of_a_corrected_rate_contains_the_truth_as_often_as_it_says() -> None:
    rng = random.Random(2)
    truth, right, wrong = 0.4, 0.8, 0.8
    hits = 0
    for _ in range(300):
        cells = [0, 0, 0, 0]
        for _ in range(60):
            yes = rng.random() < truth
            judged = rng.random() < (right if yes else 1 - wrong)
            cells[2 * (not judged) + (not yes)] += 1
        passed = sum(rng.random() < truth * right + (1 - truth) * (1 - wrong) for _ in range(200))
        found = corrected_rate(passed, 200, ConfusionCounts(*cells))
        hits += found is not None and not found.excludes(truth)

    assert hits >= 276


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="impossible"):
        corrected_rate(5, 4, TABLE)


def test_a_judge_is_fit_from_the_lower_end_on() -> None:
    found = measured([[12, 2], [5, 21]])
    assert found.kappa is not None

    assert fit(found, found.kappa.low)
    assert not fit(found, math.nextafter(found.kappa.low, 1))
    assert not fit(None, 0.0)
    assert not fit(Agreement(9, 1.0, None), 0.0)
