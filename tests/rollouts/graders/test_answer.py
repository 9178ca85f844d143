"""Where an answer stands in a sample, and a label in its row."""

from typing import Any

import pytest

from mesocosm.rollouts.graders.answer import AnswerConfig, MissingLabel, answer_text, extract, labels, task_text

USER = {"role": "user", "content": "How many?"}


CONVERSATIONS: list[tuple[list[dict[str, Any]], str]] = [
    ([USER, {"role": "assistant", "content": "four"}], "four"),
    ([USER, {"role": "assistant", "content": "three"}, USER, {"role": "assistant", "content": "four"}], "four"),
    (
        [{"role": "assistant", "content": [{"type": "text", "text": "fo"}, {"type": "text", "text": "ur"}]}],
        "fo\nur",
    ),
    ([{"role": "assistant", "content": [{"text": "four"}]}], "four"),
    ([{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "four"}]}], "four"),
    ([{"role": "assistant", "content": "four"}, {"role": "tool", "content": "9"}], "four"),
    ([{"role": "assistant", "content": ""}], ""),
    ([USER], ""),
    ([], ""),
]


@pytest.mark.parametrize(("messages", "text"), CONVERSATIONS)
def test_the_answer_is_the_assistants_last_text(messages: list[dict[str, Any]], text: str) -> None:
    assert answer_text(messages) == text


def test_an_empty_last_message_hides_no_earlier_one() -> None:
    said: list[dict[str, Any]] = [
        {"role": "assistant", "content": "four"},
        USER,
        {"role": "assistant", "content": None},
    ]
    assert answer_text(said) == ""


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "say", "arguments": '{"n": 4}'}}]},
        {"role": "assistant", "content": [{"type": "tool_use", "name": "say", "input": {"n": 4}}]},
        {"role": "assistant", "content": [{"toolUse": {"name": "say", "input": {"n": 4}}}]},
        {"type": "function_call", "name": "say", "arguments": '{"n": 4}'},
    ],
)
def test_where_the_answer_is_a_call_its_arguments_count(message: dict[str, Any]) -> None:
    assert answer_text([USER, message]) == '{"n": 4}'


@pytest.mark.parametrize("content", [42, {"text": "four"}, [None, 3, {"text": 5}], b"four", [["four"]]])
def test_strange_content_is_no_text(content: object) -> None:
    assert answer_text([{"role": "assistant", "content": content}]) == ""


def test_messages_of_another_kind_are_passed_over() -> None:
    strange: Any = [{"role": "assistant", "content": "four"}, "text", None, 7]
    assert answer_text(strange) == "four"


def test_the_task_is_what_the_user_said_first() -> None:
    said = [
        {"role": "system", "content": "s"},
        USER,
        {"role": "assistant", "content": "4"},
        {"role": "user", "content": "x"},
    ]
    assert task_text(said) == "How many?"


@pytest.mark.parametrize(
    ("options", "reply", "answer"),
    [
        ({}, "  four \n", "four"),
        ({"after": "A:"}, "A: 3\nno, A: 4 \nbye", "4"),
        ({"after": "A:"}, "A:\n\n4\nbye", "4"),
        ({"after": "A:"}, "four", ""),
        ({"after": "A:"}, "A:", ""),
        ({"after": "A:"}, "A: 1 A: 2 A: 3 A: 4", ""),
        ({"after": "A:"}, "A: 4 A: 4 A: 4 A: 4 A: 4", "4"),
        ({"pattern": r"<(\w+)>"}, "<three> <four>", "four"),
        ({"pattern": r"\d+"}, "3 and 4", "4"),
        ({"pattern": r"\d+"}, "none", ""),
        ({"last": "number"}, "from 3 to -4.5 apples", "-4.5"),
        ({"last": "number"}, "it is 3/4", "3/4"),
        ({"last": "number"}, "none", ""),
        ({"last": "line"}, "a\nb\n\n", "b"),
        ({"last": "code"}, "```py\na\n```\ntext\n```\nb\n```", "b"),
        ({"last": "code"}, "```py\na", "a"),
        ({"last": "code"}, "a", ""),
        ({"last": "json"}, 'so {"a": 1} and {"b": [2]} it is', '{"b": [2]}'),
        ({"last": "json"}, "{ [ no", ""),
        ({"after": "Final:", "last": "json"}, '{"a": 1} Final:\n{\n"b": 2}', '{\n"b": 2}'),
        ({"strip": "."}, "four.", "four"),
        ({"strip": "*\"'"}, '**"four"**', "four"),
    ],
)
def test_the_part_that_is_meant(options: dict[str, Any], reply: str, answer: str) -> None:
    assert extract(reply, AnswerConfig(**options)) == answer


def test_only_the_end_of_a_long_reply_is_looked_at() -> None:
    assert extract("A: 4\n" + "x" * 30_000, AnswerConfig(after="A:")) == ""
    assert extract("x" * 30_000 + "\nA: 4", AnswerConfig(after="A:")) == "4"


def test_a_pattern_that_never_ends_finds_nothing() -> None:
    assert extract("a" * 5000, AnswerConfig(pattern="(a+)+$b")) == ""


@pytest.mark.parametrize(
    ("label", "metadata", "options", "right"),
    [
        ("four", None, {}, ["four"]),
        ("because\n#### 4", None, {"label_after": "####"}, ["4"]),
        (None, {"gold": "4"}, {"label_from": "gold"}, ["4"]),
        (None, {"gold": 4}, {"label_from": "gold"}, ["4"]),
        (None, {"gold": ["4", "four", ""]}, {"label_from": "gold"}, ["4", "four"]),
        ("x", {"gold": {"a": 1}}, {"label_from": "gold"}, ['{"a": 1}']),
    ],
)
def test_the_label_of_a_row(
    label: str | None, metadata: dict[str, Any] | None, options: dict[str, Any], right: list[str]
) -> None:
    assert labels(label, metadata, AnswerConfig(**options)) == right


@pytest.mark.parametrize(
    ("label", "metadata", "options"),
    [
        (None, None, {}),
        ("  ", None, {}),
        ("four", None, {"label_after": "####"}),
        ("four ####", None, {"label_after": "####"}),
        ("four", {"other": 1}, {"label_from": "gold"}),
        ("four", {"gold": []}, {"label_from": "gold"}),
    ],
)
def test_a_row_without_a_label_is_the_rows_fault(
    label: str | None, metadata: dict[str, Any] | None, options: dict[str, Any]
) -> None:
    with pytest.raises(MissingLabel, match="mend the dataset"):
        labels(label, metadata, AnswerConfig(**options))


def test_thought_is_no_part_of_an_answer() -> None:
    """It is left out before the end of the reply is taken: a cut must not leave thought without its tag."""
    assert extract("<think>five</think>\nfour", AnswerConfig()) == "four"
    assert extract("<think>" + "five " * 100, AnswerConfig(max_chars=20)) == ""
