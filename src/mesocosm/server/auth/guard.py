"""Who may talk to a platform: names that it answers to, pages that may use it, and headers on every answer."""

from collections.abc import MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mesocosm.server.auth.cookies import RECOGNISED
from mesocosm.server.auth.recognition import AUTH_STATE, bearer
from mesocosm.server.problems import error_document
from mesocosm.server.settings import Settings
from mesocosm.server.web.guard import HEADERS, host_name, is_address, is_own_name, page_place

AUTH_HEADER = "X-Mesocosm-Auth"
"""Says in an answer why the bearer token of the request was not recognised: `expired` or `invalid`."""

PROBES = frozenset({"/health", "/metrics"})
"""Paths that load balancers ask under any name. With accounts switched off numbers are told under our names alone."""

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_PAGES = frozenset({"", "same-origin", "none"})
_READ_BY_OWN_PAGES = ("/v1", "/auth", "/metrics")
_SHARED = {
    "Access-Control-Allow-Credentials": "true",
    "Access-Control-Expose-Headers": f"ETag, Retry-After, {AUTH_HEADER}, X-CSRFToken",
}
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, If-None-Match, X-CSRFToken, X-Mesocosm",
    "Access-Control-Max-Age": "600",
}


class Guard:
    """Middleware that refuses what a page of another site may have sent, and adds headers to every answer.

    Pages of `cors_origins` may use the platform like its own. Who brings a bearer token is never refused for where
    they come from: no browser adds that by itself. Where the platform has names (`names`, `public_url`), it answers
    to them, to loopback names, and to addresses, which cannot be pointed elsewhere.

    With accounts switched off everybody is the administrator, so where a request comes from is all that can be checked:
    it answers to loopback, to `host` and to the names above alone, and to pages of other sites not even what they read.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        public = page_place(settings.public_url)
        self._origins = frozenset(origin.rstrip("/").casefold() for origin in settings.cors_origins)
        self._own = frozenset({public} if public else ())
        self._open = settings.auth_disabled
        names = {name.casefold() for name in settings.names} | {host_name(place) or "" for place in self._own}
        self._names = frozenset(names | {settings.host.casefold()} if self._open else names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] not in {"http", "websocket"}:
            await self.app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        headers = Headers(scope=scope)
        shared = self._sharing(headers)

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                _dress(message, shared, state)
            await send(message)

        refusal = self.refusal(scope, headers)
        if refusal is None and not _preflight(scope, headers):
            await self.app(scope, receive, dressed)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif refusal is None:
            await Response(status_code=204, headers=_PREFLIGHT if shared else {})(scope, receive, dressed)
        else:
            await error_document(*refusal)(scope, receive, dressed)

    def refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """Return status and reason when a request is not to be answered."""
        host = headers.get("host", "")
        if len(headers.getlist("host")) > 1:
            return 400, "the request has several Host headers; a proxy before this may have read another one"
        probe = scope["path"] == "/health" if self._open else scope["path"] in PROBES
        if self._names and not probe and not self._known(host):
            return 421, f"this platform does not answer to the name {host[:100]!r}; its settings `names` list those"
        if (bearer(headers) is not None and not self._open) or _preflight(scope, headers):
            return None
        reading = scope["type"] == "http" and scope["method"] in _READING
        if self._open and reading and scope["path"].startswith(_READ_BY_OWN_PAGES) and not self._welcome(headers, host):
            return 403, "a page of another site asked for this; use the pages of this platform instead"
        if reading or self._welcome(headers, host):
            return None if reading or scope["type"] == "websocket" else _unmarked(headers)
        return 403, "a page of another site asked for this; use the pages of this platform instead"

    def _known(self, host: str) -> bool:
        return is_own_name(host, self._names) or (not self._open and is_address(host))

    def _welcome(self, headers: Headers, host: str) -> bool:
        """Return whether a program, one of our own pages, or one of a site that we know asks."""
        origin = headers.get("origin")
        if origin is None:
            return headers.get("sec-fetch-site", "") in _OWN_PAGES
        place = page_place(origin)
        return place is not None and (place == host.casefold() or place in self._own or self._listed(origin))

    def _listed(self, origin: str) -> bool:
        return origin.casefold() in self._origins

    def _sharing(self, headers: Headers) -> dict[str, str]:
        origin = headers.get("origin", "")
        return {**_SHARED, "Access-Control-Allow-Origin": origin} if self._listed(origin) else {}


def _preflight(scope: Scope, headers: Headers) -> bool:
    return (
        scope["type"] == "http"
        and scope["method"] == "OPTIONS"
        and "origin" in headers
        and "access-control-request-method" in headers
    )


def _unmarked(headers: Headers) -> tuple[int, str] | None:
    """Return why a change by somebody known by a cookie may be that of a form of another site."""
    if headers.get("x-mesocosm") == "1" or not _recognised(headers):
        return None
    if headers.get("content-type", "").partition(";")[0].strip().casefold() == "application/json":
        return None
    return 403, "with a cookie, a change needs the header `X-Mesocosm: 1` or the content type application/json"


def _recognised(headers: Headers) -> bool:
    try:
        cookies = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return True
    return any(name in cookies for name in RECOGNISED)


def _dress(message: MutableMapping[str, Any], shared: dict[str, str], state: dict[str, Any]) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    for name, value in shared.items():
        headers[name] = value
    headers.add_vary_header("Origin")
    if problem := state.get(AUTH_STATE):
        headers[AUTH_HEADER] = problem
