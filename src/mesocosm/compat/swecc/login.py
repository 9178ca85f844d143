"""`/auth`: login of members and refreshing of tokens, as published clients and `mesocosm auth login` speak it.

A client gets a CSRF token, signs in with it and gets a cookie, and fetches an access token with that.
"""

import hmac
import secrets

from fastapi import APIRouter, Depends, Request, Response

from mesocosm.server.auth.access import Access, Served, access
from mesocosm.server.auth.signins import TokenReused
from mesocosm.server.problems import refused
from mesocosm.server.refusal import Refusal
from mesocosm.server.routes.signing_in import access_token, end_sign_in, kept_by_nobody, let_in, signed_in
from mesocosm.server.schemas.account import (
    AccessToken,
    Done,
    RefreshInput,
    SignedIn,
    SignInInput,
    SignOutInput,
    TokenPair,
)
from mesocosm.server.web.cookies import CSRF_COOKIE, WEB_COOKIE, set_cookie

CSRF_HEADER = "X-CSRFToken"

router = APIRouter(prefix="/auth", include_in_schema=False, dependencies=[Depends(kept_by_nobody)])


async def check_csrf(request: Request) -> None:
    """Refuse who does not bring the token of `/auth/csrf/` in header and cookie."""
    given, kept = request.headers.get(CSRF_HEADER, ""), request.cookies.get(CSRF_COOKIE, "")
    if not given or not hmac.compare_digest(given.encode(), kept.encode()):
        raise Refusal(403, "the CSRF token is missing or wrong; get one from /auth/csrf/, send it back with its cookie")


@router.get("/csrf/", responses=refused(), **access(Access.PUBLIC))
async def csrf(request: Request, response: Response, service: Served) -> Done:
    """Give out a CSRF token: in the header `X-CSRFToken` of the answer, and as a cookie."""
    token = secrets.token_urlsafe(24)
    response.headers[CSRF_HEADER] = token
    set_cookie(response, request, service.settings, CSRF_COOKIE, token, seconds=86_400)
    return Done(detail="the token is in the header X-CSRFToken")


_login = access(Access.PUBLIC)
_login["dependencies"] = [*_login["dependencies"], Depends(check_csrf)]


@router.post("/login/", responses=refused(401, 403, 409, 429, 503), **_login)
async def login(body: SignInInput, request: Request, response: Response, service: Served) -> SignedIn:
    """Sign a member in. The cookie of the answer gets an access token from `/auth/jwt/`; `refresh` asks for one here.

    The CSRF token of `/auth/csrf/` must come along, in the header `X-CSRFToken` and as its cookie.
    """

    def work() -> SignedIn:
        user = let_in(service, request, response, body)
        return signed_in(service, user, request, tokens=body.refresh)

    return await service.accounts.turns.take(work)


@router.get("/jwt/", responses=refused(401), **access(Access.PUBLIC))
def jwt(request: Request, service: Served) -> AccessToken:
    """Return an access token for the member whom the cookie of a sign-in is of."""
    found = service.accounts.signins.web(request.cookies.get(WEB_COOKIE, ""))
    if found is None:
        raise Refusal(401, "nobody is signed in here; sign in at /auth/login/ first")
    token, expires_at = access_token(service, found.user, found.session.family)
    return AccessToken(token=token, expires_at=expires_at)


@router.post("/logout/", responses=refused(403), **access(Access.PUBLIC))
def logout(request: Request, response: Response, service: Served, body: SignOutInput | None = None) -> Done:
    """Sign out: end the sign-in of the cookie, and that of a refresh token."""
    end_sign_in(service, request, response, body)
    return Done()


@router.post("/refresh/", responses=refused(401, 403), **access(Access.PUBLIC))
def refresh(body: RefreshInput, request: Request, service: Served) -> TokenPair:
    """Exchange a refresh token for an access token and the next refresh token.

    Each can be used once: who brings a used one ends everything that came of the same sign-in.
    """
    accounts = service.accounts
    try:
        user, chain, successor = accounts.signins.refresh(body.refresh_token)
    except TokenReused as reused:
        theirs = f"user:{reused.user_id}"
        accounts.audit.note("anonymous", "auth.refresh_reused", theirs, address=accounts.address(request))
        raise
    token, expires_at = access_token(service, user, chain)
    return TokenPair(token=token, expires_at=expires_at, refresh_token=successor)
