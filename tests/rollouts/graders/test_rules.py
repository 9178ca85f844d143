"""What the rules that need nothing but text take for right."""

import json
import subprocess
import sys
from typing import Any

import pytest

from mesocosm.rollouts.graders import matching
from mesocosm.rollouts.graders.answer import MissingLabel
from mesocosm.rollouts.graders.choice import ChoiceConfig, ChoiceRule
from mesocosm.rollouts.graders.exact import ExactConfig, ExactRule
from mesocosm.rollouts.graders.json_schema import JsonSchemaConfig, JsonSchemaRule
from mesocosm.rollouts.graders.matching import TooSlow, found
from mesocosm.rollouts.graders.normalised import NormalisedConfig, NormalisedRule
from mesocosm.rollouts.graders.numeric import NumericConfig, NumericRule
from mesocosm.rollouts.graders.regex import RegexConfig, RegexRule


@pytest.mark.parametrize(
    ("reply", "value"), [("Paris", 1), (" Paris\n", 1), ("paris", 0), ("Paris.", 0), ("Par is", 0)]
)
def test_exact(reply: str, value: float) -> None:
    assert ExactRule().grade(reply, "Paris").value == value


def test_any_of_several_labels_is_right() -> None:
    rule = ExactRule(ExactConfig(label_from="names"))
    assert [rule.grade(reply, None, {"names": ["NYC", "New York"]}).value for reply in ("NYC", "New York", "York")] == [
        1,
        1,
        0,
    ]


def test_a_verdict_says_why() -> None:
    assert ExactRule().grade("London", "Paris").explanation == "'London' is not 'Paris'"


@pytest.mark.parametrize(
    ("reply", "label", "value"),
    [
        ("The  PARIS!", "paris", 1),
        ("Straße", "STRASSE", 1),
        ("ｆｕｌｌ", "full", 1),
        ("the", "the", 1),
        ("a", "the", 0),
        ("!", "the", 0),
        ("Paris France", "Paris", 0),
        ("café", "cafe", 0),
        ("5", "-5", 0),
        ("(−5).", "-5", 1),
        ("$5", "-$5", 0),
        ("5", ".5", 0),
        ("- 5", "5", 1),
        ("1990–1995", "1990-1995", 1),
        ("C", "C++", 0),
        ("C#", "C++", 0),
        ("C++.", "C++", 1),
        ("A", "A-", 0),
        ("Vitamin", "Vitamin A", 0),
        ("vitamin A.", "Vitamin A", 1),
        ("Beatles, The", "the Beatles", 1),
    ],
)
def test_normalised(reply: str, label: str, value: float) -> None:
    assert NormalisedRule().grade(reply, label).value == value


def test_accents_may_be_left_out() -> None:
    assert NormalisedRule(NormalisedConfig(accents=False)).grade("café", "cafe").value == 1


def test_shared_words_are_a_score_and_no_reward() -> None:
    verdict = NormalisedRule().grade("Paris in France", "Paris France")
    assert verdict.value == 0
    assert verdict.scores["f1"] == pytest.approx(0.8)


def test_a_repeated_word_counts_as_often_as_it_stands_in_the_label() -> None:
    rule = NormalisedRule(NormalisedConfig(reward="f1"))
    assert rule.grade("Paris " * 99, "Paris France").value == pytest.approx(2 / 101)


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("42", "42"),
        ("The answer is **42**.", "42"),
        ("= 40 + 2 = 42", "42"),
        ("A: $1,234.50", "1234.5"),
        ("#### -7", "-7"),
        ("so it is \\boxed{\\frac{3}{4}}", "0.75"),
        ("Answer: 1 1/2", "1.5"),
        ("Answer: 3 million", "3000000"),
        ("Answer: 1e3", "1000"),
        ("Answer: 25%", "25"),
        ("Answer: 41. No, wait.\nAnswer: 42", "42"),
        ("Answer: 38, 39, 40 or 41? No.\nAnswer: 42", "42"),
        ("**Answer:**\n42", "42"),
        ("Answer: forty-two", "42"),
    ],
)
def test_numbers_that_are_stated(reply: str, label: str) -> None:
    assert NumericRule().grade(reply, label).value == 1


