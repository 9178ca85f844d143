"""Login and logout: browsers, programs with refresh tokens, guests, new accounts, OpenID Connect."""

import secrets
import time
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from mesocosm.server.auth.device_flow import INTERVAL_S
from mesocosm.server.auth.principal import Role
from mesocosm.server.auth.sign_ins import TOKEN_PREFIX, TokenReused, fingerprint
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.account import (
    AccessToken,
    DeviceAnswer,
    DeviceStarted,
    GuestToken,
    PersonalTokenCreated,
    PersonalTokenDocument,
    SignedIn,
    SignInInput,
    SignOutInput,
    SignUpInput,
    TokenInput,
    TokenPair,
    Ways,
)
from mesocosm.server.schemas.document import instant, moment
from mesocosm.server.service import Service
from mesocosm.server.web.client_address import secure
from mesocosm.server.web.cookies import (
    DEVICE_COOKIE,
    GUEST_COOKIE,
    OIDC_COOKIE,
    OIDC_MINUTES,
    WEB_COOKIE,
    clear_cookie,
    mount_path,
    set_cookie,
)
from mesocosm.server.web.requests import base_url
from mesocosm.store.device_logins import Poll
from mesocosm.store.personal_tokens import PersonalToken
from mesocosm.store.sessions import REFRESH, WEB
from mesocosm.store.users import User

OIDC_PATH = "/api/auth/oidc"
DEVICE_PAGE = "/device"
"""The page on which a person confirms the login of a program."""
MAX_TOKENS = 50
"""Maximum number of personal tokens of one member."""

_DEVICE_S = 365 * 86_400.0
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class DeviceToken:
    """A personal token for a program that logged in through a browser, and whose it is."""

    token: PersonalTokenCreated
    user_id: int
    username: str


