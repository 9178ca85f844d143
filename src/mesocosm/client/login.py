"""Login of a member: with a password, in the sequence of existing clients (CSRF token, login, JWT), or in a browser."""

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from http.client import HTTPException, HTTPMessage
from http.cookiejar import CookieJar
from time import sleep
from typing import TYPE_CHECKING

from mesocosm.client import credentials
from mesocosm.client.credentials import Credentials
from mesocosm.client.identity import claims
from mesocosm.client.urls import LOCAL_SERVER, URL_VARIABLES, checked, opener_for, url_of_login_server, variable
from mesocosm.core.failure import MesocosmError, UsageError

if TYPE_CHECKING:
    from mesocosm.server.schemas.account import DeviceStarted

TIMEOUT_S = 30.0
PROBE_S = 5.0

_SLOWER_S = 5
"""Seconds to wait longer between two questions once a server says that they come too soon."""

_PASSING = (0, 502, 503, 504)
"""Failures of a question that may be gone at the next one; 0: no answer."""

_WRONG = (400, 401)
_DENIED = 403


class LoginFailed(MesocosmError):
    """The server issued no token; the message says why."""


def log_in(server: str, username: str, password: str, *, bench_url: str = "") -> Credentials:
    """Log a member in, save the login and return it.

    The server of runs is `bench_url`, otherwise that of an environment variable, otherwise the one that belongs to
    `server`. The active team and workspace are kept if server and user are those of the previous login. Raises
    LoginFailed and keeps the previous login.
    """
    if not username or not password:
        raise LoginFailed("user name and password must not be empty")
    server = server.rstrip("/")
    browser = browser_for(server)
    headers = {"X-CSRFToken": fetch_csrf(server, browser), "Content-Type": "application/json"}
    body = json.dumps({"username": username, "password": password, "refresh": True}).encode()
    request = urllib.request.Request(f"{server}/auth/login/", body, headers)  # noqa: S310 - checked there
    token, refresh = _tokens(_answer(browser, request)[1])
    token = token or fetch_jwt(server, browser)
    made = Credentials(
        mode="member",
        token=token,
        server_url=server,
        bench_url=checked(bench_url or variable(*URL_VARIABLES) or _bench_url_at(server)),
        refresh_token=refresh,
        username=_text(claims(token).get("username")),
    )
    return _save(made)


def log_in_with_browser(url: str, show: "Callable[[DeviceStarted], None]") -> Credentials:
    """Log in as whoever confirms it in a browser, save the login and return it; blocks until it is decided.

    `show` gets the page and the code to show to the person. Team and workspace are kept as by `log_in`. Raises
    LoginFailed if the person refuses or takes too long, ApiError if the server does; both keep the previous login.
    """
    from mesocosm.client.client import Client
    from mesocosm.client.error import ApiError
    from mesocosm.client.identity import Identity

    auth = Client(timeout=TIMEOUT_S, identity=Identity(url)).auth
    started = auth.start_device(socket.gethostname()[:200])
    show(started)
    interval = started.interval_seconds
    while True:
        sleep(interval)
        try:
            answer = auth.poll_device(started.device_code)
        except ApiError as error:
            if error.status not in _PASSING:
                raise
            continue
        interval += _SLOWER_S if answer.slow_down else 0
        if answer.login is not None:
            login = answer.login
            made = Credentials("member", login.token or "", url, url, username=login.username)
            return _save(replace(made, refresh_token=login.refresh_token or ""))
        if answer.state != "pending":
            words = {"denied": "it was refused in the browser", "expired": "nobody confirmed it in time"}
            raise LoginFailed(f"{words.get(answer.state, answer.state)}; log in again")


def _save(made: Credentials) -> Credentials:
    """Save a login of a member in place of the previous one, and return it."""
    with credentials.locked():
        before = _before()
        if before.server_url == made.server_url and _user(before) == _user(made) is not None:
            made = replace(made, active_team_id=before.active_team_id, active_workspace_id=before.active_workspace_id)
        elif before.active_team_id and not before.token and before.mode == "":
            made = replace(made, active_team_id=before.active_team_id)  # chosen before the first login
        credentials.write(made)
    return made


