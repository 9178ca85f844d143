"""Which number a reply states, and which replies state none."""

import subprocess
import sys

import pytest

from mesocosm.core.conclusion import first_sentence, last_sentence
from mesocosm.core.number import stated_number


@pytest.mark.parametrize(
    "reply",
    [
        "A: 18",
        "a : 18",
        "She sells 9 eggs for 2 dollars each.\nA: 18",
        "**Answer:** $18",
        "**Answer:**\n18",
        "Final answer: **18** dollars",
        "The  final  answer: 18",
        "The final answer is **18**.",
        "so the answer is: 18. Check: 3 * 6 = 18",
        r"so $\boxed{18}$",
        r"\boxed{\frac{36}{2}}",
        r"\boxed{18\text{ dollars}}",
        "#### 18",
        "A: 18.00",
        "A: 18%",
        "A: €18",
        "A:\n18",
        "A: 3 + 15 = 18",
        "A: 36/2",
        "A: 18\n\n(That is 9 times 2, with 3 eggs eaten.)",
        "A: 4\nNo, she eats only 3.\nA: 18",
        "A: 4, 5, 6, 7 or 8, let me see.\nA: 18",
        "She makes 9*2 = $18 per day.",
        "16 - 3 - 4 = 9\n9 * 2 = 18",
        "A: 1.8e1",
        "She has 9 eggs left. So she makes $18.",
    ],
)
def test_the_final_number_is_understood_in_every_notation(reply: str) -> None:
    assert stated_number(reply) == 18


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
        "A: 18\nA: 17 or 18",
        "A: A: A: A:",
        "It is not 18.",
        "It isn't 18.",
        "The answer isn’t 18.",
        "It cannot be 18.",
        "The answer is not 18.",
        "Is it 18?",
        "18\nThat is all I know.",
        '{"answer": [17, 18]}',
        "null",
        "A: NaN",
        "A: infinity",
        "A: 1/0",
        "A: " + "1" * 100_000,
    ],
)
def test_hedges_lists_and_noise_state_no_number(reply: str) -> None:
    assert stated_number(reply) is None


def test_a_share_is_a_number_where_that_is_wanted() -> None:
    assert stated_number("A: 25 %", percent=True) == stated_number("It is 25%.", percent=True) == 0.25


@pytest.mark.parametrize(
    ("text", "first"), [("3.5 eggs. 4 pens.", "3.5 eggs"), ("yes! no", "yes"), ("a\nb", "a"), ("a; b", "a")]
)
def test_the_first_sentence_ends_where_one_does(text: str, first: str) -> None:
    assert first_sentence(text) == first


@pytest.mark.parametrize(
    ("text", "last"),
    [("One. Two is 3.5", " Two is 3.5"), ("It is never so.", ""), ("Is it 3?", ""), ("word " * 61, ""), (" \n", "")],
)
def test_the_last_sentence_concludes_or_is_none(text: str, last: str) -> None:
    claim = last_sentence(text)
    assert ("" if claim.doubt else claim.text) == last


def test_reading_replies_needs_the_standard_library_alone() -> None:
    """Graders of rollouts do it inside environments that hold nothing else of ours."""
    code = (
        "import sys; import mesocosm.core.number;"
        "print(*sorted(name for name in sys.modules if name.startswith('mesocosm.')));"
        "print(*[name for name in sys.modules if name.split('.')[0] in ('msgspec', 'pydantic')])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert said == ["mesocosm.core", *(f"mesocosm.core.{name}" for name in ("conclusion", "number", "thought"))]
