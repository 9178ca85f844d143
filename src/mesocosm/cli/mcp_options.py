"""The options of commands that give a model the tools of MCP servers."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mesocosm.cli.command import FiniteFloat

if TYPE_CHECKING:
    from mesocosm.mcp.offer import ToolOffer

C = TypeVar("C", bound=Callable[..., Any])
_LIMITS = ("rounds", "timeout", "characters")


def mcp_options(command: C) -> C:
    """Add --mcp and the options that belong to it to a command."""
    added = (
        click.option(
            "--mcp",
            "mcp",
            multiple=True,
            metavar="SERVER",
            help="Offer the tools of an MCP server to the model: 'stdio:COMMAND ARGUMENTS…' or a URL; repeatable.",
        ),
        click.option(
            "--mcp-header",
            multiple=True,
            metavar="NAME=$VARIABLE",
            help="Header for the --mcp URL, from a variable whose value is not stored. Of several URLs name one first.",
        ),
        click.option(
            "--mcp-env",
            multiple=True,
            metavar="NAME",
            help="Variable that the --mcp command gets; its value is not stored.",
        ),
        click.option(
            "--mcp-rounds", type=click.IntRange(min=1), help="How often in a row the model may call tools  [20]."
        ),
        click.option(
            "--mcp-timeout",
            type=FiniteFloat(min=0, min_open=True),
            help="Seconds for one answer of an MCP server  [60].",
        ),
        click.option(
            "--mcp-characters", type=click.IntRange(min=1), help="Characters of a result that the model sees  [50,000]."
        ),
    )
    for option in reversed(added):
        command = option(command)
    return command


def mcp_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `evaluate` that the options mean; none for a command without them. Raises UsageError."""
    _check_alone(given)
    if not given.get("mcp"):
        return {}
    from mesocosm.mcp.address import read_addresses

    found = [
        one.server if not (one.headers or one.env) else _mapping(one)
        for one in read_addresses(given["mcp"], given["mcp_header"], given["mcp_env"])
    ]
    chosen = _chosen(given)
    return {**({"mcp": found} if found else {}), **({"mcp_options": chosen} if chosen else {})}


def mcp_offer(given: Mapping[str, Any]) -> "ToolOffer | None":
    """Ask the servers that the options name which tools they offer, once. Raises UsageError."""
    _check_alone(given)
    if not given.get("mcp"):
        return None
    return _offer(given["mcp"], given["mcp_header"], given["mcp_env"], tuple(_chosen(given).items()))


def _check_alone(given: Mapping[str, Any]) -> None:
    lone = next((name for name in ("header", "env", *_LIMITS) if given.get(f"mcp_{name}")), None)
    if lone is not None and not given.get("mcp"):
        from mesocosm.core.failure import UsageError

        raise UsageError(f"--mcp-{lone} is for an MCP server, and no --mcp names one")


@lru_cache(maxsize=1)
def _offer(
    servers: tuple[str, ...], headers: tuple[str, ...], env: tuple[str, ...], chosen: tuple[tuple[str, Any], ...]
) -> "ToolOffer":
    from mesocosm.mcp.address import read_addresses
    from mesocosm.mcp.offer import pin

    return pin(read_addresses(servers, headers, env), **dict(chosen))


def _chosen(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: given[f"mcp_{name}"] for name in _LIMITS if given[f"mcp_{name}"] is not None}


def _mapping(address: Any) -> dict[str, Any]:
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(address)
    return found
