"""Turns of a conversation between a benchmark and the chat agent.

The data of an observation for the agent `chat` is text (one user message) or a `Turn` as JSON. Its action is text if no
tools are offered, otherwise an `Answer` as JSON.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from mesocosm.core.message import Message
from mesocosm.core.model import Tool


class Turn(msgspec.Struct, frozen=True, omit_defaults=True):
    """New messages of a conversation, and the tools that may be called from now on (None: as before).

    `thread` names the conversation: a benchmark may have several at once, each with its own memory. `system` replaces
    the thread's system message. `schema` is the JSON Schema of the whole answer.
    """

    messages: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] | None = None
    thread: str = ""
    system: str | None = None
    schema: dict[str, Any] | None = None

    def data(self) -> dict[str, Any]:
        """Return the turn as the data of an observation."""
        return {"messages": [], **msgspec.to_builtins(self)}


class CalledTool(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool call in an answer; `arguments` is an object, or the raw text if it was not a JSON object."""

    name: str
    arguments: Any = msgspec.field(default_factory=dict)
    id: str = ""


class Answer(msgspec.Struct, frozen=True):
    """The agent's text and the tool calls that it requests, in order."""

    text: str = ""
    tool_calls: tuple[CalledTool, ...] = ()

    def data(self) -> dict[str, Any]:
        """Return the answer as an action."""
        return {"text": self.text, "tool_calls": [msgspec.to_builtins(call) for call in self.tool_calls]}


def read_turn(data: Any) -> Turn:
    """Return the turn in an observation; anything that is not a turn becomes one user message."""
    if isinstance(data, Mapping) and "messages" in data and data.keys() <= set(Turn.__struct_fields__):
        try:
            return msgspec.convert(data, Turn)
        except msgspec.ValidationError:
            pass
    return Turn((Message("user", _text(data)),))


def read_answer(action: Any) -> Answer:
    """Return the answer in an action; anything that is not an answer becomes its text. Never raise."""
    if isinstance(action, Mapping) and action and action.keys() <= set(Answer.__struct_fields__):
        try:
            return msgspec.convert(action, Answer)
        except msgspec.ValidationError:
            pass
    return Answer("" if action is None else _text(action))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):  # not a JSON value, or text that UTF-8 cannot encode
        return f"(a {type(value).__name__} without a JSON form)"