class Authentication(GrantedObject):
    """Login and logout of the caller. Every method checks the secrets passed to it."""

    def ways(self) -> Ways:
        """Return the login methods of this server."""
        settings = self._service.settings
        return Ways(
            password=not settings.auth_disabled,
            guests=settings.guests,
            sign_up=settings.sign_up,
            oidc=settings.oidc_name if settings.oidc_issuer else None,
            open=settings.auth_disabled,
        )

    def start_guest(self, request: Request, response: Response) -> GuestToken:
        """Create a guest. Raises Refusal: 403 if guests are not allowed, 429 for too many from one address."""
        settings = self._service.settings
        session = self._service.accounts.new_guest(self._viewer.address)
        seconds, path = settings.guest_days * 86_400, mount_path(settings) or "/"
        set_cookie(response, request, settings, GUEST_COOKIE, session.token, seconds=seconds, path=path)
        return GuestToken(guest_token=session.token, expires_at=instant(session.expires_at))

    def end_guest(self, response: Response) -> None:
        """End the guest session of the caller. Their runs stay."""
        if self._viewer.caller.guest_id is not None:
            self._store.guests.end(self._viewer.caller.guest_id)
        clear_cookie(response, GUEST_COOKIE, mount_path(self._service.settings) or "/")

    async def login(self, body: SignInInput, request: Request, response: Response) -> SignedIn:
        """Log a browser in with a name and a password. Raises Refusal as `Accounts.check_password`."""
        accounts, device = self._service.accounts, _device(request)

        def work() -> SignedIn:
            user = accounts.check_password(body.username.strip(), body.password, self._viewer.address, device)
            self._start_browser(request, response, user)
            return signed_in(self._service, user, request, tokens=body.refresh)

        return await accounts.passwords.in_turn(work)

    async def sign_up(self, body: SignUpInput, request: Request, response: Response) -> SignedIn:
        """Create an account and log its browser in.

        Raises Refusal: 403 if sign-up is disabled, 409 if the name is taken, 422 for an invalid name or password, 429
        for too many new accounts, 503 if too many users are signing in.
        """
        accounts, address = self._service.accounts, self._viewer.address

        def work() -> SignedIn:
            accounts.check_sign_ups(address)
            user = accounts.add_user(body.username, body.password)
            self._store.audit.note(user.actor, "user.sign_up", user.actor, {"username": user.username}, address)
            self._start_browser(request, response, user)
            return signed_in(self._service, user, request, tokens=False)

        return await accounts.passwords.in_turn(work)

    def logout(self, request: Request, response: Response, body: SignOutInput | None) -> None:
        """Log a browser out, and end a refresh token if `body` has one."""
        signins = self._service.accounts.signins
        signins.end(request.cookies.get(WEB_COOKIE, ""), WEB)
        if body is not None and body.refresh_token:
            signins.end(body.refresh_token, REFRESH)
        clear_cookie(response, WEB_COOKIE)

    def access_token(self, cookie: str) -> AccessToken:
        """Return an access token for the login of a browser. Raises Refusal 401 if it has ended."""
        found = self._service.accounts.signins.web(cookie)
        if found is None:
            raise Refusal(401, "you are not signed in; sign in at /auth/login/ first")
        token, expires_at = _access_token(self._service, found.user, found.session.family)
        return AccessToken(token=token, expires_at=expires_at)

    def refresh(self, refresh_token: str) -> TokenPair:
        """Exchange a refresh token for an access token and the next refresh token. Raises Refusal 401, 403.

        A second use of a token means that it was stolen, so it ends all tokens of its login.
        """
        try:
            user, chain, successor = self._service.accounts.signins.refresh(refresh_token)
        except TokenReused as reused:
            target = f"user:{reused.user_id}"
            self._store.audit.note("anonymous", "auth.refresh_reused", target, address=self._viewer.address)
            raise
        token, expires_at = _access_token(self._service, user, chain)
        return TokenPair(token=token, expires_at=expires_at, refresh_token=successor)

    def start_device(self, request: Request, device: str) -> DeviceStarted:
        """Start the login of a program, which a person confirms in a browser.

        Raises Refusal: 409 if accounts are disabled, 429 for too many from one address.
        """
        settings = self._service.settings
        if settings.auth_disabled:
            words = "accounts are disabled on this server, so nobody logs in"
            raise Refusal(409, f"{words}; a program that wants a token takes any word for one")
        flow, program = self._service.accounts.device_flow, request.headers.get("user-agent", "")
        codes = flow.start(program, device, self._viewer.address)
        page = f"{base_url(request, settings)}{DEVICE_PAGE}"
        return DeviceStarted(
            device_code=codes.device_code,
            user_code=codes.user_code,
            page=page,
            page_with_code=f"{page}?{urlencode({'code': codes.user_code})}",
            expires_at=instant(codes.expires_at),
            interval_seconds=INTERVAL_S,
        )

    def log_in_device(self, request: Request, device_code: str) -> DeviceAnswer:
        """Return what became of the login of a program; if it was approved, log it in."""
        poll, user = self._poll(device_code)
        login = None if user is None else signed_in(self._service, user, request, tokens=True)
        return DeviceAnswer(state=poll.state.value, slow_down=poll.hasty, login=login)

    def create_device_token(self, device_code: str, days: int) -> tuple[DeviceAnswer, DeviceToken | None]:
        """Return what became of the login of a program; if it was approved, with a personal token.

        Raises Refusal 409 if the user has too many tokens.
        """
        poll, user = self._poll(device_code)
        answer = DeviceAnswer(state=poll.state.value, slow_down=poll.hasty)
        if user is None or poll.login is None:
            return answer, None
        name = " on ".join(filter(None, (poll.login.program, poll.login.device))) or "a program"
        wanted = TokenInput(name=name[:100], scope="write", days=days)
        token = create_personal_token(self._service, user, wanted, self._viewer.address)
        return answer, DeviceToken(token, user.id, user.username)

    def _poll(self, device_code: str) -> tuple[Poll, User | None]:
        poll = self._service.accounts.device_flow.poll(device_code)
        user = None if poll.user_id is None else self._store.users.get(poll.user_id)
        if user is not None and poll.login is not None:
            told = {"program": poll.login.program, "device": poll.login.device}
            self._store.audit.note(user.actor, "auth.login", user.actor, told, self._viewer.address)
        return poll, user

    async def begin_oidc(self, request: Request, page: str) -> Response:
        """Redirect a browser to the provider. Raises Refusal: 404 if none is configured, 503 if it cannot be used."""
        settings = self._service.settings
        begun = await self._service.oidc.begin(self._callback(request), page)
        answer = RedirectResponse(begun.url, 303)
        path = f"{mount_path(settings)}{OIDC_PATH}"
        set_cookie(answer, request, settings, OIDC_COOKIE, begun.cookie, seconds=OIDC_MINUTES * 60, path=path)
        return answer

    async def end_oidc(self, request: Request, state: str, code: str, error: str) -> Response:
        """Log in a browser that the provider redirected back.

        On failure a browser is redirected to the login page with the reason, and programs get the Refusal.
        """
        oidc, mount = self._service.oidc, mount_path(self._service.settings)
        try:
            if error:
                raise Refusal(401, f"the provider did not sign you in ({error[:100]}); try again")  # noqa: TRY301
            cookie = request.cookies.get(OIDC_COOKIE, "")
            user, page = await oidc.end(cookie, state, code, self._callback(request))
            answer: Response = RedirectResponse(f"{mount}{page}", 303)
            await run_in_threadpool(self._start_browser, request, answer, user)
        except Refusal as refusal:
            if "text/html" not in request.headers.get("accept", ""):
                raise
            answer = RedirectResponse(f"{mount}/sign-in?{urlencode({'problem': str(refusal)})}", 303)
        clear_cookie(answer, OIDC_COOKIE, f"{mount}{OIDC_PATH}")
        return answer

    def _start_browser(self, request: Request, response: Response, user: User) -> None:
        start_browser(self._service, self._viewer.address, request, response, user)

    def _callback(self, request: Request) -> str:
        """Return the redirect URI for the provider."""
        settings = self._service.settings
        if settings.public_url:
            base = settings.public_url.rstrip("/")
        else:
            scheme = "https" if secure(request, "", settings.trusted_proxies) else "http"
            base = f"{scheme}://{request.url.netloc}{mount_path(settings)}"
        return f"{base}{OIDC_PATH}/callback"


