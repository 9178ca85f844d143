"""What both transports have in common: a request with its answer, and the server's own requests, which are declined."""

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from mesocosm.core.foreign import read_json
from mesocosm.core.redact import Redactor
from mesocosm.mcp import message
from mesocosm.mcp.errors import CallRefused, ProtocolBroken
from mesocosm.mcp.message import RpcMessage


class McpConnection(Protocol):
    """A connection to one MCP server. `version` is the protocol that was agreed upon, empty before that."""

    version: str

    async def request(self, method: str, params: Mapping[str, Any] | None, seconds: float) -> Any:
        """Send a request and return its result. Raises McpError."""
        ...

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification. Raises McpError."""
        ...

    async def close(self) -> None:
        """End the connection, and the process behind it; never raise."""
        ...


class MessageReader:
    """Reads what a server sends. `redactor` removes the credentials that the server was given from all of it."""

    def __init__(self, shown: str, redactor: Redactor) -> None:
        self.shown = shown
        self._redactor = redactor

    def text(self, text: str) -> str:
        """Return a text without credentials."""
        return self._redactor.text(text)

    def messages(self, data: bytes | str) -> list[RpcMessage]:
        """Return the messages in a document, which may be a batch. Raises ProtocolBroken."""
        try:
            value = read_json(data, large=True)
            many = value if isinstance(value, list) else [value]
            return [msgspec.convert(self._redactor.value(one), RpcMessage) for one in many]
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise ProtocolBroken(self.shown, f"sent something that is no JSON-RPC message: {error}") from error

    def result(self, answer: RpcMessage, method: str) -> Any:
        """Return the result in an answer. Raises CallRefused, ProtocolBroken."""
        if answer.error is not None:
            raise CallRefused(self.shown, method, answer.error.code, answer.error.message or "no reason is given")
        if answer.result is msgspec.UNSET:
            raise ProtocolBroken(self.shown, f"answered {method} with neither a result nor an error")
        return answer.result


def named(method: str, params: Mapping[str, Any] | None) -> str:
    """Return a request for messages: its method, and the tool that it calls."""
    tool = params.get("name") if params is not None and method == "tools/call" else None
    return f"{method} of {tool}" if tool else method


def reply_to(asked: RpcMessage) -> bytes:
    """Return the answer to a request of the server: a ping is answered, everything else is not offered."""
    if asked.method == "ping":
        return message.result(asked.id, {})
    return message.failure(asked.id, message.METHOD_NOT_FOUND, f"this client does not offer {asked.method}")
