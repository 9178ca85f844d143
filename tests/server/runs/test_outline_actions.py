"""Actions on one short line of the outline."""

from typing import Any

import pytest

from mesocosm.server.runs.outline import LONGEST_ACTION, short


@pytest.mark.parametrize(
    ("action", "line"),
    [
        ("left", "left"),
        (None, ""),
        ({"move": "left"}, '{"move": "left"}'),
        ({"text": "I look.", "tool_calls": []}, "I look."),
        (
            {"text": "", "tool_calls": [{"name": "find", "arguments": {"n": 1}}, {"name": "finish"}]},
            "find(), finish()",
        ),
        ({"text": "Now", "tool_calls": [{"name": "finish"}]}, "Now finish()"),
        ({"text": 7, "tool_calls": []}, '{"text": 7, "tool_calls": []}'),
        ({"text": "", "tool_calls": []}, '{"text": "", "tool_calls": []}'),
        ({"text": "", "tool_calls": ["x"]}, '{"text": "", "tool_calls": ["x"]}'),
    ],
)
def test_an_action_is_told_by_what_matters_of_it(action: Any, line: str) -> None:
    assert short(action) == line


def test_an_action_of_any_length_is_cut() -> None:
    assert len(short({"text": "x" * 10_000, "tool_calls": []})) == LONGEST_ACTION
