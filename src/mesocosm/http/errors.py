"""Errors between a request and its response.

Exceptions::

    HttpError
    ├── InvalidRequest     the URL, method or a header is invalid; nothing was sent
    ├── ConnectFailed      no connection: name, address, TLS; nothing was sent
    │   └── ProxyFailed    the proxy cannot be reached, or refuses to connect
    ├── ConnectionLost     the server (or our own `close`) closed it before the response was complete
    ├── Timeout            time ran out while connecting or waiting for the response
    ├── ResponseTooLarge   the response exceeded the limit
    └── BadResponse        the response is not HTTP/1.x, or cannot be decoded

A response with any status is a response, not an error. Messages name the method, the URL without user, password and
query values, and the cause.
"""

from typing import Literal

Phase = Literal["connect", "response"]


class HttpError(Exception):
    """Root of the errors: a request that got no response. `url` is safe to show."""

    def __init__(self, method: str, url: str, cause: str) -> None:
        super().__init__(method, url, cause)
        self.method = method
        self.url = url
        self.cause = cause

    def __str__(self) -> str:
        return f"{self.method} {self.url}: {self.cause}"


class InvalidRequest(HttpError):
    """The request is invalid and was not sent."""


class ConnectFailed(HttpError):
    """No connection could be made; the server has not seen any part of the request."""


class ProxyFailed(ConnectFailed):
    """The proxy cannot be reached, or refuses to connect to the server."""


class ConnectionLost(HttpError):
    """The connection ended before the response was complete; the server may have acted on the request."""


class Timeout(HttpError):
    """The timeout expired. `phase` is what was waited for, `seconds` the timeout."""

    def __init__(self, method: str, url: str, phase: Phase, seconds: float) -> None:
        what = {"connect": "connection", "response": "complete response"}[phase]
        super().__init__(method, url, f"no {what} within {seconds:g} s")
        # Pickling, used between processes, calls the class with `args`.
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
