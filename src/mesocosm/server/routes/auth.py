"""`/api/auth`: login and logout, guests, sign-up, OpenID Connect, the password."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.schemas.account import (
    DeviceAnswer,
    DeviceCodeInput,
    DeviceDecision,
    DeviceInput,
    DeviceLoginDocument,
    DeviceStarted,
    Done,
    GuestToken,
    PasswordInput,
    RefreshInput,
    SignedIn,
    SignInInput,
    SignOutInput,
    SignUpInput,
    TokenPair,
    Ways,
)
from mesocosm.server.web.answer import not_cached

router = APIRouter(prefix="/api/auth", tags=["auth"], dependencies=[Depends(not_cached)])

UserCode = Annotated[str, Path(max_length=20, description="Code that the program shows.")]
Word = Annotated[str, Query(max_length=200)]
Code = Annotated[str, Query(max_length=4_096, description="Authorization code of the provider.")]
_MOVED: dict[int | str, dict[str, Any]] = {303: {"description": "Continue at the address in `Location`."}}


@router.get("/ways", **access(Access.PUBLIC))
def get_ways(grant: Granted) -> Ways:
    """Return the ways to log in."""
    return grant.authentication().ways()


@router.post("/guest", responses=refused(403, 429), **access(Access.PUBLIC))
def start_guest(request: Request, response: Response, grant: Granted) -> GuestToken:
    """Create a guest: the token is for programs, the cookie `bench_guest` for browsers.

    The number of guests per address and hour is limited.
    """
    return grant.authentication().start_guest(request, response)


@router.post("/guest/logout", responses=refused(403), **access(Access.PUBLIC))
def end_guest(response: Response, grant: Granted) -> Done:
    """End a guest session: token and cookie become invalid. The guest's runs remain."""
    grant.authentication().end_guest(response)
    return Done()


@router.post("/login", responses=refused(401, 403, 409, 429, 503), **access(Access.PUBLIC))
async def login(body: SignInInput, request: Request, response: Response, grant: Granted) -> SignedIn:
    """Log in with name and password. The response sets a cookie; with `refresh` it contains tokens for a program."""
    return await grant.authentication().login(body, request, response)


@router.post("/refresh", responses=refused(401, 403), **access(Access.PUBLIC))
def refresh(body: RefreshInput, grant: Granted) -> TokenPair:
    """Exchange a refresh token for an access token and the next refresh token.

    A refresh token can be used once. Using it again ends all tokens of the same login.
    """
    return grant.authentication().refresh(body.refresh_token)


@router.post("/logout", responses=refused(403), **access(Access.PUBLIC))
def logout(request: Request, response: Response, grant: Granted, body: SignOutInput | None = None) -> Done:
    """Log out: end the login of the cookie, and revoke the refresh token if one is given."""
    grant.authentication().logout(request, response, body)
    return Done()


@router.post("/sign-up", status_code=201, responses=refused(403, 409, 429, 503), **access(Access.PUBLIC))
async def sign_up(body: SignUpInput, request: Request, response: Response, grant: Granted) -> SignedIn:
    """Create an account, if the server allows sign-up, and log the browser in."""
    return await grant.authentication().sign_up(body, request, response)


@router.post("/password", responses=refused(400, 401, 403, 409, 429, 503), **access(Access.MEMBER))
async def change_password(body: PasswordInput, request: Request, response: Response, grant: Granted) -> SignedIn:
    """Change the caller's password. All other logins end; tokens of `/api/tokens` stay valid."""
    return await grant.account().change_password(body, request, response)


@router.post("/device", status_code=201, responses=refused(403, 409, 429), **access(Access.PUBLIC))
def start_device(body: DeviceInput, request: Request, grant: Granted) -> DeviceStarted:
    """Start the login of a program that a person confirms in a browser."""
    return grant.authentication().start_device(request, body.device)


@router.post("/device/token", responses=refused(403), **access(Access.PUBLIC))
def poll_device(body: DeviceCodeInput, request: Request, grant: Granted) -> DeviceAnswer:
    """Return what became of a login that waits for a person, once it is decided. The tokens are returned once."""
    return grant.authentication().log_in_device(request, body.device_code)


@router.get("/device/{user_code}", responses=refused(401, 403, 404, 409, 429), **access(Access.MEMBER))
def get_device(user_code: UserCode, grant: Granted) -> DeviceLoginDocument:
    """Return the program that waits for a code to be confirmed. The number of wrong codes is limited."""
    return grant.account().device_login(user_code)


@router.put("/device/{user_code}", responses=refused(401, 403, 404, 409, 429), **access(Access.MEMBER))
def decide_device(user_code: UserCode, body: DeviceDecision, grant: Granted) -> Done:
    """Let a program log in as the caller, or refuse it. Refused to callers that use a personal token themselves."""
    grant.account().decide_device(user_code, approve=body.approve)
    return Done()


@router.get(
    "/oidc/start",
    status_code=303,
    response_class=Response,
    responses={**_MOVED, **refused(404, 503)},
    **access(Access.PUBLIC),
)
async def start_oidc(
    request: Request,
    grant: Granted,
    after: Annotated[str, Query(alias="next", max_length=2_000, description="Page to redirect to afterwards.")] = "/",
) -> Response:
    """Redirect a browser to the OpenID Connect provider."""
    return await grant.authentication().begin_oidc(request, after)


@router.get(
    "/oidc/callback",
    status_code=303,
    response_class=Response,
    responses={**_MOVED, **refused(400, 401, 403, 404, 409, 503)},
    **access(Access.PUBLIC),
)
async def end_oidc(request: Request, grant: Granted, state: Word = "", code: Code = "", error: Word = "") -> Response:
    """Log in a browser that the OpenID Connect provider redirected back.

    A browser that cannot be logged in is redirected to the login page with the reason; programs get the error.
    """
    return await grant.authentication().end_oidc(request, state, code, error)
