"""Extract the calls of an answer: native tool calls, or calls written as JSON or Python."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import msgspec

from mesocosm.benchmarks.builtin.bfcl.syntax import spelled_calls
from mesocosm.core.foreign import read_json
from mesocosm.core.turn import Answer

_NAMES = ("name", "tool", "function")
_ARGUMENTS = ("arguments", "args", "parameters")


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """One call; `arguments` should be an object, but may be any value that the model gave."""

    name: str
    arguments: Any


def calls_of(answer: Answer, known: Collection[str]) -> list[FunctionCall]:
    """Return the calls of an answer; `known` are the names of the functions that it could call.

    Without native calls the whole text must consist of calls, optionally in a code fence; prose that mentions calls
    does not count. JSON is a list of `{"name": …, "arguments": {…}}` or of `{"<function>": {…}}`, or a single such
    object; arguments may be JSON in a string. The second form counts only if it names a known function.
    """
    if answer.tool_calls:
        return [FunctionCall(call.name, _decoded(call.arguments)) for call in answer.tool_calls]
    text = _unfenced(answer.text)
    found = _from_json(text, known)
    return [FunctionCall(name, arguments) for name, arguments in spelled_calls(text)] if found is None else found


def _unfenced(text: str) -> str:
    text = text.strip()
    if not (text.startswith("```") and text.endswith("```") and len(text) > 6):
        return text
    first, newline, rest = text[3:-3].partition("\n")
    return (rest if newline and (not first.strip() or first.strip().isalnum()) else text[3:-3]).strip()


def _from_json(text: str, known: Collection[str]) -> list[FunctionCall] | None:
    """Return the calls of a JSON text, or None if it is not a JSON object or list."""
    if not text.startswith(("[", "{")):
        return None
    try:
        value = read_json(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    items = value if isinstance(value, list) else [value]
    calls = [_call(item, known) for item in items]
    named = any(
        call is not None and (call.name in known or _explicit(item)) for call, item in zip(calls, items, strict=True)
    )
    return [call or FunctionCall("", None) for call in calls] if named else []


def _call(item: Any, known: Collection[str]) -> FunctionCall | None:
    if not isinstance(item, dict):
        return None
    if _explicit(item):
        named = item["function"] if isinstance(item.get("function"), dict) else item
        name = next((named[key] for key in _NAMES if isinstance(named.get(key), str)), "")
        return FunctionCall(name, _decoded(next((named[key] for key in _ARGUMENTS if key in named), {})))
    if len(item) == 1:
        ((name, arguments),) = item.items()
        return FunctionCall(name, _decoded(arguments))
    return None


def _explicit(item: Any) -> bool:
    """Return whether an object has fields for a name and for arguments."""
    if not isinstance(item, dict):
        return False
    named = item["function"] if isinstance(item.get("function"), dict) else item
    return any(isinstance(named.get(key), str) for key in _NAMES) and any(key in named for key in _ARGUMENTS)


def _decoded(arguments: Any) -> Any:
    """Return arguments decoded from JSON text, or unchanged if they are not JSON text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return read_json(arguments)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return arguments
