"""How values lie."""

import numpy
import pytest

from mesocosm.stats import spread


@pytest.mark.parametrize("values", [[0.5], [1.0, 0.0], [3.0, -1.0, 2.5, 2.5], [0.1] * 7])
def test_it_is_what_numpy_says(values: list[float]) -> None:
    found = spread(values)
    expected = (len(values), numpy.mean(values), numpy.std(values), min(values), numpy.median(values), max(values))
    assert (found.n, found.mean, found.std, found.min, found.median, found.max) == pytest.approx(expected)


def test_the_median_of_huge_values_stays_in_range() -> None:
    assert spread([1e300, 1e300]).median == 1e300


def test_no_values_have_no_spread() -> None:
    with pytest.raises(ValueError):
        spread([])