@pytest.mark.parametrize(
    "reply",
    [
        "The answer is not 42.",
        "Is it 42?",
        "41 or 42",
        "Answer: 41 or 42",
        "Answer: between 40 and 42",
        "Answer: 1\nAnswer: 2\nAnswer: 3\nAnswer: 42",
        "Answer: 420",
        "Answer: 4 2",
        "Answer: -42",
        "Answer: 42,000",
        "Answer: 42.0001",
        "Answer: forty-three",
        "Answer: 42" + "0" * 50,
        "Answer: nan",
        "Answer: inf",
    ],
)
def test_what_states_no_number_or_another(reply: str) -> None:
    assert NumericRule().grade(reply, "42").value == 0


@pytest.mark.parametrize(
    ("options", "reply", "label", "value"),
    [
        ({"tolerance": 0.01}, "3.14", "3.14159", 1),
        ({"tolerance": 0.001}, "3.14", "3.14159", 0),
        ({"relative": 0.01}, "995", "1000", 1),
        ({"relative": 0.01}, "985", "1000", 0),
        ({"percent": True}, "25%", "0.25", 1),
        ({"percent": True}, "25", "0.25", 0),
        ({"last": "number"}, "Answer: 7\nor rather 42", "42", 1),
    ],
)
def test_numeric_options(options: dict[str, Any], reply: str, label: str, value: float) -> None:
    assert NumericRule(NumericConfig(**options)).grade(reply, label).value == value


@pytest.mark.parametrize("label", ["forty", "1 or 2", None, ""])
def test_a_label_without_a_number_is_the_rows_fault(label: str | None) -> None:
    with pytest.raises(MissingLabel):
        NumericRule().grade("42", label)


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        ("C", True),
        ("(c)", True),
        ("**C**", True),
        ("The answer is C.", True),
        ("Answer: (C) because it fits", True),
        ("\\boxed{C}", True),
        ("C is the correct option", True),
        ("I would choose C.", True),
        ("Let me see.\nC) 42", True),
        ("Not A. The answer is C, not B.", True),
        ("The answer is A good question", False),
        ("The answer is not C.", False),
        ("Answer: C or D", False),
        ("Answer: A. Answer: B. Answer: C.", False),
        ("C, D", False),
        ("Cats", False),
        ("the capital is in C major", False),
        ("E", False),
        ("So we choose C", True),
        ("A fits nothing.\n\n**C** is therefore correct.", True),
        ("As I said, the answer is C.", True),
        ("That said, the answer is C.", True),
        ("I strongly believe the answer is C.", True),
        ("We can claim that the answer is C.", True),
        ("My friend said the answer is C.", False),
        ("He claims that the correct answer is C.", False),
        ("The teacher says the answer is C.", False),
        ("Second best answer: C", False),
        ("Answer: ¬C", False),
        ("We would not choose C.", False),
        ("C is therefore not the answer.", False),
    ],
)
def test_choices(reply: str, chosen: bool) -> None:
    assert ChoiceRule().grade(reply, "C").value == chosen


@pytest.mark.parametrize(
    ("options", "label", "reply", "value"),
    [
        ({"letters": "ABCDEFGHIJ"}, "J", "Answer: J", 1),
        ({"letters": "AB"}, "B", "C", 0),
        ({"label_is_index": True}, "2", "C", 1),
        ({"label_is_index": True}, "2", "B", 0),
        ({"choices_from": "o"}, "green", "B", 1),
        ({"choices_from": "o"}, "B", "Answer: Green.", 1),
        ({"choices_from": "o"}, "B", "red", 0),
        ({"choices_from": "o"}, "B", "red green", 0),
        ({"choices_from": "o"}, "B", "D", 0),
        ({"choices_from": "letters"}, "A", "A", 1),
        ({"choices_from": "letters"}, "A", "b", 0),
        ({"after": "=>"}, "B", "A B C => B", 1),
        ({"after": "=>"}, "B", "A B C => B or C", 0),
    ],
)
def test_choice_options(options: dict[str, Any], label: str, reply: str, value: float) -> None:
    rule = ChoiceRule(ChoiceConfig(**options))
    assert rule.grade(reply, label, {"o": ["red", "green", "blue"], "letters": ["b", "x"]}).value == value


