"""Who may talk to the server: names that it answers to, pages that may ask it, and headers on every answer."""

import ipaddress
from collections.abc import Collection, Iterable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mesocosm.server.errors import error_response

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
"""What the web app may load: its own files, and images that it was given as data."""

HEADERS = {
    "Content-Security-Policy": PAGE_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "X-DNS-Prefetch-Control": "off",
}
"""What every answer says unless it says something stricter itself."""

LOOPBACK_NAMES = frozenset({"localhost", "ip6-localhost"})

_READING = frozenset({"GET", "HEAD"})
_OWN_PAGES = frozenset({"", "same-origin", "none"})
"""What `Sec-Fetch-Site` says of our own pages and of an address that somebody typed."""


class Guard:
    """Middleware that refuses what a foreign web page may have sent, and adds headers to every answer.

    A page that has its own name point to this machine (DNS rebinding) is known by that name in `Host`: only loopback
    addresses and `names` are served, on any port, so that a forwarded port works. A page that merely sends requests
    here is known by `Origin` and `Sec-Fetch-Site`. Changes also need a header that no form of a page can send.
    """

    def __init__(self, app: ASGIApp, names: Iterable[str] = ()) -> None:
        self.app = app
        self.names = frozenset(name.casefold() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                _dress(message)
            await send(message)

        refusal = self.refusal(scope["method"], scope["path"], Headers(scope=scope))
        if refusal is None:
            await self.app(scope, receive, dressed)
            return
        status, detail = refusal
        await error_response(status, "refused", detail)(scope, receive, dressed)

    def refusal(self, method: str, path: str, headers: Headers) -> tuple[int, str] | None:
        """Return status and reason when a request is not to be answered."""
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not is_own_name(host, self.names):
            return 421, (
                f"this server does not answer to the name {_shown(host)}; open it by the address that it printed, "
                "or start it with --host and the name that you use"
            )
        if path.startswith("/v1") or method not in _READING:
            return _foreign(method, host, headers)
        return None


def is_own_name(host: str, names: Collection[str]) -> bool:
    """Return whether a `Host` header names this machine's loopback or one of `names`."""
    name = host_name(host)
    if name is None:
        return False
    if name in LOOPBACK_NAMES or name in names or name.endswith(".localhost"):
        return True
    return is_address(host) and ipaddress.ip_address(name).is_loopback


def is_address(host: str) -> bool:
    """Return whether a `Host` header has an address rather than a name, which could be pointed elsewhere."""
    try:
        ipaddress.ip_address(host_name(host) or "")
    except ValueError:
        return False
    return True


def _foreign(method: str, host: str, headers: Headers) -> tuple[int, str] | None:
    """Return why a request of a web page is not to be answered; None for our own pages and for programs."""
    origin = headers.get("origin")
    if origin is not None and page_place(origin) != host.casefold():
        return 403, f"pages of {_shown(origin)} may not use this server; open its own pages instead"
    if headers.get("sec-fetch-site", "") not in _OWN_PAGES:
        return 403, "a page of another site asked for this; open this server's own pages instead"
    if method in _READING or headers.get("x-mesocosm") == "1":
        return None
    if headers.get("content-type", "").partition(";")[0].strip().casefold() == "application/json":
        return None
    return 403, "a change needs the header `X-Mesocosm: 1` or the content type application/json"


def host_name(host: str) -> str | None:
    """Return the name or address in a `Host` header; None when it is none."""
    try:
        parts = urlsplit(f"//{host}")
        parts.port  # noqa: B018
    except ValueError:
        return None
    if not host or parts.username is not None or parts.path or parts.query or parts.fragment:
        return None
    return (parts.hostname or "").rstrip(".").casefold() or None


def page_place(origin: str) -> str | None:
    """Return host and port of the page that an `Origin` header names; None when it is none of the web."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc.casefold() or None if parts.scheme in {"http", "https"} else None


def _shown(value: str) -> str:
    return repr(value[:100])


def _dress(message: MutableMapping[str, Any]) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
