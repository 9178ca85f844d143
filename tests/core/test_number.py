"""How numbers are read."""

import pytest

from mesocosm.core.number import only, single, spellings, values


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,450,000", 1450000),
        ("$1.8 million", 1800000),
        ("3   billion", 3e9),
        ("3 millions", 3),
        ("−5", -5),
        ("-5.5", -5.5),
        ("-€5", -5),
        ("£ 5", 5),
        (".5", 0.5),
        ("17 1/2", 17.5),
        ("-1 1/2", -1.5),
        ("3     /     4", 0.75),
        (r"\frac{3}{4}", 0.75),
        (r"\dfrac{ -3 }{ 4 }", -0.75),
        ("1{,}200", 1200),
        (r"\$18,000.50.", 18000.5),
        (r"\mathbf{7}\text{ of 9 pens}", 7),
        ("2 + 2 = 4", 4),
        ("1.8e1", 18),
        ("**42**", 42),
        ("25 %", 25),
    ],
)
def test_every_notation_of_a_number_is_read(text: str, number: float) -> None:
    assert single(text) == pytest.approx(number)


@pytest.mark.parametrize("text", ["", "none", "x1", "v1.2.3", "1/0", "nan", "3 or 4", "2-3", "1 2", "9" * 41])
def test_a_text_of_no_or_several_numbers_has_no_single_one(text: str) -> None:
    assert single(text) is None


def test_equal_numbers_are_one() -> None:
    assert values("3, 3.0 and 6/2") == {3.0}


def test_a_share_of_a_hundred_is_one_where_that_is_wanted() -> None:
    assert values("25% or 0.3", percent=True) == {0.25, 0.3}


def test_numbers_are_told_as_they_are_written() -> None:
    assert spellings("From $5 to 1 1/2, or 3 million, 7%") == ["$5", "1 1/2", "3 million", "7%"]


def test_the_only_one_of_several_is_none() -> None:
    assert (only(frozenset()), only(frozenset({1.0, 2.0})), only(frozenset({0.0}))) == (None, None, 0.0)


@pytest.mark.parametrize("piece", ["1,", "1 ", "1/", "- ", "\\text{", "\\frac{", "1   ", "{", "\\a", "1.", "million "])
def test_a_long_text_is_read_in_time(piece: str) -> None:
    """Work that grew with the square of the length would take minutes for each of these."""
    assert len(values(piece * (300_000 // len(piece)))) <= 2


def test_a_long_blank_is_read_in_time() -> None:
    assert single("1" + " " * 300_000 + "x") == 1.0
