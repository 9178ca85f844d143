"""Tools of MCP servers in an episode: each episode has sessions of its own, so that none sees what another one did."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

from mesocosm.agents.technique import Params, Technique, ToolAnswer
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError, RunAborted, ServiceError, UsageError, legible
from mesocosm.core.message import Message, ToolCall
from mesocosm.core.model import Tool
from mesocosm.core.ports import Context
from mesocosm.mcp.address import STDIO
from mesocosm.mcp.client import McpClient
from mesocosm.mcp.errors import (
    AccessRefused,
    McpError,
    ProtocolBroken,
    ServerAway,
    ServerEnded,
    ServerSilent,
    ServerUnreachable,
    SessionLost,
)
from mesocosm.mcp.message import McpToolResult
from mesocosm.mcp.offer import OfferedTool, PinnedServer, ToolOffer, differences


class ToolServers:
    """The connected servers of one episode. Without an offer there are no tools.

    Entering connects. It raises EpisodeError for a server that is away, RunAborted for one that refuses access or whose
    tools are not those that the run began with.
    """

    def __init__(self, context: Context, offer: ToolOffer | None) -> None:
        self._context = context
        self._offer = offer
        self._tools: dict[str, OfferedTool] = {} if offer is None else offer.tools()
        self._clients: list[McpClient] = []
        self._stack = AsyncExitStack()
        self._cut: set[str] = set()
        self._used: set[int] = set()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools as the model sees them."""
        return tuple(one.tool for one in self._tools.values())

    @property
    def rounds(self) -> int:
        """How often in a row a model may call tools before it answers."""
        return 0 if self._offer is None else self._offer.rounds

    def serves(self, name: str) -> bool:
        """Return whether a tool is one of these servers."""
        return name in self._tools

    def beside(self, others: tuple[Tool, ...]) -> tuple[Tool, ...]:
        """Return these tools and those of the benchmark. Raises RunAborted if two have one name."""
        both = next((tool.name for tool in others if tool.name in self._tools), None)
        if both is not None:
            server = self._server(self._tools[both])
            raise RunAborted(
                f"the benchmark has a tool {both!r}, and so has the MCP server {server.shown}; leave that server out"
            )
        return (*others, *self.tools)

    async def __aenter__(self) -> Self:
        """Connect to all servers. Raises EpisodeError, RunAborted."""
        if self._offer is None:
            return self
        try:
            async with self._stack:
                for server in self._offer.servers:
                    self._clients.append(await self._reached(server))
                # Everything went well, so the connections outlive this block.
                self._stack = self._stack.pop_all()
        except UsageError as error:
            raise RunAborted(str(error)) from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def _reached(self, server: PinnedServer) -> McpClient:
        """Connect to a server; wait for one that is away. Raises EpisodeError, RunAborted."""
        assert self._offer is not None
        seconds = self._offer.timeout
        return await self._context.reach(f"MCP server {server.shown}", lambda: self._connected(server, seconds))

    async def _connected(self, server: PinnedServer, seconds: float) -> McpClient:
        try:
            return await self._new_session(server, seconds)
        except McpError as error:
            raise _failure(error) from error

    async def _new_session(self, server: PinnedServer, seconds: float) -> McpClient:
        client = await self._stack.enter_async_context(McpClient(server, seconds=seconds))
        if changed := differences(server.tools, await client.tools()):
            raise RunAborted(
                f"MCP server {server.shown} offers other tools than when the run began ({changed}); bring them back, "
                "or start a new run"
            )
        return client

    async def call(self, call: ToolCall) -> Message:
        """Return the result of a call as a message, and record the call. Raises EpisodeError."""
        offered = self._tools.get(call.name)
        event: dict[str, Any] = {"id": call.id, "name": call.name, "arguments": call.arguments}
        began = time.monotonic()
        try:
            if offered is None:
                known = ", ".join(self._tools)
                result = McpToolResult(f"there is no tool {call.name!r}; there are {known}", failed=True)
            elif not isinstance(call.arguments, dict):
                result = McpToolResult("the arguments are no JSON object", failed=True)
            else:
                event["server"] = self._server(offered).shown
                if offered.name != call.name:
                    event["tool"] = offered.name
                result = await self._answered(offered, call.arguments)
        except (EpisodeError, RunAborted) as error:
            self._context.record(Kind.TOOL_CALL, {**event, "error": str(error), **_seconds(began)})
            raise
        except asyncio.CancelledError:
            self._context.record(Kind.TOOL_CALL, {**event, "error": "cancelled", **_seconds(began)})
            raise
        text = self._shortened(call.name, result.text)
        failed = {"failed": True} if result.failed else {}
        self._context.record(Kind.TOOL_CALL, {**event, "result": text, **failed, **_seconds(began)})
        return Message("tool", text, tool_call_id=call.id, failed=result.failed)

    async def _answered(self, offered: OfferedTool, arguments: dict[str, Any]) -> McpToolResult:
        """Call a tool; wait for its server if that is away. Raises EpisodeError, RunAborted.

        What a session holds is lost with it. Only one in which nothing was called is begun anew.
        """
        place, server = offered.place, self._server(offered)

        async def asked() -> McpToolResult:
            try:
                return await self._clients[place].call(offered.name, arguments)
            except McpError as error:
                raise _failure(error) from error

        service = f"MCP server {server.shown}"
        try:
            result = await self._context.reach(service, asked)
        except ServiceError as error:
            if place in self._used or not isinstance(error.__cause__, SessionLost):
                raise
            self._clients[place] = await self._reached(server)
            result = await self._context.reach(service, asked)
        self._used.add(place)
        return result

    def _server(self, offered: OfferedTool) -> PinnedServer:
        assert self._offer is not None
        return self._offer.servers[offered.place]

    def _shortened(self, name: str, text: str) -> str:
        """Return the beginning of a result that is too long for the model, and say so to model and reader."""
        most = self._offer.characters if self._offer is not None else len(text)
        text = legible(text)
        if len(text) <= most:
            return text
        if name not in self._cut:
            self._cut.add(name)
            self._context.warn(f"a result of the tool {name} was cut after {most:,} characters (--mcp-characters)")
        return f"{text[:most]}\n[cut: this is the beginning of {len(text):,} characters]"


