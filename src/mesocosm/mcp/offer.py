"""What MCP servers offer, as it was when a run began: it is part of the run's settings, and so of its signature."""

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import msgspec

from mesocosm.core.failure import MesocosmError, UsageError, legible
from mesocosm.core.model import Tool
from mesocosm.core.run import AgentSettings
from mesocosm.mcp.address import ServerAddress
from mesocosm.mcp.errors import McpError
from mesocosm.mcp.message import TIMEOUT_S, ToolDefinition

TAKERS = frozenset({"chat", "loop"})
"""Agents that offer tools of servers to their model."""
ROUNDS = 20
CHARACTERS = 50_000
_LONGEST_NAME = 64
_FORBIDDEN = re.compile(r"[^A-Za-z0-9_-]")


class PinnedServer(ServerAddress, frozen=True, omit_defaults=True):
    """A server with the name that it gives itself and the tools that it listed when the run began."""

    name: str = ""
    tools: tuple[ToolDefinition, ...] = ()


class ToolOffer(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The servers of a run. A model may call tools `rounds` times in a row before it must answer.

    `timeout` limits each answer of a server, in seconds. Of a result the model sees `characters` characters.
    """

    servers: tuple[PinnedServer, ...]
    rounds: int = ROUNDS
    timeout: float = TIMEOUT_S
    characters: int = CHARACTERS

    def document(self) -> dict[str, Any]:
        """Return it as an option of an agent."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found

    def tools(self) -> dict[str, "OfferedTool"]:
        """Return the tools by the names under which a model sees them.

        Characters that APIs of models refuse become `_`, and names end after 64 characters. Where several servers have
        a tool of one name, the name of the server precedes it; what still clashes gets a number.
        """
        plain = Counter(_usable(tool.name) for server in self.servers for tool in server.tools)
        several = {
            name
            for name in plain
            if sum(any(_usable(tool.name) == name for tool in server.tools) for server in self.servers) > 1
        }
        found: dict[str, OfferedTool] = {}
        for place, server in enumerate(self.servers):
            for tool in server.tools:
                name = _usable(tool.name)
                if name in several:
                    name = _usable(f"{server.name or f'server{place + 1}'}_{tool.name}")
                name = _unique(name, found)
                found[name] = OfferedTool(place, tool.name, Tool(name, tool.description, tool.parameters))
        return found


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as a model sees it: the place of its server, its name there, and its definition for the model."""

    place: int
    name: str
    tool: Tool


def read_offer(value: Any) -> ToolOffer:
    """Return the offer in an option of an agent. Raises UsageError."""
    try:
        offer = msgspec.convert(value, ToolOffer)
    except msgspec.ValidationError as error:
        raise UsageError(f"the option mcp of the agent is not what `--mcp` writes: {error}") from error
    if offer.rounds < 1 or not offer.timeout > 0 or offer.characters < 1:
        raise UsageError("the option mcp of the agent: rounds, timeout and characters are positive numbers")
    return offer


def pin(
    addresses: Sequence[ServerAddress],
    *,
    rounds: int | None = None,
    timeout: float | None = None,
    characters: int | None = None,
) -> ToolOffer:
    """Ask servers which tools they offer, and return that. Works on any thread, also on one with an event loop.

    Raises UsageError for a server that cannot be used, naming it and the reason.
    """
    limits = {"rounds": rounds, "timeout": timeout, "characters": characters}
    given: dict[str, Any] = {name: value for name, value in limits.items() if value is not None}
    seconds = given.get("timeout", TIMEOUT_S)
    with ThreadPoolExecutor(1) as thread:
        servers = thread.submit(lambda: asyncio.run(_pinned(addresses, seconds))).result()
    return read_offer(ToolOffer(servers, **given).document())


async def _pinned(addresses: Sequence[ServerAddress], seconds: float) -> tuple[PinnedServer, ...]:
    from mesocosm.mcp.client import McpClient

    found: list[PinnedServer] = []
    for address in addresses:
        try:
            async with AsyncExitStack() as stack:
                client = await stack.enter_async_context(McpClient(address, seconds=seconds))
                tools = await client.tools()
        except McpError as error:
            raise UsageError(told(error)) from error
        if not tools:
            raise UsageError(f"MCP server {address.shown} offers no tools; leave it out")
        found.append(PinnedServer(address.server, address.headers, address.env, client.name, tools))
    return tuple(found)


def told(error: McpError) -> str:
    """Return the message of an error with the last lines that the server wrote, as far as the message lacks them."""
    lines = [line for line in legible(error.stderr).splitlines() if line.strip()]
    if len(lines) < 2:
        return str(error)
    return f"{error}; its last words:\n" + "\n".join(f"  | {line}" for line in lines)


def offered_to(agent: AgentSettings, offer: ToolOffer | None) -> AgentSettings:
    """Return the settings of an agent with an offer of tools. Raises UsageError for an agent that takes none."""
    if offer is None:
        return agent
    if agent.name not in TAKERS:
        raise UsageError(f"the agent {agent.name!r} takes no MCP servers; {' and '.join(sorted(TAKERS))} do")
    return msgspec.structs.replace(agent, options={**agent.options, "mcp": offer.document()})


def differences(before: Sequence[ToolDefinition], now: Sequence[ToolDefinition]) -> str:
    """Return how listed tools differ from earlier ones; empty if they do not. Their order does not count."""
    old, new = {one.name: one for one in before}, {one.name: one for one in now}
    found = {
        "gone": sorted(old.keys() - new.keys()),
        "new": sorted(new.keys() - old.keys()),
        "changed": sorted(name for name in old.keys() & new.keys() if old[name] != new[name]),
    }
    return "; ".join(f"{what}: {', '.join(names)}" for what, names in found.items() if names)


def _usable(name: str) -> str:
    return _FORBIDDEN.sub("_", name)[:_LONGEST_NAME] or "tool"


def _unique(name: str, taken: dict[str, OfferedTool]) -> str:
    if name not in taken:
        return name
    for number in range(2, len(taken) + 3):
        end = f"_{number}"
        other = name[: _LONGEST_NAME - len(end)] + end
        if other not in taken:
            return other
    raise MesocosmError(f"no name is left for the tool {name!r}")
