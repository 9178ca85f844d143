"""`/auth`: member login and token refresh, as used by published clients and `mesocosm auth login`.

A client gets a CSRF token, logs in with it to get a cookie, and exchanges the cookie for an access token.
"""

import hmac
import secrets

from fastapi import APIRouter, Depends, Request, Response

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.account import (
    AccessToken,
    Done,
    RefreshInput,
    SignedIn,
    SignInInput,
    SignOutInput,
    TokenPair,
)
from mesocosm.server.web.answer import not_cached
from mesocosm.server.web.cookies import CSRF_COOKIE, WEB_COOKIE, set_cookie

CSRF_HEADER = "X-CSRFToken"

router = APIRouter(prefix="/auth", include_in_schema=False, dependencies=[Depends(not_cached)])


async def check_csrf(request: Request) -> None:
    """Require the token of `/auth/csrf/` in both the header and the cookie."""
    given, kept = request.headers.get(CSRF_HEADER, ""), request.cookies.get(CSRF_COOKIE, "")
    if not given or not hmac.compare_digest(given.encode(), kept.encode()):
        raise Refusal(403, "the CSRF token is missing or wrong; get one from /auth/csrf/, send it back with its cookie")


@router.get("/csrf/", responses=refused(), **access(Access.PUBLIC))
async def csrf(request: Request, response: Response) -> Done:
    """Return a CSRF token, in the header `X-CSRFToken` and as a cookie."""
    token = secrets.token_urlsafe(24)
    response.headers[CSRF_HEADER] = token
    settings = request.app.state.service.settings
    set_cookie(response, request, settings, CSRF_COOKIE, token, seconds=86_400)
    return Done(detail="the token is in the header X-CSRFToken")


_login = access(Access.PUBLIC)
_login["dependencies"] = [*_login["dependencies"], Depends(check_csrf)]


@router.post("/login/", responses=refused(401, 403, 409, 429, 503), **_login)
async def login(body: SignInInput, request: Request, response: Response, grant: Granted) -> SignedIn:
    """Log a member in. `/auth/jwt/` returns an access token for the cookie of the response."""
    return await grant.authentication().login(body, request, response)


@router.get("/jwt/", responses=refused(401), **access(Access.PUBLIC))
def jwt(request: Request, grant: Granted) -> AccessToken:
    """Return an access token for the login cookie."""
    return grant.authentication().access_token(request.cookies.get(WEB_COOKIE, ""))


@router.post("/logout/", responses=refused(403), **access(Access.PUBLIC))
def logout(request: Request, response: Response, grant: Granted, body: SignOutInput | None = None) -> Done:
    """Log out: end the login of the cookie, and the refresh token if one is given."""
    grant.authentication().logout(request, response, body)
    return Done()


@router.post("/refresh/", responses=refused(401, 403), **access(Access.PUBLIC))
def refresh(body: RefreshInput, grant: Granted) -> TokenPair:
    """Exchange a refresh token for an access token and the next refresh token."""
    return grant.authentication().refresh(body.refresh_token)
