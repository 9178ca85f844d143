"""Credentials of a request: cookies, and the bearer token."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from fastapi import Request, Response

from mesocosm.server.settings import Settings
from mesocosm.server.web.client_address import secure

WEB_COOKIE = "mesocosm_session"
GUEST_COOKIE = "bench_guest"
CSRF_COOKIE = "csrftoken"
DEVICE_COOKIE = "mesocosm_device"
"""Name of the cookie that marks a browser that signed in here before. It does not identify a caller."""
OIDC_COOKIE = "mesocosm_oidc"
OIDC_MINUTES = 10.0
"""Maximum duration of an OpenID Connect login in minutes."""


def mount_path(settings: Settings) -> str:
    """Return the public path prefix of the server without a trailing slash; empty if there is none."""
    return (settings.prefix or urlsplit(settings.public_url).path).rstrip("/")


def set_cookie(
    response: Response, request: Request, settings: Settings, name: str, value: str, *, seconds: float, path: str = "/"
) -> None:
    """Set a cookie that scripts cannot read and that browsers do not send with cross-site POST requests."""
    response.set_cookie(
        name,
        value,
        max_age=int(seconds),
        path=path,
        secure=secure(request, settings.public_url, settings.trusted_proxies),
        httponly=True,
        samesite="lax",
    )


def clear_cookie(response: Response, name: str, path: str = "/") -> None:
    """Delete a cookie."""
    response.delete_cookie(name, path=path, httponly=True, samesite="lax")


def bearer_token(headers: Mapping[str, str]) -> str | None:
    """Return the bearer token of a request; None if there is none.

    Other authorization schemes are ignored: they are for a proxy in front of the server, and browsers send them
    automatically, also for other sites.
    """
    word, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if word.casefold() == "bearer" else None
