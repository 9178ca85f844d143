"""Prompts: texts, lists of messages or functions, filled from a row."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from mesocosm.api.code import code_identity
from mesocosm.core.failure import UsageError
from mesocosm.core.message import Image, Message, Role, Text, ToolCall
from mesocosm.core.reading import nearest

Row = Mapping[str, Any]
PromptLike = str | Sequence[Mapping[str, Any]] | Callable[[Row], str | Sequence[Mapping[str, Any]]]
Filled = str | list[dict[str, Any]]
"""A filled prompt: a text, or chat messages."""

_DOUBLE = r"\{\{\s*(?P<double>[^{}\n]{1,80}?)\s*\}\}"
_SINGLE = r"(?<!\{)\{(?P<single>[^{}\n]{1,80})\}(?!\})"
_PLACE = re.compile(f"{_DOUBLE}|{_SINGLE}")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
ROLES = ("system", "developer", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as it was given; `system` precedes it."""

    given: PromptLike | None
    system: str = ""

    def document(self) -> dict[str, Any]:
        """Return what identifies the prompt, as JSON data."""
        content: Any = self.given
        if callable(content):
            content = {"function": getattr(content, "__qualname__", "prompt"), "code": code_identity(content).digest}
        return {"prompt": content, "system": self.system}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the prompt names."""
        found: dict[str, None] = {}
        for text in _texts([self.system, *([] if callable(self.given) else [self.given])]):
            found |= dict.fromkeys(_named(match) for match in _PLACE.finditer(text))
        return tuple(found)

    def check(self, columns: Sequence[str], hidden: str, what: str) -> None:
        """Raise UsageError if the prompt names what is no column of the rows called `what`, or the `hidden` one."""
        for text in _texts([self.system, *([] if callable(self.given) else [self.given])]):
            for match in _PLACE.finditer(text):
                name = _named(match)
                if name == hidden:
                    raise UsageError(
                        f"the prompt names {match[0]}, the column with the right answer; the model must not see it. "
                        'expected= names another column, expected="" none'
                    )
                if name in columns or not _meant(match):
                    continue
                near = nearest(name, columns)
                braces = "{{{{{}}}}}" if match["double"] is not None else "{{{}}}"
                hint = f"; did you mean {braces.format(near)}?" if near else ""
                raise UsageError(f"the prompt names {match[0]}; columns of {what}: {', '.join(columns)}{hint}")

    def fill(self, row: Row) -> Filled:
        """Return the prompt for a row. Raises UsageError if a function returns neither text nor messages."""
        given = self.given
        if callable(given):
            filled: Any = given(row)
        elif given is None:
            filled = None
        else:
            filled = _filled(given, row)
        if isinstance(filled, str):
            return (
                filled
                if not self.system
                else [
                    {"role": "system", "content": _filled(self.system, row)},
                    {"role": "user", "content": filled},
                ]
            )
        if isinstance(filled, Sequence) and all(isinstance(one, Mapping) for one in filled):
            head = [{"role": "system", "content": _filled(self.system, row)}] if self.system else []
            return [*head, *(dict(one) for one in filled)]
        name = getattr(given, "__qualname__", "the prompt")
        raise UsageError(f"{name} returned {type(filled).__name__}; a prompt is a text or a list of messages")


def messages_of(filled: Filled) -> list[Message]:
    """Return a filled prompt as messages for a model. Raises UsageError for what is no message."""
    if isinstance(filled, str):
        return [Message("user", filled)]
    return [read_message(one) for one in filled]


def read_message(given: Mapping[str, Any]) -> Message:
    """Return a chat message in the form of Chat Completions as a Message. Raises UsageError."""
    role, content = given.get("role"), given.get("content", "")
    if role not in ROLES:
        raise UsageError(f"a message has the role {role!r}; roles are {', '.join(ROLES)}")
    calls = tuple(
        ToolCall(str(call.get("id", "")), call["function"]["name"], _arguments(call["function"].get("arguments")))
        for call in given.get("tool_calls") or ()
    )
    role = "system" if role == "developer" else role
    return Message(
        cast(Role, role), _content(content), tool_calls=calls, tool_call_id=str(given.get("tool_call_id", ""))
    )


def _content(content: Any) -> str | tuple[Text | Image, ...]:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        raise UsageError(f"the content of a message is {type(content).__name__}; it is a text or a list of parts")
    return tuple(_part(part) for part in content)


def _part(part: Any) -> Text | Image:
    kind = part.get("type") if isinstance(part, Mapping) else None
    if isinstance(part, Mapping) and kind == "text":
        return Text(str(part.get("text", "")))
    if isinstance(part, Mapping) and kind == "image_url":
        given = part.get("image_url")
        url = str(given.get("url", "") if isinstance(given, Mapping) else given)
        head, mark, data = url.partition(";base64,")
        return Image(head.removeprefix("data:"), data) if mark and head.startswith("data:") else Image(url=url)
    raise UsageError(f"a part of a message is {kind or type(part).__name__}; parts are text and image_url")


def _arguments(given: Any) -> Any:
    try:
        return msgspec.json.decode(given) if isinstance(given, str | bytes) else given
    except msgspec.DecodeError:
        return given


def _texts(given: Any) -> list[str]:
    if isinstance(given, str):
        return [given]
    if isinstance(given, Mapping):
        return [text for value in given.values() for text in _texts(value)]
    if isinstance(given, Sequence):
        return [text for value in given for text in _texts(value)]
    return []


def _filled(given: Any, row: Row) -> Any:
    if isinstance(given, str):
        return _PLACE.sub(lambda match: _value(match, row), given)
    if isinstance(given, Mapping):
        return {key: _filled(value, row) for key, value in given.items()}
    if isinstance(given, Sequence):
        return [_filled(value, row) for value in given]
    return given


def _value(match: re.Match[str], row: Row) -> str:
    name = _named(match)
    if name not in row:
        return match[0]
    value = row[name]
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


def _named(match: re.Match[str]) -> str:
    return str(match["double"] if match["double"] is not None else match["single"])


def _meant(match: re.Match[str]) -> bool:
    """Return whether braces that name no column look like a column all the same, not like JSON or code."""
    return bool(_IDENTIFIER.fullmatch(_named(match)))


def takes(function: Callable[..., Any], name: str) -> bool:
    """Return whether a function has a parameter of this name."""
    return name in inspect.signature(function).parameters
