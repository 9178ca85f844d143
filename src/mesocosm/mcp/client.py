"""A client of one MCP server: agree on a version, list tools, call them."""

import asyncio
import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, TypeVar
from weakref import WeakKeyDictionary

import msgspec

from mesocosm.mcp.address import ServerAddress
from mesocosm.mcp.connection import McpConnection
from mesocosm.mcp.errors import CallRefused, ProtocolBroken, ServerAway, ServerEnded, ServerSilent, ServerUnreachable
from mesocosm.mcp.message import (
    METHOD_NOT_FOUND,
    TIMEOUT_S,
    VERSIONS,
    CallOutcome,
    McpToolResult,
    ToolDefinition,
    ToolPage,
)

T = TypeVar("T")
START_S = 30.0
"""Minimum seconds for the first answer: a process has to start and to load its code."""
STARTING = max(os.cpu_count() or 1, 2)
"""Maximum processes that start at the same time; more would make each of them slower."""
MOST_TOOLS = 1000
_MOST_PAGES = 200


class McpClient:
    """One session with an MCP server. Use it within one event loop:

        async with McpClient(ServerAddress("stdio:my-server")) as client:
            tools = await client.tools()
            result = await client.call(tools[0].name, {})

    `seconds` limits each answer. Calls may overlap.
    """

    def __init__(
        self, address: ServerAddress, *, seconds: float = TIMEOUT_S, environment: Mapping[str, str] | None = None
    ) -> None:
        self.address = address
        self.name = ""
        """The name that the server gives itself."""
        self._seconds = seconds
        self._environment = os.environ if environment is None else environment
        self._connection: McpConnection | None = None

    async def __aenter__(self) -> Self:
        """Connect, and agree on a version. Raises McpError, UsageError."""
        if not self.address.local:
            return await self._connect()
        async with _turn():
            return await self._connect()

    async def _connect(self) -> Self:
        self._connection = await _connected(self.address, self._environment)
        try:
            await self._begin(self._connection)
        except BaseException:
            await self._connection.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _begin(self, connection: McpConnection) -> None:
        import mesocosm

        shown = self.address.shown
        offer = {
            "protocolVersion": VERSIONS[0],
            "capabilities": {},
            "clientInfo": {"name": "mesocosm", "version": mesocosm.__version__},
        }
        try:
            answer = await connection.request("initialize", offer, max(self._seconds, START_S))
        except ServerSilent as error:
            said = str(error).removeprefix(f"MCP server {shown} ")
            raise ServerAway(shown, said, stderr=error.stderr) from error
        except CallRefused as error:
            raise ServerUnreachable(shown, f"refuses to begin: {error.said}") from error
        except ServerEnded as error:
            # Nothing was asked of it yet, so it never was there.
            said = str(error).removeprefix(f"MCP server {shown} ")
            raise ServerAway(shown, said, stderr=error.stderr) from error
        version = answer.get("protocolVersion") if isinstance(answer, dict) else None
        if version not in VERSIONS:
            known = ", ".join(VERSIONS)
            raise ProtocolBroken(shown, f"speaks version {version!r:.60} of the protocol; known are {known}")
        connection.version = version
        described = answer.get("serverInfo")
        self.name = str(described.get("name") or "") if isinstance(described, dict) else ""
        await connection.notify("notifications/initialized")

    async def tools(self) -> tuple[ToolDefinition, ...]:
        """Return all tools, page by page, in the server's order. Raises McpError.

        ProtocolBroken for a name that is listed twice, pages without an end, more than MOST_TOOLS tools.
        """
        found: dict[str, ToolDefinition] = {}
        cursor: str | None = None
        seen: set[str] = set()
        shown = self.address.shown
        for _ in range(_MOST_PAGES):
            try:
                answer = await self._ask("tools/list", {} if cursor is None else {"cursor": cursor})
            except CallRefused as error:
                if error.code == METHOD_NOT_FOUND:
                    return ()
                raise
            page = self._read(answer, ToolPage, "tools/list")
            for one in page.definitions():
                if one.name in found:
                    raise ProtocolBroken(shown, f"lists the tool {one.name!r:.80} twice")
                found[one.name] = one
            if len(found) > MOST_TOOLS:
                raise ProtocolBroken(shown, f"lists more than {MOST_TOOLS:,} tools")
            cursor = page.nextCursor
            if not cursor:
                return tuple(found.values())
            if cursor in seen:
                raise ProtocolBroken(shown, f"lists its tools in circles: the cursor {cursor!r:.60} comes again")
            seen.add(cursor)
        raise ProtocolBroken(shown, f"lists its tools on more than {_MOST_PAGES} pages")

    async def call(self, name: str, arguments: Mapping[str, Any]) -> McpToolResult:
        """Return what a tool gives; an error that the server answers with is a failed result. Raises McpError."""
        try:
            answer = await self._ask("tools/call", {"name": name, "arguments": arguments})
        except CallRefused as error:
            return McpToolResult(error.said, failed=True)
        return self._read(answer, CallOutcome, "tools/call").read()

    async def _ask(self, method: str, params: Mapping[str, Any]) -> Any:
        if self._connection is None:
            raise ServerEnded(self.address.shown, "is not connected")
        return await self._connection.request(method, params, self._seconds)

    def _read(self, answer: Any, kind: type[T], method: str) -> T:
        try:
            return msgspec.convert(answer, kind)
        except msgspec.ValidationError as error:
            raise ProtocolBroken(
                self.address.shown, f"answered {method} in a form that is not MCP's: {error}"
            ) from error


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


def _turn() -> asyncio.Semaphore:
    """Return what lets STARTING processes start at a time on the running loop."""
    return _turns.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(STARTING))


async def _connected(address: ServerAddress, environment: Mapping[str, str]) -> McpConnection:
    if address.local:
        from mesocosm.mcp.stdio import StdioConnection

        return await StdioConnection.open(address, environment)
    from mesocosm.mcp.streamable_http import HttpConnection

    return HttpConnection(address, environment)
