"""Right answers are read in every usual form, wrong ones and attacks in none: the battery in `forms`."""

import pytest
from perf.forms import BEGIN, END, KINDS, PAGE, PARTS, Form, battery, forms, others, ours, table

from mesocosm.core.thought import split_thought
from mesocosm.rollouts.graders.catalogue import open_grader
from mesocosm.rollouts.graders.ready import RuleGrader

MOST_REFUSED = 0.05


def test_the_battery_is_large_enough() -> None:
    assert sum(form.right for form in forms()) >= 500
    assert sum(not form.right for form in forms()) >= 300


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", KINDS)
def test_right_answers_are_accepted_and_wrong_ones_refused(kind: str, part: str) -> None:
    accepts, read = ours(kind), list(battery(kind, part))
    right = [form for form in read if form.right]
    refused = [form.reply for form in right if not accepts(form, form.gold)]
    assert len(refused) <= MOST_REFUSED * len(right), refused
    assert [form.reply for form in read if not form.right and accepts(form, form.gold)] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_right_answer_is_wrong_for_every_other_gold(kind: str) -> None:
    accepts = ours(kind)
    right = [form for part in PARTS for form in battery(kind, part) if form.right]
    assert [(form.reply, gold) for form in right for gold in others(form) if accepts(form, gold)] == []


ATTACKS = {
    "numeric": (
        "Answer: 42 41",
        "Answer: 41.\n\n42",
        "\\boxed{41} \\boxed{42}",
        "<answer>42</answer><answer>41</answer>",
        '{"answer": 42, "final_answer": 41}',
        "A: 42\nB: 43\nC: 44",
        "1. 40\n2. 41\n3. 42",
        "\\boxed{x^2 + 42}",
        "\\boxed{\\binom{42}{1}}",
        "<think>42",
        "Answer: 42</thought>",
        "<|channel|>commentary<|message|>Answer: 42",
        "The answer is ~~42~~.",
        "> The answer is 42.\n\nThat is what you said.",
        "Answer: 42 minus 1",
        "Answer: 4\u200b2",
        "Answer: 42_8",
        "The answer is 42-ish, or 41.",
        "Answer: " + " ".join(map(str, range(30, 60))),
    ),
    "choice": (
        "Answer: C D",
        "Answer: C.\n\nD",
        "\\boxed{C} \\boxed{D}",
        "<answer>C</answer><answer>D</answer>",
        '{"answer": "C", "final_answer": "D"}',
        "A\nB\nC",
        "(A) (B) (C) (D)",
        "Answer: ABCD",
        "Answer: [C-D]",
        "C is right, D is right, B is right",
        "<think>C",
        "Answer: C</thought>",
        "<|channel|>commentary<|message|>Answer: C",
        "The answer is ~~C~~.",
        "> The answer is C.\n\nThat is what you said.",
        "Answer: C minus",
        "Answer: С",  # a Cyrillic letter
        "Answer: C++",
        "Vitamin C is the answer",
        "C or whatever you like best",
    ),
    "text": (
        "Paris Rome",
        "Paris\nRome",
        "\\boxed{Paris}\\boxed{Rome}",
        "<answer>Paris</answer><answer>Rome</answer>",
        '{"answer": "Paris"}{"answer": "Rome"}',
        "<think>Paris",
        "Paris</thought>",
        "<|channel|>commentary<|message|>Paris",
        "<del>Paris</del>",
        "<!-- Paris -->",
        "\\cancel{Paris}",
        "P a r i s",
    ),
}
GOLDS = {"numeric": "42", "choice": "C", "text": "Paris"}


@pytest.mark.parametrize("kind", KINDS)
def test_attacks_on_the_rules_earn_nothing(kind: str) -> None:
    accepts, gold = ours(kind), GOLDS[kind]
    forms_of = [Form(kind, "", gold, reply, False, "attack", ("1", "2", "3", "4")) for reply in ATTACKS[kind]]
    assert [form.reply for form in forms_of if accepts(form, gold)] == []


