"""Turns of a conversation: what a benchmark says to a chat agent, and what the agent answers.

The data of an observation for the agent `chat` is a text (one user message) or a `Turn` as JSON; its action is a text
where no tools are offered, and an `Answer` as JSON where they are.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from mesocosm.core.message import Message
from mesocosm.core.model import Tool


class Turn(msgspec.Struct, frozen=True, omit_defaults=True):
    """New messages of a conversation, and the tools that may be called from now on (None: as before).

    `thread` names the conversation: a benchmark may hold several at once, each with its own memory. `system` takes the
    place of the thread's system message. `schema` is the JSON Schema that the whole answer must follow.
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
    """A tool call of an answer; `arguments` are an object, or the text that was no JSON object."""

    name: str
    arguments: Any = msgspec.field(default_factory=dict)
    id: str = ""


class Answer(msgspec.Struct, frozen=True):
    """What the agent said and which tools it wants called, in this order."""

    text: str = ""
    tool_calls: tuple[CalledTool, ...] = ()

    def data(self) -> dict[str, Any]:
        """Return the answer as an action."""
        return {"text": self.text, "tool_calls": [msgspec.to_builtins(call) for call in self.tool_calls]}


def read_turn(data: Any) -> Turn:
    """Return the turn that an observation holds; whatever is no turn is shown as one user message."""
    if isinstance(data, Mapping) and "messages" in data and data.keys() <= set(Turn.__struct_fields__):
        try:
            return msgspec.convert(data, Turn)
        except msgspec.ValidationError:
            pass
    return Turn((Message("user", _text(data)),))


def read_answer(action: Any) -> Answer:
    """Return the answer that an action holds; whatever is none counts as its text. Never raises."""
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
    except (TypeError, ValueError, RecursionError):  # no JSON value, or one with text that UTF-8 cannot hold
        return f"(a {type(value).__name__} without a JSON form)"