def save_guest(token: str, bench_url: str) -> Credentials:
    """Save a guest session in place of the previous login and return it."""
    made = Credentials(mode="guest", token=token, bench_url=bench_url)
    with credentials.locked():
        credentials.write(made)
    return made


def fetch_csrf(server_url: str, browser: urllib.request.OpenerDirector | None = None) -> str:
    """Return the CSRF token required for a login; `browser` keeps the matching cookie. Raises LoginFailed."""
    headers, _ = _answer(browser or browser_for(server_url), f"{server_url.rstrip('/')}/auth/csrf/")
    found = headers.get("X-CSRFToken")
    if not found:
        raise LoginFailed(f"{server_url} sends no X-CSRFToken; is that the server of the accounts?")
    return str(found)


def fetch_jwt(server_url: str, browser: urllib.request.OpenerDirector | None = None) -> str:
    """Return the access token of the user logged in with `browser`. Raises LoginFailed."""
    _, body = _answer(browser or browser_for(server_url), f"{server_url.rstrip('/')}/auth/jwt/")
    token, _ = _tokens(body)
    if not token:
        raise LoginFailed(f"{server_url} answered without a token: {body[:200]!r}")
    return token


def log_out(saved: Credentials) -> None:
    """End a saved login on its server. Raises LoginFailed; a login that is only removed locally expires by itself."""
    if not saved.refresh_token or not saved.server_url:
        return
    browser = browser_for(saved.server_url)
    body = json.dumps({"refresh_token": saved.refresh_token}).encode()
    headers = {"Content-Type": "application/json"}
    _answer(browser, urllib.request.Request(f"{saved.server_url}/auth/logout/", body, headers))  # noqa: S310


def _tokens(body: bytes) -> tuple[str, str]:
    """Return the access token and the refresh token of a response; each is empty if missing."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return "", ""
    known = document if isinstance(document, dict) else {}
    return _text(known.get("token")), _text(known.get("refresh_token"))


def browser_for(server: str) -> urllib.request.OpenerDirector:
    """Return a URL opener that keeps cookies. Raises LoginFailed if `server` is not the URL of a server."""
    try:
        checked(server, "a server", LOCAL_SERVER)
    except UsageError as error:
        raise LoginFailed(str(error)) from error
    return opener_for(server, urllib.request.HTTPCookieProcessor(CookieJar()))


def _bench_url_at(server: str) -> str:
    """Return the base URL that belongs to a login server: the usual one, unless it is a mesocosm server itself."""
    usual = url_of_login_server(server)
    if usual != f"{server}/bench":
        return usual
    return server if not _healthy(usual) and _healthy(server) else usual


def _healthy(url: str) -> bool:
    try:
        with opener_for(url).open(f"{url}/health", timeout=PROBE_S) as answer:
            document = json.loads(answer.read(65_536))
    except (OSError, ValueError, RecursionError, HTTPException):
        return False
    return isinstance(document, dict) and document.get("status") == "ok"


def _answer(browser: urllib.request.OpenerDirector, request: urllib.request.Request | str) -> tuple[HTTPMessage, bytes]:
    """Return headers and body of a successful response. Raises LoginFailed."""
    try:
        with browser.open(request, timeout=TIMEOUT_S) as answer:
            return answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            detail = error.read(2000).decode(errors="replace").strip()
        if error.code in _WRONG:
            raise LoginFailed("user name or password is wrong") from None
        lead = "access denied" if error.code == _DENIED else f"HTTP {error.code} from {error.url}"
        raise LoginFailed(f"{lead}: {_words(detail) or error.reason}") from None
    except (OSError, HTTPException) as error:
        url = request if isinstance(request, str) else request.full_url
        reason = getattr(error, "reason", None) or error
        raise LoginFailed(f"{url} got no answer: {reason}; is the server running, and the URL right?") from error


def _words(body: str) -> str:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return body
    return str(document.get("detail", body)) if isinstance(document, dict) else body


def _before() -> Credentials:
    try:
        return credentials.read()
    except UsageError:
        return Credentials()


def _user(login: Credentials) -> object:
    """Return the user id in a login's token, unverified: used only to compare two logins."""
    return claims(login.token).get("user_id")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
