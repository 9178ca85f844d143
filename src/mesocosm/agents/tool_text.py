"""Tools for models without native tool support: list them in the prompt, and find calls in replies."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mesocosm.agents.loose_json import scan
from mesocosm.core.message import ToolCall
from mesocosm.core.model import Tool

HEADING = "Available Tools"
_NAME_KEYS = ("tool", "name", "tool_name", "function")
_ARGUMENT_KEYS = ("arguments", "args", "parameters", "input", "tool_input")


def listed(tools: Sequence[Tool]) -> str:
    """Return the tools as fenced JSON."""
    described = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        if tool.description
        else {"name": tool.name, "parameters": tool.parameters}
        for tool in tools
    ]
    return f"```json\n{json.dumps(described, ensure_ascii=False, indent=1)}\n```"


def offered(tools: Sequence[Tool]) -> str:
    """Return the section that lists tools and explains how to call one in a reply."""
    form = '{"tool": "<name>", "arguments": {…}}'
    return f"{listed(tools)}\nTo call one, end your reply with {form}; its result is shown to you in the next message."


def calls_in(text: str, names: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """Return the tool calls in the last JSON value of a reply, one call or a list; () if any is not a known tool."""
    if "{" not in text or not any(name in text for name in names):
        return ()
    values = scan(text).values
    if not values:
        return ()
    last = values[-1].value
    items = last if isinstance(last, list) else [last]
    calls = [_call(item, names, position) for position, item in enumerate(items)]
    return tuple(call for call in calls if call is not None) if all(calls) else ()


def calls_at_end(text: str, names: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """Return all tool calls at the end of a reply: as `calls_in`, but from several consecutive values."""
    if "{" not in text or not any(name in text for name in names):
        return ()
    found: list[ToolCall] = []
    for value in reversed(scan(text).values):
        items = value.value if isinstance(value.value, list) else [value.value]
        calls = [call for call in (_call(item, names, 0) for item in items) if call is not None]
        if not calls or len(calls) < len(items):
            break
        found[:0] = calls
    return tuple(ToolCall(f"text_{place}", call.name, call.arguments) for place, call in enumerate(found))


def _call(item: Any, names: Mapping[str, Any], position: int) -> ToolCall | None:
    if not isinstance(item, dict):
        return None
    if isinstance(item.get("action"), dict) and not any(key in item for key in _NAME_KEYS):
        item = item["action"]
    name = next((item[key] for key in _NAME_KEYS if isinstance(item.get(key), str)), None)
    if isinstance(item.get("function"), dict):
        item = item["function"]
        name = item.get("name")
    if name not in names:
        return None
    given = [item[key] for key in _ARGUMENT_KEYS if key in item]
    return ToolCall(f"text_{position}", str(name), given[0] if given else {})
