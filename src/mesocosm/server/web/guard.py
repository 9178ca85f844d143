"""Protection against DNS rebinding and cross-site requests, and the security headers of every response."""

import ipaddress
from collections.abc import Collection, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mesocosm.server.problems import early_response
from mesocosm.server.refusal import AUTH_STATE
from mesocosm.server.schemas.problem import ProblemCode
from mesocosm.server.settings import Settings
from mesocosm.server.web.body_limits import PARTS
from mesocosm.server.web.cookies import GUEST_COOKIE, WEB_COOKIE, bearer_token

PAGE_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "worker-src 'self'",
        "frame-src 'self'",
        "base-uri 'self'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
"""Content-Security-Policy of the web app: its own files, and images as data and blob URLs."""

HEADERS = {
    "Content-Security-Policy": PAGE_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "X-DNS-Prefetch-Control": "off",
}
"""Default headers of every response. A route may set its own value."""

AUTH_HEADER = "X-Mesocosm-Auth"
"""The response header with the reason why a bearer token was rejected: `expired` or `invalid`."""

PROBES = frozenset({"/health", "/metrics"})
"""Paths that load balancers request by any host name. Without accounts, /metrics requires one of our own names."""

LOOPBACK_NAMES = frozenset({"localhost", "ip6-localhost"})

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_PAGES = frozenset({"", "same-origin", "none"})
"""Values of `Sec-Fetch-Site` for programs, for our own pages and for a typed address."""

_READ_BY_OWN_PAGES = ("/api", "/v1", "/auth", "/metrics", "/openapi.json")
_SHARED = {
    "Access-Control-Allow-Credentials": "true",
    "Access-Control-Expose-Headers": f"ETag, Retry-After, {AUTH_HEADER}, X-CSRFToken",
}
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, If-None-Match, X-CSRFToken, X-Mesocosm",
    "Access-Control-Max-Age": "600",
}
_FOREIGN = "the request came from a page of another site; use the pages of this server instead"
_UNMARKED = "changes need the header `X-Mesocosm: 1` or the content type application/json"


class RequestRefusal(NamedTuple):
    """The reason why a request is refused."""

    status: int
    code: ProblemCode
    detail: str


class Guard:
    """Middleware that refuses requests of pages of other sites, and adds headers to every response.

    DNS rebinding, a page whose host name resolves to this machine, is detected by the name in `Host`. If the server has
    names (`names`, `public_url`), it accepts them, loopback names, and IP addresses, which cannot be rebound. Other
    cross-site requests are detected by `Origin` and `Sec-Fetch-Site`; pages of `cors_origins` may use the server like
    its own pages. A change authorised by a cookie also needs a header that no HTML form can send. A request with a
    bearer token may come from any page: no browser adds one automatically.

    Without accounts (`auth_disabled`, always on a laptop) every caller is the administrator, so these checks are the
    only protection: the server accepts only loopback names, `host` and its names; pages of other sites may not even
    read; bearer tokens are ignored; and every change under `/api` needs the header, except for a PUT of bytes,
    which no form can send either.
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
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        headers = Headers(scope=scope)
        shared = self._sharing(headers)

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                _add_headers(message, shared, state)
                if self._origins:
                    MutableHeaders(scope=message).add_vary_header("Origin")
            await send(message)

        refusal = self.refusal(scope, headers)
        if refusal is None and not _preflight(scope, headers):
            await self.app(scope, receive, dressed)
        elif refusal is None:
            await Response(status_code=204, headers=_PREFLIGHT if shared else {})(scope, receive, dressed)
        else:
            await early_response(scope, refusal.status, refusal.detail, refusal.code)(scope, receive, dressed)

    def refusal(self, scope: Scope, headers: Headers) -> RequestRefusal | None:
        """Return the reason to refuse a request; None if it is accepted."""
        host = headers.get("host", "")
        if len(headers.getlist("host")) > 1:
            detail = "the request has several Host headers; a proxy may have used another one"
            return RequestRefusal(400, ProblemCode.BAD_REQUEST, detail)
        probe = scope["path"] == "/health" if self._open else scope["path"] in PROBES
        if self._names and not probe and not self._known(host):
            detail = (
                f"this server does not accept the host name {host[:100]!r}; use the URL that it printed, or "
                "allow the name with --host or the setting `names`"
            )
            return RequestRefusal(421, ProblemCode.WRONG_HOST, detail)
        return self._foreign(scope, headers, host)

    def _foreign(self, scope: Scope, headers: Headers, host: str) -> RequestRefusal | None:
        if not self._open and (bearer_token(headers) is not None or _preflight(scope, headers)):
            return None
        reading = scope["method"] in _READING
        for_all = reading and not (self._open and _private(scope, headers))
        if not for_all and not self._welcome(headers, host):
            return RequestRefusal(403, ProblemCode.FOREIGN_PAGE, _FOREIGN)
        if reading or not self._needs_mark(scope, headers) or _marked(headers):
            return None
        return RequestRefusal(403, ProblemCode.MISSING_MARK, _UNMARKED)

    def _needs_mark(self, scope: Scope, headers: Headers) -> bool:
        """Return whether a change needs the header: a browser without `Sec-Fetch-Site` may send another site's form."""
        if scope["method"] == "PUT" and PARTS.fullmatch(scope["path"]):
            # Programs that upload to an address that they were given send no headers of their own.
            return False
        return _recognised(headers) or (self._open and scope["path"].startswith("/api"))

    def _known(self, host: str) -> bool:
        return is_own_name(host, self._names) or (not self._open and is_address(host))

    def _welcome(self, headers: Headers, host: str) -> bool:
        """Return whether a request comes from a program, one of our own pages, or a page of `cors_origins`."""
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


