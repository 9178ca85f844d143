"""Cookies of a platform."""

from urllib.parse import urlsplit

from fastapi import Request, Response

from mesocosm.server.auth.address import secure
from mesocosm.server.settings import Settings

WEB_COOKIE = "mesocosm_session"
GUEST_COOKIE = "bench_guest"
CSRF_COOKIE = "csrftoken"
DEVICE_COOKIE = "mesocosm_device"
"""Says that a browser signed in here before. Nobody is recognised by it."""
OIDC_COOKIE = "mesocosm_oidc"

RECOGNISED = (WEB_COOKIE, GUEST_COOKIE)
"""The cookies that somebody is recognised by."""


def mount_path(settings: Settings) -> str:
    """Return the path below which the platform is seen from outside, without a slash at its end; empty for none."""
    return (settings.prefix or urlsplit(settings.public_url).path).rstrip("/")


def set_cookie(
    response: Response, request: Request, settings: Settings, name: str, value: str, *, seconds: float, path: str = "/"
) -> None:
    """Give a browser a cookie that scripts cannot read, and that is not sent with what other sites' pages change."""
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
    """Take a cookie away."""
    response.delete_cookie(name, path=path, httponly=True, samesite="lax")
