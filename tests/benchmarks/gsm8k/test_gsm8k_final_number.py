"""Which number a reply states, and which replies state none."""

import pytest

from mesocosm.benchmarks.builtin.gsm8k.grading import same, stated


@pytest.mark.parametrize(
    "reply",
    [
        "A: 18",
        "a : 18",
        "She sells 9 eggs for 2 dollars each.\nA: 18",
        "**Answer:** $18",
        "Final answer: **18** dollars",
        "The final answer is **18**.",
        "so the answer is: 18. Check: 3 * 6 = 18",
        r"so $\boxed{18}$",
        r"\boxed{\frac{36}{2}}",
        r"\boxed{18\text{ dollars}}",
        "#### 18",
        "A: 18.00",
        "A: 18%",
        "A:\n18",
        "A: 3 + 15 = 18",
        "A: 36/2",
        "A: 18\n\n(That is 9 times 2, with 3 eggs eaten.)",
        "A: 4\nNo, she eats only 3.\nA: 18",
        "She makes 9*2 = $18 per day.",
        "16 - 3 - 4 = 9\n9 * 2 = 18",
        "A: 1.8e1",
        "She has 9 eggs left. So she makes $18.",
    ],
)
def test_the_final_number_is_understood_in_every_notation(reply: str) -> None:
    assert stated(reply) == 18


@pytest.mark.parametrize(
    ("reply", "number"),
    [
        ("A: 1,450,000", 1450000),
        ("A: $1.8 million", 1800000),
        ("A: −5", -5),
        ("A: -5.5", -5.5),
        ("A: 17 1/2", 17.5),
        ("A: 1{,}200", 1200),
        (r"A: \$18,000.50.", 18000.5),
    ],
)
def test_signs_separators_and_fractions_are_read(reply: str, number: float) -> None:
    assert same(stated(reply), number)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I cannot help with that.",
        "A: 17 or 18",
        "A: 17, 18, 19",
        "17 18 19",
        "A: 2-18",
        "A: 15\nA: 16\nA: 17\nA: 18",
        "A: A: A: A:",
        "It is not 18.",
        "Is it 18?",
        "18\nThat is all I know.",
        "18 " + "7 " * 50_000,
        "9" * 200_000,
        "A: " + "1" * 100_000,
        "#" * 200_000,
        "answer is " * 20_000,
        '{"answer": [17, 18]}',
        "null",
        "A: NaN",
        "A: infinity",
        "A: 1/0",
    ],
)
def test_hedges_lists_and_noise_state_no_number(reply: str) -> None:
    assert stated(reply) is None


def test_near_numbers_are_not_the_same() -> None:
    assert not same(1450001.0, 1450000.0)
    assert not same(None, 0.0)
    assert same(0.1 + 0.2, 0.3)
