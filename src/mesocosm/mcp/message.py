"""JSON-RPC 2.0 as MCP uses it: requests, notifications, answers; versions of the protocol; tools and their results."""

import base64
from collections.abc import Mapping
from typing import Any

import msgspec

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of the protocol that begin with `initialize`, newest first; the first one is offered."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

TIMEOUT_S = 60.0
"""Seconds for one answer of a server if nothing else is said."""
MOST_BYTES = 32 * 1024 * 1024
"""Maximum size of one message; a larger one is an error."""

_encode = msgspec.json.Encoder().encode


class RpcError(msgspec.Struct, omit_defaults=True):
    """The error of an answer."""

    code: int = 0
    message: str = ""
    data: Any = None


class RpcMessage(msgspec.Struct, omit_defaults=True):
    """Any message that a peer sends: a request has method and id, a notification a method, an answer an id."""

    jsonrpc: str = ""
    id: str | int | None = None
    method: str | None = None
    params: Any = None
    result: Any = msgspec.UNSET
    error: RpcError | None = None


def request(number: int, method: str, params: Mapping[str, Any] | None = None) -> bytes:
    """Return a request as JSON."""
    return _encode({"jsonrpc": "2.0", "id": number, "method": method, **({} if params is None else {"params": params})})


def notification(method: str, params: Mapping[str, Any] | None = None) -> bytes:
    """Return a notification as JSON."""
    return _encode({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})


def result(number: str | int | None, value: Any) -> bytes:
    """Return the answer to a request as JSON."""
    return _encode({"jsonrpc": "2.0", "id": number, "result": value})


def failure(number: str | int | None, code: int, message: str, data: Any = None) -> bytes:
    """Return an answer that refuses a request as JSON."""
    said = {"code": code, "message": message, **({} if data is None else {"data": data})}
    return _encode({"jsonrpc": "2.0", "id": number, "error": said})


class ToolDefinition(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool as its server defines it; `parameters` is the JSON Schema of its arguments."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}


class McpToolResult(msgspec.Struct, frozen=True):
    """What a tool call gave, as text for a model; `failed` if the tool or the server says that it is an error."""

    text: str
    failed: bool = False


class _Listed(msgspec.Struct):
    name: str
    description: str | None = None
    inputSchema: dict[str, Any] | None = None  # noqa: N815 -- the protocol's name


class ToolPage(msgspec.Struct):
    """One page of `tools/list`."""

    tools: list[_Listed]
    nextCursor: str | None = None  # noqa: N815 -- the protocol's name

    def definitions(self) -> list[ToolDefinition]:
        """Return the tools of the page."""
        return [ToolDefinition(one.name, one.description or "", one.inputSchema or {}) for one in self.tools]


class CallOutcome(msgspec.Struct):
    """The result of `tools/call`."""

    content: list[dict[str, Any]] = []
    structuredContent: Any = None  # noqa: N815 -- the protocol's name
    isError: bool = False  # noqa: N815 -- the protocol's name

    def read(self) -> McpToolResult:
        """Return it as text: all parts in order; the structured content only where there is no other."""
        parts = [_part(one) for one in self.content]
        if not parts and self.structuredContent is not None:
            parts = [_encode(self.structuredContent).decode()]
        return McpToolResult("\n".join(parts), self.isError)


def _part(content: Mapping[str, Any]) -> str:
    """Return one part of a result as text. What is no text is named with its type and size."""
    kind = content.get("type")
    if kind == "text":
        return str(content.get("text", ""))
    if kind == "resource" and isinstance(content.get("resource"), Mapping):
        resource = content["resource"]
        if isinstance(resource.get("text"), str):
            return str(resource["text"])
        return _named(resource.get("mimeType") or resource.get("uri") or "resource", resource.get("blob"))
    if kind == "resource_link":
        return f"[{content.get('name') or 'resource'}: {content.get('uri', '')}]"
    return _named(content.get("mimeType") or kind or "content", content.get("data"))


def _named(kind: object, data: object) -> str:
    try:
        size = len(base64.b64decode(data, validate=False)) if isinstance(data, str) else 0
    except ValueError:
        size = 0
    return f"[{kind}, {size:,} bytes, which are not shown]"
