"""The world of one question."""

from typing import Any

import pytest

from mesocosm.benchmarks.question import ANSWER, MOST_CHARACTERS, QuestionEnvironment, kept
from mesocosm.core.turn import Turn


async def test_a_question_is_shown_answered_once_and_over() -> None:
    world = QuestionEnvironment("What?", lambda: "That.")
    shown = await world.reset()
    assert (shown.data, shown.content_type) == ("What?", "text/plain")
    assert await world.oracle() == "That."
    step = await world.step("This.")
    assert (step.terminated, step.info) == (True, {ANSWER: "This."})
    await world.close()


async def test_a_turn_is_shown_as_data() -> None:
    shown = await QuestionEnvironment(Turn(system="Rules").data(), lambda: None).reset()
    assert shown.content_type == "application/json"
    assert shown.data["system"] == "Rules"


@pytest.mark.parametrize(
    ("action", "text"),
    [(None, ""), (7, "7"), ([1], "[1]"), ({"a": 1}, '{"a":1}'), ({}, "{}"), ({"text": 5}, '{"text":5}')],
)
def test_whatever_is_no_answer_counts_as_its_text(action: Any, text: str) -> None:
    assert kept(action) == {"text": text, "tool_calls": []}


def test_long_texts_are_cut() -> None:
    assert kept("x" * (MOST_CHARACTERS + 1)) == "x" * MOST_CHARACTERS
    assert len(kept({"text": "x" * (MOST_CHARACTERS + 1)})["text"]) == MOST_CHARACTERS


def test_long_arguments_are_cut_and_no_call_is_lost() -> None:
    calls = [{"name": "a", "arguments": {"x": 1}}, {"name": "b", "arguments": {"x": "ä" * MOST_CHARACTERS}}]
    first, second = kept({"text": "", "tool_calls": calls})["tool_calls"]
    assert first["arguments"] == {"x": 1}
    assert isinstance(second["arguments"], str)
    assert len(second["arguments"].encode()) <= MOST_CHARACTERS
