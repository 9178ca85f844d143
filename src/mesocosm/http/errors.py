"""What can go wrong between a request and its response.

Exceptions::

    HttpError
    ├── InvalidRequest     the URL, method or a header cannot be sent; nothing was
    ├── ConnectFailed      no connection: name, address, TLS; nothing was sent
    │   └── ProxyFailed    the proxy in between is away, or lets nothing through
    ├── ConnectionLost     the other side (or our own `close`) ended it before the response was complete
    ├── Timeout            no time left, while connecting or waiting for the response
    ├── ResponseTooLarge   the response passed the cap
    └── BadResponse        what came is not HTTP/1.x, or cannot be decoded

A response with any status is a response, not an error. Messages name the method, the URL without user, password and
query values, and the cause.
"""

from typing import Literal

Phase = Literal["connect", "response"]


class HttpError(Exception):
    """Root: one request that got no response. `url` is safe to show."""

    def __init__(self, method: str, url: str, cause: str) -> None:
        super().__init__(method, url, cause)
        self.method = method
        self.url = url
        self.cause = cause

    def __str__(self) -> str:
        return f"{self.method} {self.url}: {self.cause}"


class InvalidRequest(HttpError):
    """The request cannot be sent as it is."""


class ConnectFailed(HttpError):
    """No connection could be made; the server has seen nothing of the request."""


class ProxyFailed(ConnectFailed):
    """The proxy in between cannot be reached, or refuses to connect to the server."""


class ConnectionLost(HttpError):
    """The connection ended before the response was complete; the server may have acted on the request."""


class Timeout(HttpError):
    """No time left. `phase` says what was waited for, `seconds` how long."""

    def __init__(self, method: str, url: str, phase: Phase, seconds: float) -> None:
        what = {"connect": "connection", "response": "complete response"}[phase]
        super().__init__(method, url, f"no {what} within {seconds:g} s")
        # Exceptions travel between processes by calling their class with `args`.
        self.args = (method, url, phase, seconds)
        self.phase = phase
        self.seconds = seconds


class ResponseTooLarge(HttpError):
    """The response is larger than `limit` bytes, on the wire or after decompression."""

    def __init__(self, method: str, url: str, limit: int) -> None:
        super().__init__(method, url, f"the response is larger than the limit of {limit:,} bytes")
        self.args = (method, url, limit)
        self.limit = limit


class BadResponse(HttpError):
    """The answer is not a usable HTTP/1.x response."""