def test_a_label_that_means_two_options_is_the_rows_fault() -> None:
    with pytest.raises(MissingLabel):
        ChoiceRule(ChoiceConfig(choices_from="o")).grade("A", "B", {"o": ["B", "A"]})


@pytest.mark.parametrize("label", ["E", "nothing", "7", None])
def test_a_label_that_is_no_option_is_the_rows_fault(label: str | None) -> None:
    with pytest.raises(MissingLabel):
        ChoiceRule().grade("A", label)


@pytest.mark.parametrize(
    ("options", "reply", "label", "value"),
    [
        ({"match": r"[a-z]+-\d"}, "ab-3", None, 1),
        ({"match": r"[a-z]+-\d"}, "so ab-3", None, 0),
        ({"match": r"[a-z]+-\d", "anywhere": True}, "so ab-3", None, 1),
        ({"match": r"[a-z]+-\d", "ignore_case": True}, "AB-3", None, 1),
        ({"match": r"{label}!"}, "a.c!", "a.c", 1),
        ({"match": r"{label}!"}, "abc!", "a.c", 0),
        ({"match": r"{label}+"}, "4242", "42", 1),
        ({"match": r"x{label}?"}, "x4", "42", 0),
        ({"match": r"#(\d+)", "group": 1, "anywhere": True}, "see #4 and #4", "4", 1),
        ({"match": r"#(\d+)", "group": 1, "anywhere": True}, "see #3 and #4", "4", 0),
        ({"match": r"#(?P<n>\d+)", "group": "n"}, "#4", "4", 1),
        ({"match": r"a.b", "dotall": True}, "a\nb", None, 1),
    ],
)
def test_regex(options: dict[str, Any], reply: str, label: str | None, value: float) -> None:
    assert RegexRule(RegexConfig(**options)).grade(reply, label).value == value


@pytest.mark.parametrize("pattern", [r"(a+)+c", r"(a|aa)+c", r"(a|a?)+c", r"(.*a){20}c", r"a*a*a*a*a*a*c"])
def test_an_expression_without_end_is_ended(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "SECONDS", 0.2)
    verdict = RegexRule(RegexConfig(match=pattern)).grade("a" * 10_000, None)
    assert verdict.value == 0
    assert verdict.scores == {"match_too_slow": 1.0}
    assert found("b+", "abba") == ["bb"]


def test_a_worker_that_was_killed_is_replaced() -> None:
    assert found("a", "a") == ["a"]
    worker = matching._WORKERS._idle[-1]
    worker.kill()
    worker.wait()
    assert found("a", "aa") == ["a", "a"]


def test_too_slow_names_the_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "SECONDS", 0.2)
    with pytest.raises(TooSlow, match=r"\(a\+\)\+c"):
        found("(a+)+c", "a" * 100)


PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 1}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('{"name": "Ann", "age": 3}', 1),
        ('Here:\n```json\n{"name": "Ann", "age": 3}\n```', 1),
        ('{"name": "Ann", "age": "3"}', 0),
        ('{"name": "Ann"}', 0),
        ('{"name": "Ann", "age": 3, "age": 4}', 0),
        ('{"name": "Ann", "age": NaN}', 0),
        ('{"name": "Ann", "age": 1e999}', 0),
        ('{"name": "Ann", "age": 3} {"name": "Bob", "age": 4}', 0),
        ('```\n{"name": "Ann", "age": 3}\n```\n```\n{"name": "Bob", "age": 4}\n```', 0),
        ("null", 0),
        ("name: Ann", 0),
        ("[" * 5000 + "]" * 5000, 0),
    ],
)
def test_json_that_follows_a_schema(reply: str, value: float) -> None:
    assert JsonSchemaRule(JsonSchemaConfig(schema=PERSON)).grade(reply, None).value == value


