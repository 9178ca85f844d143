"""Differences of pass rates: against published values, SciPy, and the definitions computed by brute force."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.stats import Interval, Significance, barnard, mcnemar, paired_rate_difference, rate_difference
from mesocosm.stats.rates import critical_flips

CELLS = st.tuples(*[st.integers(0, 40)] * 4).filter(lambda cells: sum(cells) > 0)
COUNTS = st.integers(1, 80).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def most_likely(against: Callable[[float], float], low: float, high: float) -> float:
    import scipy.optimize

    found = scipy.optimize.minimize_scalar(against, bounds=(low, high), method="bounded", options={"xatol": 1e-12})
    return float(found.x)


def term(count: int, share: float) -> float:
    return count * math.log(max(share, 1e-300)) if count else 0.0


@pytest.mark.parametrize("table", [(0, 5, 5, 5), (1, 40, 9, 38), (0, 3, 0, 8), (3, 20, 40, 70)])
def test_barnard_agrees_with_scipy(table: tuple[int, int, int, int]) -> None:
    import scipy.stats

    passes_a, n_a, passes_b, n_b = table
    theirs = scipy.stats.barnard_exact([[passes_a, passes_b], [n_a - passes_a, n_b - passes_b]], n=256).pvalue
    found = barnard(*table)
    assert found.p_value == pytest.approx(theirs, abs=2e-4)
    assert barnard(passes_b, n_b, passes_a, n_a) == found
    assert barnard(n_a - passes_a, n_a, n_b - passes_b, n_b).p_value == pytest.approx(found.p_value, rel=1e-6)


def test_barnard_counts_tables_that_are_as_far_but_for_rounding() -> None:
    import scipy.stats

    def squared(a: int, b: int) -> Fraction:
        passes = a + b
        return (Fraction(a, 10) - Fraction(b, 9)) ** 2 / (passes * (19 - passes)) if 0 < passes < 19 else Fraction(0)

    far = [(a, b) for a in range(11) for b in range(10) if squared(a, b) >= squared(8, 3)]
    chances = [
        sum(scipy.stats.binom.pmf(a, 10, rate) * scipy.stats.binom.pmf(b, 9, rate) for a, b in far)
        for rate in (i / 200 for i in range(1, 200))
    ]
    # SciPy 1.17 finds 0.0587, as it misses a table at the same distance.
    assert barnard(8, 10, 3, 9).p_value == pytest.approx(max(chances), abs=2e-4)


@pytest.mark.parametrize(
    ("only_a", "only_b", "n"), [(0, 1, 1), (5, 0, 6), (6, 0, 6), (1, 7, 20), (8, 20, 60), (4, 0, 80)]
)
def test_mcnemar_is_the_largest_chance_over_all_shares_of_flips(only_a: int, only_b: int, n: int) -> None:
    import numpy as np
    import scipy.stats

    statistic = abs(only_a - only_b) / math.sqrt(only_a + only_b) - 1e-9
    flips = np.arange(n + 1)
    tails = [0.0]
    tails += [
        sum(scipy.stats.binom.pmf(k, m, 0.5) for k in range(m + 1) if abs(m - 2 * k) >= statistic * math.sqrt(m))
        for m in range(1, n + 1)
    ]
    largest = max((scipy.stats.binom.pmf(flips, n, share) * tails).sum() for share in np.linspace(0.001, 1, 2_000))
    assert mcnemar(only_a, only_b, n).p_value == pytest.approx(largest, abs=2e-4)
    assert mcnemar(only_b, only_a, n) == mcnemar(only_a, only_b, n)


def test_no_flip_and_as_many_in_both_directions_show_nothing() -> None:
    assert mcnemar(0, 0, 5) == mcnemar(4, 4, 9) == Significance(1.0, "mcnemar exact")
    assert barnard(0, 5, 0, 9) == barnard(3, 4, 6, 8) == Significance(1.0, "barnard exact")


@pytest.mark.parametrize("n", [6, 17, 50, 300, 5_000, 10**6])
def test_mcnemar_rejects_from_its_critical_statistic_on(n: int) -> None:
    critical = critical_flips(n, 0.95)
    assert 1.95 < critical < 2.24
    for flips in (6, 12, 40):
        if flips <= n:
            for fewer in range(flips // 2):
                rejected = mcnemar(flips - fewer, fewer, n).p_value <= 0.05
                assert rejected == (flips - 2 * fewer >= (critical - 1e-6) * math.sqrt(flips))


@pytest.mark.parametrize(("n", "least"), [(20, 0.0), (50, 3.5), (100, 3.9), (200, 4.1)])
def test_false_alarms_of_mcnemar_are_at_most_five_percent_and_close_to_it(n: int, least: float) -> None:
    import scipy.stats

    critical = critical_flips(n, 0.95)
    for share in (0.1, 0.2, 0.4, 0.7, 1.0):
        false = sum(
            scipy.stats.binom.pmf(m, n, share)
            * 2
            * scipy.stats.binom.cdf(math.floor((m - critical * math.sqrt(m)) / 2), m, 0.5)
            for m in range(1, n + 1)
        )
        assert false <= 0.05
        if share < 1:
            assert 100 * false >= least


def test_false_alarms_of_barnard_are_at_most_five_percent_and_close_to_it() -> None:
    import scipy.stats

    n = 40
    rejected = [(a, b) for a in range(n + 1) for b in range(n + 1) if barnard(a, n, b, n).p_value <= 0.05]
    for rate in (0.1, 0.2, 0.3, 0.5, 0.8):
        passes = scipy.stats.binom.pmf(range(n + 1), n, rate)
        assert 0.035 <= sum(passes[a] * passes[b] for a, b in rejected) <= 0.05


@pytest.mark.parametrize("counts", [(-1, 3, 5), (3, 3, 5)])
def test_mcnemar_refuses_impossible_numbers(counts: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="impossible"):
        mcnemar(*counts)


@pytest.mark.parametrize("table", [(6, 5, 1, 5), (1, 5, -1, 5), (0, 0, 1, 5)])
def test_impossible_counts_are_refused(table: tuple[int, int, int, int]) -> None:
    for function in (barnard, rate_difference):
        with pytest.raises(ValueError, match="impossible"):
            function(*table)


@pytest.mark.parametrize("cells", [(0, 0, 0, 0), (1, -1, 3, 3)])
def test_impossible_tables_are_refused(cells: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="impossible"):
        paired_rate_difference(*cells)


@pytest.mark.parametrize(
    ("found", "low", "high"),
    [
        # Fagerland, Lydersen & Laake 2014, Statist. Med. 33:2850: 1, 1, 7, 12 of 21 patients.
        (paired_rate_difference(1, 1, 7, 12), -0.517, -0.026),
        # Newcombe 1998, Statist. Med. 17:873, table II, method 6.
        (rate_difference(56, 70, 48, 80), 0.0528, 0.3382),
        (rate_difference(0, 10, 0, 10), -0.2879, 0.2879),
    ],
)
def test_intervals_agree_with_published_ones(found: Interval, low: float, high: float) -> None:
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-4)


@pytest.mark.parametrize("cells", [(20, 15, 3, 12), (36, 12, 2, 0), (0, 5, 3, 1), (7, 1, 9, 80)])
def test_the_ends_of_a_paired_interval_are_as_far_as_the_score_test_allows(cells: tuple[int, int, int, int]) -> None:
    (both, a, b, neither), n = cells, sum(cells)
    interval = paired_rate_difference(*cells)
    for difference, expected in ((interval.low, 1.959964), (interval.high, -1.959964)):

        def against(share: float, difference: float = difference) -> float:
            return -term(a, share + difference) - term(b, share) - term(both + neither, 1 - 2 * share - difference)

        share = most_likely(against, max(0.0, -difference), (1 - difference) / 2)
        error = math.sqrt((2 * share + difference - difference**2) / n)
        assert ((a - b) / n - difference) / error == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("counts", [(9, 10, 3, 10), (5, 56, 1, 29), (30, 40, 10, 300)])
def test_the_ends_of_an_interval_are_as_far_as_the_score_test_allows(counts: tuple[int, int, int, int]) -> None:
    a, n_a, b, n_b = counts
    interval = rate_difference(*counts)
    for difference, expected in ((interval.low, 1.959964), (interval.high, -1.959964)):

        def against(rate: float, difference: float = difference) -> float:
            up = rate + difference
            return -term(a, up) - term(n_a - a, 1 - up) - term(b, rate) - term(n_b - b, 1 - rate)

        rate = most_likely(against, max(0.0, -difference), min(1.0, 1 - difference))
        up = rate + difference
        error = math.sqrt((up * (1 - up) / n_a + rate * (1 - rate) / n_b) * (n_a + n_b) / (n_a + n_b - 1))
        assert (interval.value - difference) / error == pytest.approx(expected, abs=1e-4)


@settings(deadline=None)
@given(CELLS)
def test_a_paired_interval_is_a_difference_of_shares_around_the_estimate(cells: tuple[int, int, int, int]) -> None:
    both, only_a, only_b, neither = cells
    interval, mirrored = paired_rate_difference(*cells), paired_rate_difference(both, only_b, only_a, neither)
    assert -1 <= interval.low <= interval.value <= interval.high <= 1
    assert interval.low < interval.high
    assert (interval.low, interval.high) == pytest.approx((-mirrored.high, -mirrored.low), abs=1e-9)


@settings(deadline=None)
@given(COUNTS, COUNTS)
def test_an_interval_is_a_difference_of_shares_around_the_estimate(a: tuple[int, int], b: tuple[int, int]) -> None:
    interval = rate_difference(*a, *b)
    assert -1 <= interval.low <= interval.value <= interval.high <= 1
    assert interval.low < interval.high


@settings(deadline=None, max_examples=60)
@given(CELLS)
def test_what_the_test_rejects_the_interval_excludes(cells: tuple[int, int, int, int]) -> None:
    if mcnemar(cells[1], cells[2], sum(cells)).p_value <= 0.05:
        assert paired_rate_difference(*cells).excludes(0)


@pytest.mark.parametrize(("cells", "weak"), [((20, 4, 0, 20), True), ((20, 4, 1, 20), False)])
def test_few_flips_are_weak(cells: tuple[int, int, int, int], weak: bool) -> None:
    assert paired_rate_difference(*cells).weak == weak
