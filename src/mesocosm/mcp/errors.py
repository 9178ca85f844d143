"""Errors between a request to an MCP server and its result.

Exceptions::

    McpError
    ├── ServerUnreachable   it cannot be started or reached
    │   ├── AccessRefused   it wants a credential, or refuses the one that it got
    │   └── ServerAway      it does not answer now, and has done nothing of what was asked
    ├── ServerEnded         the process or the session ended while an answer was awaited
    │   └── SessionLost     it knows nothing of the session any more, and has done nothing of what was asked
    ├── ServerSilent        no answer within the timeout
    ├── ProtocolBroken      what it sent breaks the protocol, or is too large
    └── CallRefused         it answered with a JSON-RPC error; the connection lives on

Messages name the server without credentials.
"""


class McpError(Exception):
    """Root of the errors of MCP servers. `stderr` holds the last lines that a process wrote."""

    def __init__(self, server: str, cause: str, *, stderr: str = "") -> None:
        super().__init__(f"MCP server {server} {cause}")
        self.server = server
        self.stderr = stderr


class ServerUnreachable(McpError):
    """The server cannot be started, or does not answer at its URL."""


class AccessRefused(ServerUnreachable):
    """The server wants a credential, or refuses the one that it got."""


class ServerAway(ServerUnreachable):
    """The server does not answer now. It has done nothing of what was asked, which may be asked again."""


class ServerEnded(McpError):
    """The process or the session ended while an answer was awaited."""


class SessionLost(ServerEnded):
    """The server knows nothing of the session any more, as after a restart, and has not done what was asked."""


class ServerSilent(McpError):
    """No answer came in time."""


class ProtocolBroken(McpError):
    """The server sent something that the protocol does not allow, or that is too large."""


class CallRefused(McpError):
    """The server answered with a JSON-RPC error: `code` and `said`."""

    def __init__(self, server: str, method: str, code: int, said: str) -> None:
        super().__init__(server, f"refused {method}: {said} (code {code})")
        self.code = code
        self.said = said