def test_fences_inside_texts_are_no_fences() -> None:
    rule = JsonSchemaRule(JsonSchemaConfig(schema={"type": "object", "required": ["text"]}))
    assert rule.grade(json.dumps({"text": "```py\nx\n```"}), None).value == 1


def test_json_says_what_is_wrong() -> None:
    verdict = JsonSchemaRule(JsonSchemaConfig(schema=PERSON)).grade('{"name": "", "age": -1}', None)
    assert verdict.scores == {"valid_json": 1.0, "fits_schema": 0.0}
    assert "age: must be at least 0" in verdict.explanation


def test_json_that_equals_the_label() -> None:
    rule = JsonSchemaRule(JsonSchemaConfig(equals_label=True))
    assert rule.grade('{"b": 2.0, "a": 1}', '{"a": 1, "b": 2}').value == 1
    assert rule.grade('{"a": 1}', '{"a": 1, "b": 2}').value == 0
    assert rule.grade('{"a": true, "b": 2}', '{"a": 1, "b": 2}').value == 0


def test_members_beside_the_labels_cost() -> None:
    rule = JsonSchemaRule(JsonSchemaConfig(equals_label=True, reward="share"))
    assert rule.grade('{"a": 1, "b": 9}', '{"a": 1, "b": 2}').value == 0.5
    assert rule.grade('{"a": 1, "b": 2, "c": 3, "d": 4}', '{"a": 1, "b": 2}').value == 0.5


def test_a_schema_of_the_row() -> None:
    rule = JsonSchemaRule(JsonSchemaConfig(schema_from="s"))
    assert rule.grade("3", None, {"s": {"type": "integer"}}).value == 1
    assert rule.grade('"3"', None, {"s": '{"type": "integer"}'}).value == 0
    strange: tuple[Any, ...] = (None, "x", {}, {"not": {}})
    for held in strange:
        with pytest.raises(MissingLabel):
            rule.grade("3", None, {"s": held})


def test_a_document_too_large_to_be_checked_does_not_pass() -> None:
    """The checker ends its work somewhere and finds nothing wrong behind that."""
    rule = JsonSchemaRule(JsonSchemaConfig(schema={"type": "array", "items": {"type": "integer"}}, max_chars=1_000_000))
    assert rule.grade("[" + "1," * 100 + "1]", None).value == 1
    assert rule.grade("[" + "1," * 100_000 + '"x"]', None).value == 0
    assert rule.grade("[" + "1," * 100_000 + "1]", None).value == 0


def test_a_text_too_long_for_its_pattern_does_not_pass() -> None:
    rule = JsonSchemaRule(JsonSchemaConfig(schema={"type": "string", "pattern": "^a+$"}))
    assert rule.grade('"aaa"', None).value == 1
    assert rule.grade('"' + "b" * 5000 + '"', None).value == 0


def test_references_inside_the_schema_are_followed() -> None:
    tree = {
        "$ref": "#/$defs/node",
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    }
    rule = JsonSchemaRule(JsonSchemaConfig(schema={**tree, "required": ["next"]}, equals_label=False))
    assert rule.grade('{"next": {"next": {}}}', None).value == 1
    assert rule.grade('{"next": {"next": 1}}', None).value == 0


def test_the_rules_need_no_more_than_the_sdk() -> None:
    """They run inside a rollout's own environment."""
    code = (
        "import sys; import mesocosm.rollouts.graders.exact, mesocosm.rollouts.graders.normalised, "
        "mesocosm.rollouts.graders.numeric, mesocosm.rollouts.graders.regex, mesocosm.rollouts.graders.json_schema, "
        "mesocosm.rollouts.graders.choice, mesocosm.rollouts.graders.math, mesocosm.rollouts.graders.judge, "
        "mesocosm.rollouts.graders.code; "
        "print(*{name.split('.')[0] for name in sys.modules} & {'msgspec', 'sympy', 'sqlalchemy', 'fastapi', 'click'});"
        "print(*sorted(name for name in sys.modules if name.startswith('mesocosm.') and 'rollouts' not in name))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    inner = ("conclusion", "json_reply", "number", "option", "thought")
    assert said == ["mesocosm.core", *(f"mesocosm.core.{name}" for name in inner)]
