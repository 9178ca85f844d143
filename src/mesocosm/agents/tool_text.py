"""Tools for models without native tool support: list them in the prompt, and find calls in replies."""

import json
from collections.abc import Sequence

from mesocosm.agents.call_text import (
    Offered,
    TextCall,
    answer_of,
    items_of,
    json_call,
    marked_calls,
    read_calls,
    unfenced,
)
from mesocosm.agents.loose_json import scan
from mesocosm.core.message import ToolCall
from mesocosm.core.model import Tool

HEADING = "Available Tools"
TEXT_CALL = "text_"
"""What the identifiers of calls begin with that were read from text."""


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


def calls_in(text: str, offered: Offered) -> tuple[ToolCall, ...]:
    """Return the tool calls of a reply; () if any is not of a function that is offered.

    They are in a marked format (`agents.call_text`), or in the last JSON value of the reply, or the reply is a list
    of calls in Python.
    """
    return _read(text, offered, most=1)


def calls_at_end(text: str, offered: Offered) -> tuple[ToolCall, ...]:
    """Return all tool calls at the end of a reply: as `calls_in`, but from several consecutive JSON values."""
    return _read(text, offered, most=None)


def _read(text: str, offered: Offered, most: int | None) -> tuple[ToolCall, ...]:
    if not any(name in text for name in offered):
        return ()
    text = answer_of(text)
    calls = marked_calls(text, offered) or _last_values(text, offered, most)
    if not calls and unfenced(text).startswith("["):
        calls = read_calls(text, offered)
    if not all(_is_possible(call, offered) for call in calls):
        return ()
    return tuple(ToolCall(f"{TEXT_CALL}{place}", call.name, call.arguments) for place, call in enumerate(calls))


def _is_possible(call: TextCall, offered: Offered) -> bool:
    """Return whether a function is offered and its arguments, if they are an object, all have names."""
    named = not isinstance(call.arguments, dict) or not any(name.isdigit() for name in call.arguments)
    return call.name in offered and call.arguments is not None and named


def _last_values(text: str, offered: Offered, most: int | None) -> list[TextCall]:
    """Return the calls in the last JSON values of a text, up to the last value that is something else."""
    found: list[TextCall] = []
    for value in list(reversed(scan(text).values))[:most] if "{" in text else ():
        items = items_of(value.value)
        calls = [call for call in map(json_call, items) if call is not None and call.name in offered]
        if not calls or len(calls) < len(items):
            break
        found[:0] = calls
    return found
