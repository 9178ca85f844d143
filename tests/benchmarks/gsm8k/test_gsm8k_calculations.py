"""Why a number is wrong: beside the worked solution."""

import pytest

from mesocosm.benchmarks.builtin.gsm8k.calculations import calculations, wrong

QUESTION = "Tom has 16 eggs, eats 3 and bakes 4. He sells the rest for $2 each. What does he earn?"
REFERENCE = "He sells 16 - 3 - 4 = <<16-3-4=9>>9 eggs.\nHe earns 9 * 2 = $<<9*2=18>>18."


@pytest.mark.parametrize(
    ("reply", "given", "why", "mistake"),
    [
        ("", None, "It states no single final number", "No final number"),
        (
            "16-3-4=<<16-3-4=9>>9",
            9.0,
            "9 is the result of step 1 of 2 in the reference",
            "Stopped at an intermediate result",
        ),
        ("so", -18.0, "-18 has the wrong sign, expected 18", "Wrong sign"),
        ("so", -5.0, "-5 is negative, expected 18", "Negative where positive is due"),
        ("so", 4.5, "4.5 is not a whole number, expected 18", "Not a whole number"),
        ("so", 36.0, "36 is 2 times the right 18", "Off by a simple factor"),
        ("so", 1.8, "1.8 is not a whole number, expected 18", "Not a whole number"),
        ("so", 6.0, "6 is 1/3 of the right 18", "Off by a simple factor"),
        ("so", 16.0, "16 stands in the question, expected 18", "Repeats a number of the question"),
        (
            "<<13*2=26>>",
            26.0,
            "1 calculation, the reference has 2; none gives its step 1, 16-3-4=9",
            "Left out a step",
        ),
        (
            "<<1+1=2>><<16-7=9>><<4+7=11>>",
            11.0,
            "3 calculations, the reference has 2; none gives its step 2, 9*2=18",
            "Extra or other steps",
        ),
        (
            "<<16-7=9>><<9*2=18>><<18+7=25>>",
            25.0,
            "3 calculations, the reference has 2; 18+7=25 is not in it",
            "Extra or other steps",
        ),
        (
            "<<16-7=9>><<9*2=18>>",
            25.0,
            "It computes the 18 of the reference, but states 25",
            "Right number of steps, wrong values",
        ),
        (
            *("16 - 3 = 13\n13 * 2 = 26", 26.0),
            *(
                "Step 1 of 2 is 16 - 3=13, in the reference 16-3-4=9",
                "Right number of steps, wrong values",
            ),
        ),
        ("just so", 26.0, "It states 26, expected 18", "Another number"),
    ],
)
def test_each_wrong_number_has_its_sentence(reply: str, given: float | None, why: str, mistake: str) -> None:
    assert wrong(reply, given, QUESTION, REFERENCE, 18.0) == (why, mistake)


def test_calculations_are_read_as_marked_or_as_written() -> None:
    assert [one.result for one in calculations(REFERENCE)] == [9.0, 18.0]
    assert [one.result for one in calculations("16 - 3 = 13, then 13 x $2 = $26. In all 1,000 + 24 = 1,024")] == [
        13,
        26,
        1024,
    ]
    assert calculations("no number = here") == []