class ServerTools(Technique):
    """Offers the tools of servers to the step loop. Their calls take no step of the environment."""

    id = "mcp"

    def __init__(self, offer: ToolOffer) -> None:
        super().__init__(Params())
        self._offer = offer
        self._servers: ToolServers | None = None

    async def on_start(self, context: Context) -> None:
        """Connect to the servers. Raises EpisodeError, RunAborted."""
        self._servers = await ToolServers(context, self._offer).__aenter__()

    def tools(self) -> Sequence[Tool]:
        """Return the tools of all servers."""
        return () if self._servers is None else self._servers.tools

    async def call(self, call: ToolCall, context: Context) -> ToolAnswer:
        """Return what a tool gives. Raises EpisodeError."""
        del context
        assert self._servers is not None
        return ToolAnswer((await self._servers.call(call)).text, recorded=True)

    async def on_end(self, context: Context) -> None:
        """End the connections."""
        del context
        servers, self._servers = self._servers, None
        if servers is not None:
            await servers.__aexit__(None, None, None)


def _seconds(began: float) -> dict[str, float]:
    return {"seconds": round(time.monotonic() - began, 3)}


def _failure(error: McpError) -> Exception:
    """Return what an error of a server means for the episode; none of them is the model's fault."""
    if isinstance(error, AccessRefused):
        return RunAborted(str(error))
    # A process that ends during a call may do so again at the same call, so its episode is not repeated.
    away = isinstance(error, ServerEnded) and not error.server.startswith(STDIO)
    causes: tuple[tuple[type[McpError], Cause], ...] = (
        (ServerUnreachable, Cause.ENVIRONMENT_UNREACHABLE),
        (ServerSilent, Cause.ENVIRONMENT_TIMEOUT),
        (ProtocolBroken, Cause.ENVIRONMENT_INVALID),
        (ServerEnded, Cause.ENVIRONMENT_UNREACHABLE if away else Cause.ENVIRONMENT_ERROR),
    )
    cause = next((cause for kind, cause in causes if isinstance(error, kind)), Cause.ENVIRONMENT_ERROR)
    return ServiceError(
        cause,
        str(error),
        away=isinstance(error, ServerAway) and not error.server.startswith(STDIO),
        stderr=error.stderr,
    )
