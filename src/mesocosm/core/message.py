"""Messages between an agent and its model."""

from typing import Any, Literal

import msgspec

Role = Literal["system", "user", "assistant", "tool"]


class Text(msgspec.Struct, frozen=True, tag="text", tag_field="type"):
    """Text in a message."""

    text: str


class Image(msgspec.Struct, frozen=True, tag="image", tag_field="type"):
    """An image in a message: base64 `data` of `media_type`, or its `url`."""

    media_type: str = "image/png"
    data: str = ""
    url: str = ""


class ToolCall(msgspec.Struct, frozen=True):
    """A model's request to call `name` with `arguments` (usually an object; the raw text if it was not JSON)."""

    id: str
    name: str
    arguments: Any


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message. `reasoning` is what the provider returned separately from the content.

    `blocks` are the content of a reply as the provider sent it (see ModelReply). `failed`: the result of a tool call is
    an error.
    """

    role: Role
    content: str | tuple[Text | Image, ...] = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    blocks: tuple[dict[str, Any], ...] = ()
    failed: bool = False

    @property
    def text(self) -> str:
        """The text content, without images."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if isinstance(part, Text))
