"""Which rows are run, and the sentence that tells them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesocosm.core.failure import UsageError
from mesocosm.rollouts.selection import choose


@pytest.mark.parametrize(
    ("rows", "places"),
    [
        ("3", [3]),
        ("3,7,10-12", [3, 7, 10, 11, 12]),
        (" 7 , 3 - 4,3,4-4 ", [3, 4, 7]),
        ("0-99", list(range(100))),
    ],
)
def test_named_rows_are_taken_ascending_and_once(rows: str, places: list[int]) -> None:
    assert list(choose(100, rows).indices) == places


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("5-3", "the range 5-3 runs backwards; write 3-5"),
        ("1,100", "there is no row 100; the 100 rows are 0 to 99"),
        ("1-100", "there is no row 100"),
        ("x", "'x' is neither a row nor a range; write places from 0, like 3,7,10-20"),
        ("1,,2", "'' is neither a row"),
        ("-3", "'-3' is neither a row"),
        ("1.5", "'1.5' is neither a row"),
        ("9" * 5000, "is neither a row"),
    ],
)
def test_rows_that_are_not_there_are_named(rows: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        choose(100, rows)


def test_named_rows_go_before_everything_else() -> None:
    chosen = choose(100, "3,7", limit=1, everything=True, sample=0.5, offset=50)
    assert list(chosen.indices) == [3, 7]
    assert chosen.description == "2 of 100 rows by their places from 0 (3,7)"
    assert chosen.seed is None


def test_a_limit_takes_the_first_rows() -> None:
    chosen = choose(1319, limit=50, sample=0.5)
    assert list(chosen.indices) == list(range(50))
    assert chosen.description == "the first 50 of 1,319 rows"


def test_an_offset_leaves_out_the_rows_before() -> None:
    chosen = choose(1319, limit=50, offset=100)
    assert list(chosen.indices) == list(range(100, 150))
    assert chosen.description == "50 of 1,319 rows, from place 100 on"
    assert list(choose(10, everything=True, offset=8).indices) == [8, 9]
    assert min(choose(100, offset=60).indices) >= 60


@pytest.mark.parametrize("offset", [-1, 10])
def test_an_offset_beyond_the_rows_is_refused(offset: int) -> None:
    with pytest.raises(UsageError, match="leaves none of the 10 rows"):
        choose(10, limit=1, offset=offset)


@pytest.mark.parametrize("limit", [0, -1, 10, 5000])
def test_a_limit_of_none_or_too_many_takes_all(limit: int) -> None:
    chosen = choose(10, limit=limit)
    assert list(chosen.indices) == list(range(10))
    assert chosen.description == "all 10 rows"


def test_without_anything_a_tenth_is_drawn_and_the_seed_told() -> None:
    chosen = choose(1319, digest="abc")
    assert len(chosen.indices) == 132
    assert chosen.description == f"132 of 1,319 rows, drawn at random with seed {chosen.seed}"
    assert choose(1319, seed=chosen.seed).indices == chosen.indices


def test_the_seed_follows_from_the_data() -> None:
    assert choose(1319, digest="abc") == choose(1319, digest="abc")
    assert choose(1319, digest="abc").indices != choose(1319, digest="abd").indices


def test_the_draw_stays_what_it_was() -> None:
    # Runs that were begun are continued on the same rows: a change here changes what people compare.
    assert choose(100, seed=7).indices == [2, 27, 28, 34, 43, 50, 58, 66, 69, 80]


@pytest.mark.parametrize(("total", "count"), [(1, 1), (4, 1), (14, 1), (15, 2), (25, 3), (1319, 132)])
def test_shares_are_rounded_half_up_and_are_one_row_at_least(total: int, count: int) -> None:
    assert len(choose(total).indices) == count


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, float("nan"), float("inf")])
def test_what_is_no_share_is_refused(share: float) -> None:
    with pytest.raises(UsageError, match="is not a share; write a number above 0 up to 1"):
        choose(10, sample=share)


def test_a_whole_share_is_all_rows() -> None:
    assert choose(10, sample=1.0).description == "all 10 rows"


def test_no_rows_are_refused() -> None:
    with pytest.raises(UsageError, match="has no rows"):
        choose(0, limit=5)


@given(st.integers(1, 400), st.floats(0.01, 1), st.floats(0.01, 1), st.integers(0, 2**40))
def test_a_larger_share_holds_the_smaller_one(total: int, first: float, second: float, seed: int) -> None:
    small, large = sorted((first, second))
    inner = choose(total, sample=small, seed=seed).indices
    outer = choose(total, sample=large, seed=seed).indices
    assert set(inner) <= set(outer)
    assert list(outer) == sorted(set(outer))
    assert all(0 <= place < total for place in outer)
