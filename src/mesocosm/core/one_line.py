"""Questions and answers as one line of text, for lists: what a person reads first."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mesocosm.core.entry import is_reference
from mesocosm.core.message import Message
from mesocosm.core.turn import CalledTool, read_answer

_NAMES = frozenset({"id", "task_id"})
"""What names a task without saying what it asks."""

LONGEST = 240
"""Characters of a line. Longer texts lose their end."""

_ASKING = ("question", "prompt", "problem", "instruction", "query", "input", "text", "task", "messages", "context")
"""Names under which datasets keep the question of a row, in order of preference."""


def question_line(value: Any, longest: int = LONGEST) -> str:
    """Return what a task asks as one line: of a conversation its last user message, of a row its question."""
    return cut(question_text(value), longest)


def asks(value: Any) -> bool:
    """Return whether a task's input says in words what it asks: text, a conversation, a row with a question."""
    if isinstance(value, Mapping):
        return any(value.get(name) for name in _ASKING) or ("role" in value and "content" in value)
    return isinstance(value, str) or (isinstance(value, Sequence) and bool(value) and _is_message(value[-1]))


def answer_line(value: Any, longest: int = LONGEST) -> str:
    """Return an answer, given or expected, as one line: its text, and its tool calls as `name(argument=value)`."""
    return cut(answer_text(value), longest)


def cut(text: str, longest: int = LONGEST) -> str:
    """Return a text as one line of at most `longest` characters; `…` marks a removed end."""
    # Only the beginning is read: a text may have megabytes.
    line = " ".join(text[: 4 * longest].split())
    return line if len(line) <= longest and len(text) <= 4 * longest else f"{line[: longest - 1].rstrip()}…"


def call_line(call: CalledTool) -> str:
    """Return a tool call as `name(argument=value)`."""
    given = call.arguments
    if isinstance(given, Mapping):
        return f"{call.name}({', '.join(f'{name}={_json(value)}' for name, value in given.items())})"
    return f"{call.name}({_text(given)})"


def question_text(value: Any) -> str:
    """Return what a task asks as text: of a conversation its last user message, of a row its question."""
    if isinstance(value, Message):
        return value.text
    if isinstance(value, Mapping):
        if "role" in value and "content" in value:
            return _content(value["content"])
        name = next((name for name in _ASKING if value.get(name)), "")
        if name:
            return question_text(value[name])
        if value.keys() <= _NAMES:
            return ""
        # A flat row can be read; what is nested is parameters rather than words.
        return "" if any(isinstance(one, Mapping | list) for one in value.values()) else _text(value)
    if isinstance(value, Sequence) and not isinstance(value, str) and value and _is_message(value[-1]):
        asked = [one for one in value if _is_message(one) and one["role"] == "user"]
        return question_text((asked or value)[-1])
    return _text(value)


def answer_text(value: Any) -> str:
    """Return an answer, given or expected, as text: of a conversation what its last message says."""
    if isinstance(value, Mapping) and value.keys() == {"messages"}:
        return answer_text(value["messages"])
    if isinstance(value, Sequence) and not isinstance(value, str) and value and all(map(_is_message, value)):
        last = value[-1]
        return _content(last["content"]) or answer_text({"text": "", "tool_calls": last.get("tool_calls") or []})
    if isinstance(value, Mapping) and value.get("type") == "call_tool" and isinstance(value.get("tool_name"), str):
        return call_line(CalledTool(value["tool_name"], value.get("arguments", {})))
    if isinstance(value, Mapping) and value and value.keys() <= {"text", "tool_calls"}:
        answer = read_answer(value)
        return " ".join([*([answer.text] if answer.text else []), *map(call_line, answer.tool_calls)])
    return _text(value)


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and "role" in value and "content" in value


def _content(content: Any) -> str:
    if isinstance(content, Sequence) and not isinstance(content, str):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return _text(content)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if is_reference(value):
        return f"({value['bytes']:,} bytes of text)"
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
