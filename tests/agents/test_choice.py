import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesocosm.agents.chosen_option import LOOKED_THROUGH, ChosenOption, Unknown, last_choice
from mesocosm.agents.quantity import Quantity
from mesocosm.agents.vocabulary import Vocabulary

MOVES = Vocabulary(["left", "right", "turn_left", "up", "down"])
LETTERS = Vocabulary(["A", "B", "C", "D"])
NUMBERS = Quantity()


def chosen(text: str, reader: Vocabulary | Quantity) -> object:
    found = last_choice(text, reader)
    return found.value if isinstance(found, ChosenOption) else found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("left", "left"),
        ("  LEFT. ", "left"),
        ("TURN LEFT", "turn_left"),
        ("turn-left", "turn_left"),
        ("`turn_left`", "turn_left"),
        ('"Up!"', "up"),
    ],
)
def test_an_answer_that_is_a_value_in_any_spelling(text: str, value: str) -> None:
    assert chosen(text, MOVES) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I first thought of left.\nAction: right", "right"),
        ("**Action:** turn left\nbecause right is a wall", "turn_left"),
        ("Final answer: up\n\nThis avoids left and right.", "up"),
        ("Action:\n\n  down", "down"),
        ('{"action": "left"}', "left"),
        ("The best move is up. Not down.", "up"),
        ("\\boxed{\\text{down}}, and left would be wrong", "down"),
        ("<answer>left</answer> and right is a wall", "left"),
        ("Action: left\nObservation: a wall.\nAction: right", "right"),
        ("My move: go left, because right leads to a trap", "left"),
        ("Between left and right, I prefer `left`.", "left"),
        ("Left or right? Well... **up**", "up"),
    ],
)
def test_the_last_explicit_choice_beats_mentions(text: str, value: str) -> None:
    assert chosen(text, MOVES) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I choose B because A is bad", "B"),
        ("B because A is bad", "B"),
        ("B\n\nExplanation: A ignores C.", "B"),
        ("The answer is B. C and D are distractors.", "B"),
        ("A is wrong. C looks bad. So D.", "D"),
        ("I am sure that A is not right, D is.", "D"),
        ("I was going to pick A, but B is better", "B"),
        ("Answer: a", "A"),
        ("(C)", "C"),
        ("D. Because it fits", "D"),
    ],
)
def test_choices_by_letter(text: str, value: str) -> None:
    assert chosen(text, LETTERS) == value


def test_the_article_is_no_choice() -> None:
    assert chosen("There is a door and A window, so C", LETTERS) == "C"
    assert chosen("A door is ahead", LETTERS) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("don't go left, go up", "up"),
        ("not left but right", "right"),
        ("up rather than down", "up"),
        ("go left instead of right", "left"),
        ("I go left if right is blocked", "left"),
        ("down, never up", "down"),
        ("I can go left, right is blocked", "left"),
    ],
)
def test_what_is_ruled_out_is_no_choice(text: str, value: str) -> None:
    assert chosen(text, MOVES) == value


def test_text_that_only_rules_out_makes_no_choice() -> None:
    assert chosen("not left", MOVES) is None
    assert chosen("I won't go up", MOVES) is None


def test_the_longest_value_is_meant() -> None:
    assert chosen("so I turn left now", MOVES) == "turn_left"


def test_parts_of_words_are_no_values() -> None:
    assert chosen("the left-hand rule of uppercase downtown", MOVES) is None


def test_a_marked_choice_that_is_not_allowed_beats_earlier_mentions() -> None:
    assert chosen("left looks good.\nAction: jump", MOVES) == Unknown("jump")


def test_prose_behind_a_label_is_no_choice() -> None:
    assert chosen("Action: let us look at all the doors before we decide. I go up", MOVES) == "up"


def test_a_list_of_the_options_does_not_count_as_marked() -> None:
    assert chosen("Options:\n- left\n- right\nI take left", MOVES) == "left"


def test_values_made_of_symbols_and_numbers() -> None:
    arrows = Vocabulary(["->", "<-", "?"])
    assert chosen("Action: ->", arrows) == "->"
    signs = Vocabulary(["-1", "0", "1"])
    assert chosen("I pick -1", signs) == "-1"
    assert chosen("it is 1.5 or B1", signs) is None


def test_values_that_are_words_of_negation() -> None:
    assert chosen("There is no doubt: yes", Vocabulary(["yes", "no"])) == "yes"
    assert chosen("I do not stop", Vocabulary(["stop", "do not stop"])) == "do not stop"


def test_values_that_differ_in_case_alone_are_told_apart() -> None:
    cases = Vocabulary(["a", "A"])
    assert chosen("Action: a", cases) == "a"
    assert chosen("Action: A", cases) == "A"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5", 0.5),
        ("-5", -5),
        ("−3", -3),
        (".5", 0.5),
        ("$5", 5),
        ("Action: -3.5e2", -350),
        ("about 1,000.5", 1000.5),
        ("I set 0.5 because 1.0 is too much", 0.5),
        ("between 1 and 2: I take 1.5", 1.5),
        ("\\boxed{7}", 7),
        ("from 3-5", 5),
        ("Answer: 12.", 12),
    ],
)
def test_numbers(text: str, value: float) -> None:
    assert chosen(text, NUMBERS) == value


@pytest.mark.parametrize("text", ["nan", "inf", "1e999", "x1 y2", "none", "-", ""])
def test_what_is_no_finite_number(text: str) -> None:
    assert not isinstance(last_choice(text, NUMBERS), ChosenOption)


def test_a_choice_is_looked_for_at_the_end_of_a_huge_text() -> None:
    assert chosen("blah " * 250_000 + "so I go up", MOVES) == "up"
    assert chosen("Action: left\n" + "blah " * LOOKED_THROUGH, MOVES) is None


@given(st.text(max_size=200))
def test_never_raises(text: str) -> None:
    for reader in (MOVES, LETTERS, NUMBERS):
        last_choice(text, reader)


@given(st.lists(st.sampled_from(["left", "not", "Action:", "**", "because", "A", "I", ".", "\n", "-", "5", "choose"])))
def test_whatever_is_chosen_was_declared(words: list[str]) -> None:
    found = last_choice(" ".join(words), MOVES)
    assert not isinstance(found, ChosenOption) or found.value == "left"
