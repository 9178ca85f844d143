"""Logins under their older names: the credentials file, a program's session, and how a member gets a token."""

import getpass
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mesocosm.client import credentials, urls
from mesocosm.client import login as way
from mesocosm.client.identity import identify
from mesocosm.client.login import LoginFailed, fetch_csrf, fetch_jwt
from mesocosm.client.transport import BenchApi
from mesocosm.core.failure import UsageError

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


def credentials_path() -> Path:
    """Return the path of the saved login: SWECC_BENCH_CREDENTIALS, else a file below ~/.config."""
    return credentials.place()


def load_credentials() -> dict[str, Any]:
    """Return the saved login: mode, token, server_url, bench_url, active_team_id; empty if there is none.

    Raises UsageError if the file cannot be read.
    """
    return credentials.read_document()


def save_credentials(saved: Mapping[str, Any]) -> Path:
    """Replace the saved login with `saved`, in a file that only its owner can read, and return its path."""
    return credentials.write_document(saved)


def clear_credentials() -> None:
    """Delete the saved login."""
    credentials.forget()


@dataclass(frozen=True, slots=True)
class BenchSession:
    """The platform and the caller's identity. `mode` is member or guest, `team_id` the active team."""

    base_url: str
    token: str = field(repr=False)
    mode: str = "member"
    team_id: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The headers that authenticate the caller."""
        return {"Authorization": f"Bearer {self.token}"}

    def call(self, method: str, path: str, body: object = None, query: Mapping[str, str | int | None] = {}) -> Any:
        """Return the JSON response to one request. Raises mesocosm.client.error.ApiError."""
        return BenchApi(self.base_url, self.token).call(method, path, body, query)


def get_bench_session(bench_url: str | None = None, token: str | None = None) -> BenchSession:
    """Return the session of this program.

    The token is `token`, else SWECC_BENCH_TOKEN, SWECC_BENCH_GUEST_TOKEN, else the saved one; the URL is `bench_url`,
    else that of the environment, else that of the saved login. Raises UsageError without a token, unless
    BENCH_AUTH_DISABLED is set.
    """
    caller = identify(bench_url, token)
    if not caller.token and caller.way != "open":
        raise UsageError("nobody is logged in; set SWECC_BENCH_TOKEN, or call bench_common.auth.login()")
    mode = "member" if caller.way == "given" else caller.mode
    return BenchSession(caller.base_url, caller.token, mode, caller.team_id or None)


def login(server_url: str | None = None, *, username: str | None = None, password: str | None = None) -> dict[str, Any]:
    """Log a member in, save the login and return it. Prompts for missing values.

    The server is `server_url`, else SWECC_SERVER_URL, the local one with MESOCOSM_LOCAL, else production. The active
    team is kept if server and user are unchanged. Raises LoginFailed.
    """
    name = username if username is not None else input(f"User name [{getpass.getuser()}]: ") or getpass.getuser()
    secret = password if password is not None else getpass.getpass("Password: ")
    return way.log_in(urls.login_server(server_url), name, secret).to_json()
