"""Mean and standard deviation of samples of every size and scale."""

import math
import re
import statistics
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.stats import LARGEST, Moments, moments, usable
from mesocosm.stats.moments import check_level, is_pass_fail


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2))
def test_moments_agree_with_the_exact_fractions_of_the_standard_library(values: list[float]) -> None:
    found = moments(values)
    scale = max(map(abs, values))
    assert found.n == len(values)
    assert math.isclose(found.mean, statistics.mean(values), rel_tol=1e-14, abs_tol=1e-15 * scale)
    assert math.isclose(found.sd, statistics.stdev(values), rel_tol=1e-9, abs_tol=1e-15 * scale)


@settings(deadline=None)
@given(st.lists(st.floats(-LARGEST, LARGEST), min_size=1))
def test_no_usable_values_overflow(values: list[float]) -> None:
    found = moments(values)
    assert min(values) <= found.mean <= max(values) or math.isclose(found.mean, values[0], rel_tol=1e-15)
    assert 0 <= found.sd < math.inf


def test_one_value_has_no_spread() -> None:
    assert moments([4.5]) == Moments(1, 4.5, 0.0)


def test_an_array_is_as_good_as_a_list() -> None:
    assert moments(array("d", [1.0, 2.0, 4.0])) == moments([1, 2, 4])


def test_nothing_to_summarise_is_refused() -> None:
    with pytest.raises(ValueError, match="no value"):
        moments([])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e301, -1e301, pytest.param(10**400, id="huge")])
def test_a_value_that_is_not_usable_is_named_by_its_place(bad: float) -> None:
    assert not usable(bad)
    with pytest.raises(ValueError, match=f"value 2 is {re.escape(str(bad))}"):
        moments([1.0, 2.0, bad])


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, math.nan])
def test_an_impossible_level_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="confidence level"):
        check_level(level)


def test_pass_fail_is_nothing_but_zero_and_one() -> None:
    assert is_pass_fail([0, 1.0, True])
    assert not is_pass_fail([0, 1, 0.5])
