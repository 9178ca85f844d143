"""Which option a reply chooses, and which replies choose none."""

import pytest

from mesocosm.benchmarks.builtin.mmlu.grading import chosen


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("B", "B"),
        (" b. ", "B"),
        ("(C)", "C"),
        ("**D**", "D"),
        ("I think a good answer is B", "B"),
        ("The answer is A", "A"),
        ("The answer is A.", "A"),
        ("The answer is a.", "A"),
        ("Answer: A because it fits", "A"),
        ("The answer is (d).", "D"),
        ("Answer: c", "C"),
        ("**Answer:** B", "B"),
        ("Answer: **B. Paris**", "B"),
        ("Answer:\nB", "B"),
        ("B. Paris", "B"),
        ("B) Paris is right, as A lies elsewhere", "B"),
        ("The answer is B, not A.", "B"),
        (r"$\boxed{C}$", "C"),
        (r"\boxed{\text{B}}", "B"),
        ("A is wrong because it is. B is wrong. So the correct option is D", "D"),
        ("First I thought the answer is A. But no.\nAnswer: C", "C"),
        ("The correct answer is option C", "C"),
        ("Option B is correct.", "B"),
        ("A is not the best. B is the best.", "B"),
        ("I choose B", "B"),
        ("The answer is D.\n\nExplanation: A is wrong, B is wrong.", "D"),
        ("A\n\nBecause it is.", "A"),
        ("The correct choice would be (B) because of D-day.", "B"),
    ],
)
def test_a_stated_letter_is_understood(reply: str, letter: str) -> None:
    assert chosen(reply) == letter


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I cannot answer that.",
        "A good question. Let me think.",
        "the answer is a matter of taste",
        "Answer: A good one",
        "Vitamin D is the answer",
        "A, B, C, D",
        "ABCD",
        "Answer: A or B",
        "Answer: A, B, C, D",
        "Answer: A\nAnswer: B\nAnswer: C\nAnswer: D",
        "A is correct, B is correct, C is correct, D is correct",
        "A. x\nB. y\nC. z\nD. w",
        "D" * 100_000,
        "Answer: " * 20_000,
        "[1, 2, 3]",
        "null",
    ],
)
def test_hedges_lists_articles_and_noise_choose_nothing(reply: str) -> None:
    assert chosen(reply) is None
