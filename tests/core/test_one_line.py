"""Questions and answers as one line."""

from typing import Any

import pytest

from mesocosm.core.one_line import answer_line, cut, question_line

ASKED = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "1 + 1?"}]


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (None, ""),
        ("how  many\neggs?", "how many eggs?"),
        ({"question": "why?", "id": 7}, "why?"),
        ({"prompt": ASKED, "metadata": {"level": 2}}, "1 + 1?"),
        ({"messages": ASKED, "tools": []}, "1 + 1?"),
        ([*ASKED, {"role": "assistant", "content": "2"}], "1 + 1?"),
        ({"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image", "data": "…"}]}, "look "),
        ({"premise": "it rains", "score": 1}, '{"premise": "it rains", "score": 1}'),
        ({"benchmark": "tiny", "knobs": {"style": "plain"}}, ""),
        (["x", 1], '["x", 1]'),
        ({"task_id": "7"}, ""),
        ({"context": "The capital is", "continuations": [" Lyon", " Paris"]}, "The capital is"),
    ],
)
def test_a_question_is_what_a_person_reads_first(value: Any, line: str) -> None:
    assert question_line(value) == line.strip()


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("A: 18\n", "A: 18"),
        (18, "18"),
        ({"text": "", "tool_calls": [{"name": "area", "arguments": {"a": 3, "unit": "m"}}]}, 'area(a=3, unit="m")'),
        ({"text": "so:", "tool_calls": [{"name": "go", "arguments": "not json"}]}, "so: go(not json)"),
        ({"text": "only", "tool_calls": []}, "only"),
        ({"messages": [*ASKED, {"role": "assistant", "content": "2"}]}, "2"),
        ([*ASKED, {"role": "assistant", "content": [{"type": "text", "text": "two"}]}], "two"),
        ([{"role": "assistant", "content": "", "tool_calls": [{"name": "go", "arguments": {"n": 1}}]}], "go(n=1)"),
        ({"type": "call_tool", "tool_name": "echo", "arguments": {"message": "hi"}}, 'echo(message="hi")'),
        ({"text": "an object that is no answer", "more": 1}, '{"text": "an object that is no answer", "more": 1}'),
        (None, ""),
    ],
)
def test_an_answer_is_its_text_and_its_calls(value: Any, line: str) -> None:
    assert answer_line(value) == line


def test_a_long_text_loses_its_end_and_says_so() -> None:
    assert cut("word " * 1_000, 20) == "word word word word…"
    assert cut("x" * 20, 20) == "x" * 20


def test_the_end_of_a_text_of_many_spaces_is_not_lost_silently() -> None:
    assert cut("a" + " " * 100 + "b", 10) == "a…"
