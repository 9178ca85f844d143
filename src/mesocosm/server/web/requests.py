"""Middleware for path prefixes, request ids, request logs and metrics."""

import logging
import re
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mesocosm.core.ids import new_id
from mesocosm.server.settings import Settings
from mesocosm.server.web.client_address import client_address, secure
from mesocosm.server.web.logs import REQUEST

if TYPE_CHECKING:
    from mesocosm.server.metrics import (
        ServerMetrics,  # a laptop has none, and its viewer starts without prometheus_client
    )

ID_HEADER = "X-Request-Id"
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_log = logging.getLogger(REQUEST)


BENCH = "/bench"
"""The prefix that clients try if they only have the base URL of the server."""

_TAKEN = "mesocosm.prefix"


class Prefixed:
    """Middleware that also serves an application below `prefix` and `/bench`, whether a proxy strips them or not."""

    def __init__(self, app: ASGIApp, prefix: str = "") -> None:
        self.app = app
        self.prefixes = tuple(dict.fromkeys(name for name in (prefix, BENCH) if name))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, with its prefix removed."""
        if scope["type"] == "http":
            path: str = scope["path"]
            prefix = next((one for one in self.prefixes if path == one or path.startswith(f"{one}/")), "")
            if prefix:
                raw: bytes = scope.get("raw_path") or path.encode()
                shorter = raw.removeprefix(prefix.encode()) or b"/"
                scope = {**scope, "path": path.removeprefix(prefix) or "/", "raw_path": shorter, _TAKEN: prefix}
        await self.app(scope, receive, send)


def prefix_of(connection: HTTPConnection, prefix: str) -> str:
    """Return the prefix for URLs in a response: that of the request, else `prefix`."""
    taken = connection.scope.get(_TAKEN, prefix)
    assert isinstance(taken, str)
    return taken


def base_url(connection: HTTPConnection, settings: Settings) -> str:
    """Return the URL at which the client reaches the server, without a slash at its end."""
    if settings.public_url:
        return settings.public_url.rstrip("/")
    scheme = "https" if secure(connection, "", settings.trusted_proxies) else "http"
    return f"{scheme}://{connection.url.netloc}{prefix_of(connection, settings.prefix)}"


class Observed:
    """Middleware that gives every request an id, and reports finished requests to the log and to `metrics`.

    Queries, headers and bodies are never logged: they contain tokens and cookies.
    """

    def __init__(self, app: ASGIApp, metrics: "ServerMetrics", trusted: Iterable[str] = ()) -> None:
        self.app = app
        self.metrics = metrics
        self.trusted = tuple(trusted)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get(ID_HEADER, "")
        request_id = given if _ID.fullmatch(given) else new_id()
        started = time.perf_counter()
        status = 500

        async def seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).setdefault(ID_HEADER, request_id)
            await send(message)

        try:
            await self.app(scope, receive, seen)
        finally:
            self._tell(scope, request_id, status, time.perf_counter() - started)

    def _tell(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        route = _route(scope)
        self.metrics.request(method, route, status, seconds)
        principal = scope.get("state", {}).get("principal")
        facts: dict[str, Any] = {
            "request": request_id,
            "method": method,
            "route": route,
            "path": scope["path"][:200],
            "status": status,
            "ms": round(seconds * 1000, 1),
            "principal": getattr(principal, "actor", ""),
            "client": client_address(HTTPConnection(scope), self.trusted),
        }
        _log.info("request", extra={"facts": facts})


def _route(scope: Scope) -> str:
    """Return the path template of the matched route; `unknown` if there is none, to limit the number of labels."""
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else "unknown"


async def read_body(request: Request, most: int) -> bytearray:
    """Return the body of a request, or its beginning if that has more than `most` bytes."""
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > most:
            break
    return data
