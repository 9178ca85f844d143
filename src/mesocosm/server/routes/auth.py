"""`/api/auth`: guests, signing in and out of the dashboard, signing up, another password."""

from fastapi import APIRouter, Depends, Request, Response

from mesocosm.server.auth.access import Access, Caller, Served, access
from mesocosm.server.auth.principal import Principal
from mesocosm.server.problems import refused
from mesocosm.server.refusal import Refusal
from mesocosm.server.routes import oidc
from mesocosm.server.routes.me import described, member_of
from mesocosm.server.routes.signing_in import end_sign_in, kept_by_nobody, let_in, own_user, signed_in, start_browser
from mesocosm.server.schemas.account import (
    Done,
    GuestToken,
    Me,
    PasswordInput,
    SignedIn,
    SignInInput,
    SignOutInput,
    SignUpInput,
    Ways,
)
from mesocosm.server.schemas.document import instant
from mesocosm.server.service import Service
from mesocosm.server.web.cookies import DEVICE_COOKIE, GUEST_COOKIE, clear_cookie, mount_path, set_cookie
from mesocosm.store.users import User

router = APIRouter(prefix="/api/auth", tags=["auth"], dependencies=[Depends(kept_by_nobody)])
router.include_router(oidc.router)


@router.get("/ways", **access(Access.PUBLIC))
def get_ways(service: Served) -> Ways:
    """Return how people get in here."""
    settings = service.settings
    return Ways(
        password=not settings.auth_disabled,
        guests=settings.guests,
        sign_up=settings.sign_up,
        oidc=settings.oidc_name if settings.oidc_issuer else None,
        open=settings.auth_disabled,
    )


@router.post("/guest", responses=refused(403, 429), **access(Access.PUBLIC))
def start_guest(request: Request, response: Response, service: Served) -> GuestToken:
    """Begin a guest's stay: the token is for programs, the cookie `bench_guest` for browsers.

    Each address gets only so many in an hour.
    """
    accounts, settings = service.accounts, service.settings
    session = accounts.new_guest(accounts.address(request))
    path = mount_path(settings) or "/"
    seconds = settings.guest_days * 86_400
    set_cookie(response, request, settings, GUEST_COOKIE, session.token, seconds=seconds, path=path)
    return GuestToken(guest_token=session.token, expires_at=instant(session.expires_at))


@router.post("/guest/logout", responses=refused(403), **access(Access.PUBLIC))
def end_guest(response: Response, caller: Caller, service: Served) -> Done:
    """End a guest's stay: neither token nor cookie are valid any more. Their runs stay."""
    if caller.guest_id is not None:
        service.accounts.guests.end(caller.guest_id)
    clear_cookie(response, GUEST_COOKIE, mount_path(service.settings) or "/")
    return Done()


@router.post("/login", responses=refused(401, 403, 429, 503), **access(Access.PUBLIC))
async def login(body: SignInInput, request: Request, response: Response, service: Served) -> Me:
    """Sign a browser in with name and password: it gets a cookie."""
    user = await service.accounts.turns.take(lambda: let_in(service, request, response, body))
    return described(member_of(user, "web"))


@router.post("/logout", responses=refused(403), **access(Access.PUBLIC))
def logout(request: Request, response: Response, service: Served, body: SignOutInput | None = None) -> Done:
    """Sign a browser out, and end a refresh token."""
    end_sign_in(service, request, response, body)
    return Done()


@router.post("/sign-up", status_code=201, responses=refused(403, 409, 429, 503), **access(Access.PUBLIC))
async def sign_up(body: SignUpInput, request: Request, response: Response, service: Served) -> Me:
    """Make an account of one's own, where the platform lets everybody, and sign the browser in."""
    accounts = service.accounts
    address = accounts.address(request)

    def work() -> User:
        accounts.check_sign_ups(address)
        user = accounts.add_user(body.username, body.password)
        accounts.audit.note(user.actor, "user.sign_up", user.actor, {"username": user.username}, address)
        start_browser(service, request, response, user)
        return user

    return described(member_of(await accounts.turns.take(work), "web"))


@router.post("/password", responses=refused(400, 401, 403, 409, 429, 503), **access(Access.MEMBER))
async def change_password(
    body: PasswordInput, request: Request, response: Response, caller: Caller, service: Served
) -> SignedIn:
    """Change one's own password. It ends every other sign-in; tokens of `/api/tokens` stay."""

    def work() -> SignedIn:
        user = _changed(body, request, caller, service)
        if caller.way == "web":
            start_browser(service, request, response, user)
        return signed_in(service, user, request, tokens=body.refresh)

    return await service.accounts.turns.take(work)


def _changed(body: PasswordInput, request: Request, caller: Principal, service: Service) -> User:
    accounts, user = service.accounts, own_user(service, caller)
    if not user.password:
        raise Refusal(409, f"this account signs in with {service.settings.oidc_name}; change the password there")
    address = accounts.address(request)
    try:
        accounts.check_password(user.username, body.old, address, request.cookies.get(DEVICE_COOKIE, ""))
    except Refusal as refusal:
        if refusal.status == 401:
            raise Refusal(400, "the old password is wrong") from refusal
        raise
    user = accounts.change_password(user, body.new)
    accounts.audit.note(user.actor, "user.password", user.actor, {}, address)
    return user
