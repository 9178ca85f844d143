"""Quasi-exact match: what is the same answer, and what earns nothing."""

import pytest

from mesocosm.benchmarks.builtin.gaia_orchestrated.grading import MOST_CHARACTERS, correct, final_answer


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("3130", "3130"),
        ("3,130", "3130"),
        (" $3130 ", "3130"),
        ("3130.0", "3130"),
        ("19.57%", "19.57"),
        ("odile  marrant.", "Odile Marrant"),
        ("hall 2", "Hall 2"),
        ("Highmoor,Saltmarsh", "Highmoor, Saltmarsh"),
        ("petrel; 2029.0", "Petrel, 2029"),
    ],
)
def test_spelling_does_not_matter(answer: str, gold: str) -> None:
    assert correct(answer, gold)


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("", "3130"),
        ("3131", "3130"),
        ("3130 inhabitants", "3130"),
        ("3130 or 3131", "3130"),
        ("between 3000 and 3200", "3130"),
        ("nan", "3130"),
        ("inf", "3130"),
        ("1e9999", "3130"),
        ("Odile Marrant or Rufus Aldane", "Odile Marrant"),
        ("Odile Marrant, Rufus Aldane", "Odile Marrant"),
        ("Odile Marrant Odile Marrant", "Odile Marrant"),
        ("Highmoor", "Highmoor, Saltmarsh"),
        ("Highmoor, Saltmarsh, Greywater, Northshore", "Highmoor, Saltmarsh"),
        ("Saltmarsh, Highmoor", "Highmoor, Saltmarsh"),
        ("Petrel, 2030", "Petrel, 2029"),
        ("I cannot answer this.", "Lissen"),
        ("Lissen" + " " * MOST_CHARACTERS, "Lissen"),
        ("...", "Lissen"),
    ],
)
def test_another_answer_is_wrong(answer: str, gold: str) -> None:
    assert not correct(answer, gold)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("So it is.\nFINAL ANSWER: 42", "42"),
        ("**FINAL ANSWER: 42**", "42"),
        ("final answer:  Lissen \n", "Lissen"),
        ("FINAL ANSWER: 42\nFINAL ANSWER: 42", "42"),
    ],
)
def test_the_final_answer_is_what_its_line_says(text: str, answer: str) -> None:
    assert final_answer(text) == answer


@pytest.mark.parametrize(
    "text",
    ["", "42", "the FINAL ANSWER: 42 is near", "FINAL ANSWER: 42\nFINAL ANSWER: 43", "FINAL ANSWER\n42"],
)
def test_words_without_one_final_answer_give_none(text: str) -> None:
    assert final_answer(text) is None
