"""An MCP server of the official SDK, on standard input and output or on a port; for an environment with `mcp` 2.x."""

import os
import sys

from mcp.server.mcpserver import MCPServer  # type: ignore[import-not-found]

server = MCPServer("adder")


@server.tool()  # type: ignore[untyped-decorator]
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()  # type: ignore[untyped-decorator]
def fail() -> str:
    """Fail."""
    raise ValueError("no luck")


@server.tool()  # type: ignore[untyped-decorator]
def big(n: int) -> str:
    """Return a long text."""
    return "x" * n


@server.tool()  # type: ignore[untyped-decorator]
def die() -> str:
    """End the process."""
    os._exit(3)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
