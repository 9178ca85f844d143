"""Which number counts as the right one, and that no reply is too long to be judged."""

import pytest

from mesocosm.benchmarks.builtin.gsm8k.grading import same, stated


@pytest.mark.parametrize(
    ("reply", "number"), [("A: 18", 18), ("A: $1.8 million", 1800000), ("x" * 100_000 + "\nSo it is 0.3.", 0.1 + 0.2)]
)
def test_a_stated_number_is_the_same_as_an_equal_one(reply: str, number: float) -> None:
    assert same(stated(reply), number)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "A: 17 or 18",
        "A: 15\nA: 16\nA: 17\nA: 18",
        "A: 18\n" + "and more words " * 2000,
        "18 " + "7 " * 50_000,
        "9" * 200_000,
        "A: " + "1" * 100_000,
        "#" * 200_000,
        "answer is " * 20_000,
    ],
)
def test_hedges_and_noise_state_no_number(reply: str) -> None:
    assert stated(reply) is None


def test_near_numbers_are_not_the_same() -> None:
    assert not same(1450001.0, 1450000.0)
    assert not same(None, 0.0)
    assert same(0.1 + 0.2, 0.3)
