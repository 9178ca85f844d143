"""Logins: the credentials file, the session of a program, and how a member gets a token."""

import base64
import getpass
import json
import os
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mesocosm.client.transport import CREDENTIALS_VARIABLE, LOCAL, PRODUCTION, URL_VARIABLES, BenchApi
from mesocosm.core.failure import MesocosmError, UsageError
from mesocosm.models.endpoint import is_loopback

__all__ = [
    "BenchSession",
    "LoginFailed",
    "clear_credentials",
    "fetch_csrf",
    "fetch_jwt",
    "get_bench_session",
    "load_credentials",
    "login",
    "save_credentials",
]

SERVER = "https://api.swecc.org"
LOCAL_SERVER = "http://127.0.0.1:8000"
TIMEOUT_S = 30.0

_TRUE = frozenset({"1", "true", "yes", "on"})
_WRONG = (400, 401)
_DENIED = 403


class LoginFailed(MesocosmError):
    """The server gave no token; the message says why."""


def credentials_path() -> Path:
    """Return the file of the saved login: SWECC_BENCH_CREDENTIALS, else one beneath ~/.config."""
    return Path(os.environ.get(CREDENTIALS_VARIABLE) or "~/.config/swecc/bench_credentials.json").expanduser()


def load_credentials() -> dict[str, Any]:
    """Return the saved login: mode, token, server_url, bench_url, active_team_id; empty where there is none.

    Raises UsageError when the file cannot be read.
    """
    path = credentials_path()
    try:
        saved = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(f"the saved login {path} cannot be read ({error}); remove it and log in again") from error
    if not isinstance(saved, dict):
        raise UsageError(f"the saved login {path} is no JSON object; remove it and log in again")
    return saved


def save_credentials(credentials: Mapping[str, Any]) -> Path:
    """Replace the saved login by `credentials`, in a file that only its owner can read, and return the file."""
    path = credentials_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # made with mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(dict(credentials), file, indent=2)
            file.write("\n")
        Path(name).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise
    return path