def _private(scope: Scope, headers: Headers) -> bool:
    """Return whether pages of other sites must not read a path. Pages of the web app may be linked from anywhere."""
    return _preflight(scope, headers) or scope["path"].startswith(_READ_BY_OWN_PAGES)


def _preflight(scope: Scope, headers: Headers) -> bool:
    return scope["method"] == "OPTIONS" and "origin" in headers and "access-control-request-method" in headers


def _marked(headers: Headers) -> bool:
    """Return whether a request has a header that an HTML form cannot send."""
    if headers.get("x-mesocosm") == "1":
        return True
    return headers.get("content-type", "").partition(";")[0].strip().casefold() == "application/json"


def _recognised(headers: Headers) -> bool:
    try:
        cookies = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return True
    return WEB_COOKIE in cookies or GUEST_COOKIE in cookies


def is_own_name(host: str, names: Collection[str]) -> bool:
    """Return whether a `Host` header contains a loopback name or address, or one of `names`."""
    name = host_name(host)
    if name is None:
        return False
    if name in LOOPBACK_NAMES or name in names or name.endswith(".localhost"):
        return True
    return is_address(host) and ipaddress.ip_address(name).is_loopback


def is_address(host: str) -> bool:
    """Return whether a `Host` header contains an IP address, which unlike a name cannot be rebound."""
    try:
        ipaddress.ip_address(host_name(host) or "")
    except ValueError:
        return False
    return True


def host_name(host: str) -> str | None:
    """Return the name or address in a `Host` header, in lower case; None if it is invalid."""
    try:
        parts = urlsplit(f"//{host}")
        parts.port  # noqa: B018
    except ValueError:
        return None
    if not host or parts.username is not None or parts.path or parts.query or parts.fragment:
        return None
    return (parts.hostname or "").rstrip(".").casefold() or None


def page_place(origin: str) -> str | None:
    """Return host and port of an `Origin` header or URL, in lower case; None unless it is http or https."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc.casefold() or None if parts.scheme in {"http", "https"} else None


def _add_headers(message: MutableMapping[str, Any], shared: dict[str, str], state: dict[str, Any]) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    for name, value in shared.items():
        headers[name] = value
    if problem := state.get(AUTH_STATE):
        headers[AUTH_HEADER] = problem