def start_browser(service: Service, address: str, request: Request, response: Response, user: User) -> None:
    """Log a browser in with a new cookie; its earlier login ends."""
    accounts, settings = service.accounts, service.settings
    if earlier := request.cookies.get(WEB_COOKIE):
        accounts.signins.end(earlier, WEB)
    secret = accounts.signins.start_web(user, request.headers.get("user-agent", ""))
    set_cookie(response, request, settings, WEB_COOKIE, secret, seconds=settings.refresh_days * 86_400)
    device = _device(request) or secrets.token_urlsafe(24)
    set_cookie(response, request, settings, DEVICE_COOKIE, device, seconds=_DEVICE_S)
    accounts.remember_place(user, address, device)
    service.store.audit.note(user.actor, "auth.login", user.actor, {}, address)


def signed_in(service: Service, user: User, request: Request, *, tokens: bool) -> SignedIn:
    """Return the document of a login, with an access and a refresh token if `tokens` is set."""
    found = SignedIn(user_id=user.id, username=user.username, role=Role(user.role).value)
    if not tokens:
        return found
    chain, secret = service.accounts.signins.start_refresh(user, request.headers.get("user-agent", ""))
    token, expires_at = _access_token(service, user, chain)
    return found.model_copy(update={"token": token, "expires_at": expires_at, "refresh_token": secret})


def create_personal_token(service: Service, user: User, wanted: TokenInput, address: str) -> PersonalTokenCreated:
    """Create a personal token of a user. Raises Refusal 409 if there are too many."""
    tokens = service.store.personal_tokens
    if tokens.count(user.id) >= MAX_TOKENS:
        raise Refusal(409, f"there are {MAX_TOKENS} personal tokens already; delete one first")
    secret = TOKEN_PREFIX + secrets.token_urlsafe(30)
    ends = None if wanted.days is None else time.time() + wanted.days * 86_400
    token = tokens.add(user.id, wanted.name, wanted.scope, fingerprint(secret), ends)
    detail = {"name": token.name, "scope": token.scope}
    service.store.audit.note(user.actor, "token.add", f"token:{token.id}", detail, address)
    return PersonalTokenCreated(**personal_token(token).model_dump(), token=secret)


def personal_token(token: PersonalToken) -> PersonalTokenDocument:
    """Return the document of a personal token."""
    return PersonalTokenDocument(
        id=token.id,
        name=token.name,
        scope="read" if token.scope == "read" else "write",
        created_at=instant(token.created_at),
        expires_at=moment(token.expires_at),
        last_used_at=moment(token.last_used_at),
    )


def _access_token(service: Service, user: User, chain: str) -> tuple[str, datetime]:
    """Return an access token and its expiry; it becomes invalid earlier if the login `chain` ends."""
    accounts = service.accounts
    ends = int(time.time() + accounts.token_seconds)
    return accounts.access_token(user, chain), instant(ends)


def _device(request: Request) -> str:
    return request.cookies.get(DEVICE_COOKIE, "")[:_LONGEST]