def clear_credentials() -> None:
    """Forget the saved login."""
    credentials_path().unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class BenchSession:
    """Who calls which platform. `mode` is member or guest, `team_id` the team that is worked for."""

    base_url: str
    token: str
    mode: str = "member"
    team_id: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The headers that name the caller."""
        return {"Authorization": f"Bearer {self.token}"}

    def call(self, method: str, path: str, body: object = None, query: Mapping[str, str | int | None] = {}) -> Any:
        """Return the JSON answer to one request. Raises mesocosm.client.transport.BenchApiError."""
        return BenchApi(self.base_url, self.token).call(method, path, body, query)


def get_bench_session(bench_url: str | None = None, token: str | None = None) -> BenchSession:
    """Return the session of this program.

    The token is the given one, else SWECC_BENCH_TOKEN, SWECC_BENCH_GUEST_TOKEN, else the saved one; the URL the given
    one, else that of the environment, else where the saved login was made. Raises UsageError without a token, unless
    BENCH_AUTH_DISABLED is set.
    """
    saved = load_credentials()
    api = BenchApi(bench_url or _saved_url(saved), token)
    if not api.token and os.environ.get("BENCH_AUTH_DISABLED", "").lower() not in _TRUE:
        raise UsageError("nobody is logged in; set SWECC_BENCH_TOKEN, or call bench_common.auth.login()")
    member = token or os.environ.get("SWECC_BENCH_TOKEN")
    guest = not member and (os.environ.get("SWECC_BENCH_GUEST_TOKEN") or saved.get("mode") == "guest")
    return BenchSession(api.base_url, api.token, "guest" if guest else "member", saved.get("active_team_id"))


def _saved_url(saved: Mapping[str, Any]) -> str | None:
    """Return where the saved login was made; a local URL left from before a login elsewhere does not count."""
    if any(os.environ.get(name) for name in URL_VARIABLES):
        return None
    bench, server = saved.get("bench_url"), saved.get("server_url")
    if server and (not bench or (is_loopback(bench) and not is_loopback(server))):
        return _platform_of(server)
    return bench or None


def _platform_of(server: str) -> str:
    parts = urlsplit(server)
    if parts.hostname == urlsplit(SERVER).hostname:
        return PRODUCTION
    if is_loopback(server) and parts.port == urlsplit(LOCAL_SERVER).port:
        return LOCAL
    return f"{server.rstrip('/')}/bench"


def login(server_url: str | None = None, *, username: str | None = None, password: str | None = None) -> dict[str, Any]:
    """Log a member in, save the login and return it. What is not given is asked for.

    The server is the given one, else SWECC_SERVER_URL, the local one with MESOCOSM_LOCAL, else production. The active
    team stays when server and user are the same as before. Raises LoginFailed.
    """
    local = os.environ.get("MESOCOSM_LOCAL", "").lower() in _TRUE
    server = (server_url or os.environ.get("SWECC_SERVER_URL") or (LOCAL_SERVER if local else SERVER)).rstrip("/")
    name = username if username is not None else input(f"User name [{getpass.getuser()}]: ") or getpass.getuser()
    secret = password if password is not None else getpass.getpass("Password: ")
    if not name or not secret:
        raise LoginFailed("user name and password must not be empty")
    browser = _browser(server)
    headers = {"X-CSRFToken": fetch_csrf(server, browser), "Content-Type": "application/json"}
    body = json.dumps({"username": name, "password": secret}).encode()
    _answer(browser, urllib.request.Request(f"{server}/auth/login/", body, headers))  # noqa: S310 - checked there
    token = fetch_jwt(server, browser)
    made = {"mode": "member", "token": token, "server_url": server, "bench_url": _platform_of(server)}
    before = _readable()
    if (
        before.get("active_team_id")
        and before.get("server_url") == server
        and _user(before.get("token")) == _user(token)
    ):
        made["active_team_id"] = before["active_team_id"]
    save_credentials(made)
    return made


def fetch_csrf(server_url: str, browser: urllib.request.OpenerDirector | None = None) -> str:
    """Return the token that the server wants with a login; `browser` keeps the cookie beside it. Raises LoginFailed."""
    headers, _ = _answer(browser or _browser(server_url), f"{server_url.rstrip('/')}/auth/csrf/")
    found = headers.get("X-CSRFToken")
    if not found:
        raise LoginFailed(f"{server_url} sends no X-CSRFToken; is that the server of the accounts?")
    return str(found)


def fetch_jwt(server_url: str, browser: urllib.request.OpenerDirector | None = None) -> str:
    """Return the access token of the user that `browser` is logged in as. Raises LoginFailed."""
    _, body = _answer(browser or _browser(server_url), f"{server_url.rstrip('/')}/auth/jwt/")
    try:
        token = json.loads(body)["token"]
    except (ValueError, KeyError, TypeError) as error:
        raise LoginFailed(f"{server_url} answered without a token: {body[:200]!r}") from error
    return str(token)


def _browser(server: str) -> urllib.request.OpenerDirector:
    """Return a client with cookies. Raises LoginFailed for what is no URL of a server."""
    try:
        usable = urlsplit(server).scheme in ("http", "https") and urlsplit(server).hostname
    except ValueError:
        usable = None
    if not usable:
        raise LoginFailed(f"{server!r} is no URL of a server; it looks like {SERVER}")
    handlers: list[urllib.request.BaseHandler] = [urllib.request.HTTPCookieProcessor(CookieJar())]
    if is_loopback(server):
        handlers.append(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(*handlers)


def _answer(browser: urllib.request.OpenerDirector, request: urllib.request.Request | str) -> tuple[HTTPMessage, bytes]:
    """Return headers and body of a successful answer. Raises LoginFailed."""
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
    except ValueError:
        return body
    return str(document.get("detail", body)) if isinstance(document, dict) else body


def _readable() -> dict[str, Any]:
    try:
        return load_credentials()
    except UsageError:
        return {}


def _user(token: object) -> object:
    """Return the user that a token names, without verifying it: only to see whether it is the same one."""
    try:
        payload = str(token).split(".")[1]
        return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["user_id"]
    except (IndexError, ValueError, KeyError, TypeError):
        return object()