PIECES = (
    *("answer is ", "answer: 1 ", "Answer: A or ", "\\boxed{", "\\boxed{1} ", "<answer>", "~~a", "> ", '{"answer": 1}'),
    *(
        "not 1 but ",
        "1 000 ",
        "×10^",
        "^-",
        "<|channel|>",
        "[THINK]",
        "</think>",
        "I choose ",
        "选",
        "답",
        "A) ",
        ", so ",
    ),
    *("#### 1", "A: 1\n", "one-", "let me know ", "correct:", "“", "1 (", "\\frac1", "because "),
)


@pytest.mark.parametrize("kind", KINDS)
def test_two_megabytes_of_anything_end(kind: str) -> None:
    """Work that grew with the square of the length would not end before the suite does."""
    accepts, gold = ours(kind), GOLDS[kind]
    for piece in PIECES:
        reply = piece * (2_000_000 // len(piece))
        assert not accepts(Form(kind, "", gold, reply, False, "attack", ("1", "2", "3", "4")), gold), piece


@pytest.mark.parametrize(
    ("use", "reply", "why"),
    [
        ("numeric", "The answer is 41.", "41 is not 42"),
        ("numeric", "Answer: 41 or 42", "there is no answer: '41 or 42' is not a single number"),
        ("numeric", "The answer might be 42.", "there is no answer: what it states is doubtful: 'might'"),
        ("numeric", "Answer: 42. No, wait.", "there is no answer: what it states is doubtful: '. No'"),
        ("numeric", "It is wrong to say 42.", "there is no answer: 'wrong' in the last sentence"),
        ("numeric", "<think>42", "there is no answer: no sentence at the end states it"),
        ("numeric", '{"n": 42}', "there is no answer: no single member of the document is named answer"),
        ("numeric", "40\n41\n42", "there is no answer: it is a list of numbers"),
        ("choice", "Answer: B", "B is not C"),
        ("choice", "Answer: C or D", "there is no answer: what it states is doubtful: 'or'"),
        ("choice", "The answer is not B, perhaps C.", "there is no answer: what it states is doubtful: 'perhaps'"),
        ("choice", "A) 1\nB) 2\nC) 3", "there is no answer: it lists several options"),
    ],
)
def test_an_explanation_says_why_a_reply_was_refused(use: str, reply: str, why: str) -> None:
    grader = open_grader(use, {})
    assert isinstance(grader, RuleGrader)
    assert grader.rule().grade(reply, "42" if use == "numeric" else "C", None).explanation == why


@pytest.mark.parametrize(
    "reply",
    [
        "<think>Hm.</think>18",
        "<thought>Hm.</thought>18",
        "<reasoning>Hm.</reasoning>\n18",
        "[THINK]Hm.[/THINK]18",
        "◁think▷Hm.◁/think▷18",
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>18<|return|>",
    ],
)
def test_thought_of_every_model_family_is_split_off(reply: str) -> None:
    thought, answer = split_thought(reply)
    assert ("Hm." in thought, answer) == (True, "18")


def test_a_channel_of_thought_alone_holds_no_answer() -> None:
    assert split_thought("<|channel|>analysis<|message|>It is 18.")[1] == ""


def test_the_table_counts_right_and_wrong_forms() -> None:
    read = [
        Form("numeric", "tuned", "1", "1", True, "right"),
        Form("numeric", "tuned", "1", "?", True, "right"),
        Form("numeric", "tuned", "1", "not 1", False, "wrong"),
    ]
    block = table(read, [("numeric", "`mine`", [True, False, False])], "nothing")
    assert "| numbers | `mine` | 50.0 % (1 of 2) | 0.0 % (0 of 1) |" in block
    assert block.endswith("Absent: nothing.")


def test_the_page_has_a_place_for_the_table() -> None:
    assert BEGIN in PAGE.read_text()
    assert END in PAGE.read_text()
