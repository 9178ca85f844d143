"""What the ways to sign in have in common."""

import secrets
import time
from datetime import datetime

from fastapi import Request, Response

from mesocosm.server.auth.principal import Principal
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.account import SignedIn, SignInInput, SignOutInput
from mesocosm.server.schemas.document import instant
from mesocosm.server.service import Service
from mesocosm.server.web.cookies import DEVICE_COOKIE, WEB_COOKIE, clear_cookie, set_cookie
from mesocosm.store.users import User

_DEVICE_S = 365 * 86_400.0
_LONGEST = 200


async def kept_by_nobody(response: Response) -> None:
    """Tell everything on the way not to keep an answer."""
    response.headers["Cache-Control"] = "no-store"


def let_in(service: Service, request: Request, response: Response, body: SignInInput) -> User:
    """Check name and password, and sign a browser in. Raises Refusal as `Accounts.check_password`."""
    accounts = service.accounts
    user = accounts.check_password(body.username.strip(), body.password, accounts.address(request), _device(request))
    start_browser(service, request, response, user)
    return user


def start_browser(service: Service, request: Request, response: Response, user: User) -> None:
    """Sign a browser in with a new cookie; what it was signed in as before ends."""
    signins, settings = service.accounts.signins, service.settings
    if earlier := request.cookies.get(WEB_COOKIE):
        signins.end_web(earlier)
    secret = signins.start_web(user, request.headers.get("user-agent", ""))
    set_cookie(response, request, settings, WEB_COOKIE, secret, seconds=settings.refresh_days * 86_400)
    device, address = _device(request) or secrets.token_urlsafe(24), service.accounts.address(request)
    set_cookie(response, request, settings, DEVICE_COOKIE, device, seconds=_DEVICE_S)
    service.accounts.remember_place(user, address, device)
    service.store.audit.note(user.actor, "auth.login", user.actor, {}, address)


def _device(request: Request) -> str:
    return request.cookies.get(DEVICE_COOKIE, "")[:_LONGEST]


def end_sign_in(service: Service, request: Request, response: Response, body: SignOutInput | None) -> None:
    """Sign a browser out, and end a refresh token where one is given."""
    signins = service.accounts.signins
    signins.end_web(request.cookies.get(WEB_COOKIE, ""))
    if body is not None and body.refresh_token:
        signins.end_refresh(body.refresh_token)
    clear_cookie(response, WEB_COOKIE)


def own_user(service: Service, caller: Principal) -> User:
    """Return the account of a member who signed in themselves.

    Raises Refusal: 403 for a personal token, which may not make itself at home; 409 where accounts are switched off.
    """
    if caller.way == "token":
        raise Refusal(403, "a personal token may not do that; sign in with your password")
    user = None if caller.user_id is None else service.accounts.users.get(caller.user_id)
    if user is None:
        raise Refusal(409, "accounts are switched off on this platform, so there is none to change")
    return user


def signed_in(service: Service, user: User, request: Request, *, tokens: bool) -> SignedIn:
    """Return that somebody is signed in, with tokens when they want them."""
    if not tokens:
        return SignedIn(user_id=user.id, username=user.username)
    chain, secret = service.accounts.signins.start_refresh(user, request.headers.get("user-agent", ""))
    token, expires_at = access_token(service, user, chain)
    return SignedIn(
        user_id=user.id,
        username=user.username,
        token=token,
        expires_at=expires_at,
        refresh_token=secret,
    )


def access_token(service: Service, user: User, chain: str) -> tuple[str, datetime]:
    """Return an access token, and when it ends; it ends with the sign-in `chain`, if that is earlier."""
    ends = int(time.time() + service.accounts.token_seconds)
    return service.accounts.access_token(user, chain), instant(ends)
