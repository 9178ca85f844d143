"""Turns and answers of a conversation as data."""

from typing import Any

import pytest

from mesocosm.core.message import Message
from mesocosm.core.model import Tool
from mesocosm.core.turn import Answer, CalledTool, Turn, read_answer, read_turn


@pytest.mark.parametrize(
    "turn",
    [
        Turn(),
        Turn((Message("user", "hi"),)),
        Turn((Message("tool", "{}", tool_call_id="a"),), tools=(Tool("t", "d", {"type": "object"}),)),
        Turn(tools=(), thread="b", system="s", schema={"type": "string"}),
    ],
)
def test_a_turn_survives_being_data(turn: Turn) -> None:
    assert read_turn(turn.data()) == turn


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("hi", "hi"),
        (None, "null"),
        ({"a": 1}, '{"a":1}'),
        ({"messages": "none"}, '{"messages":"none"}'),
        ({"messages": [], "score": 3}, '{"messages":[],"score":3}'),
        ({"messages": [{"role": "king"}]}, '{"messages":[{"role":"king"}]}'),
    ],
)
def test_what_is_no_turn_is_said_by_the_user(data: Any, text: str) -> None:
    assert read_turn(data) == Turn((Message("user", text),))


@pytest.mark.parametrize(
    "answer",
    [Answer(), Answer("hi"), Answer("", (CalledTool("f", {"a": 1}, "1"), CalledTool("g", "no object")))],
)
def test_an_answer_survives_being_data(answer: Answer) -> None:
    assert read_answer(answer.data()) == answer


def test_a_part_of_an_answer_is_one() -> None:
    assert read_answer({"text": "hi"}) == Answer("hi")
    assert read_answer({"tool_calls": [{"name": "f"}]}) == Answer("", (CalledTool("f", {}),))


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (None, ""),
        ("hi", "hi"),
        (3, "3"),
        (True, "true"),
        ([{"text": "hi"}], '[{"text":"hi"}]'),
        ({}, "{}"),
        ({"answer": "B"}, '{"answer":"B"}'),
        ({"text": "hi", "answer": "B"}, '{"text":"hi","answer":"B"}'),
        ({"text": ["hi"]}, '{"text":["hi"]}'),
        ({"text": "hi", "tool_calls": [{"arguments": {}}]}, '{"text":"hi","tool_calls":[{"arguments":{}}]}'),
    ],
)
def test_what_is_no_answer_counts_as_its_text(action: Any, text: str) -> None:
    assert read_answer(action) == Answer(text)


def test_reading_never_raises() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for action in ({"a": "\ud800"}, deep, {"a": object()}, {1: {2}}):
        assert isinstance(read_answer(action).text, str)
