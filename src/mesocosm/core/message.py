"""Messages between an agent and its model."""

from typing import Any, Literal

import msgspec

Role = Literal["system", "user", "assistant", "tool"]


class Text(msgspec.Struct, frozen=True, tag="text", tag_field="type"):
    """A piece of text inside a message."""

    text: str


class Image(msgspec.Struct, frozen=True, tag="image", tag_field="type"):
    """An image inside a message: base64 `data` of `media_type`, or the `url` where it lies."""

    media_type: str = "image/png"
    data: str = ""
    url: str = ""


class ToolCall(msgspec.Struct, frozen=True):
    """A model's wish to call `name` with `arguments` (an object as a rule, the raw text when it was no JSON)."""

    id: str
    name: str
    arguments: Any


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message. `reasoning` is thought that the provider returned apart from the content."""

    role: Role
    content: str | tuple[Text | Image, ...] = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""

    @property
    def text(self) -> str:
        """The textual content, images left out."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if isinstance(part, Text))
