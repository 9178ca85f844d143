"""The caller of a server: the source of the token, and the renewal of a saved login before it expires."""

import base64
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http.client import HTTPException
from typing import Any

from mesocosm.client import credentials
from mesocosm.client.credentials import Credentials
from mesocosm.client.urls import opener_for, resolve_url, same_host, truthy, variable
from mesocosm.core.failure import UsageError

MEMBER_VARIABLE = "SWECC_BENCH_TOKEN"
GUEST_VARIABLE = "SWECC_BENCH_GUEST_TOKEN"
OPEN_VARIABLE = "BENCH_AUTH_DISABLED"
EARLY_S = 60.0
"""Remaining lifetime, in seconds, below which a token is renewed before use."""
TIMEOUT_S = 30.0


@dataclass(slots=True)
class Identity:
    """One server and one caller.

    `mode` is member, guest, or empty for an anonymous caller; `way` is the source of the token: given, variable, saved,
    open (BENCH_AUTH_DISABLED), or empty. `team_id` is the active team, `workspace_id` the active workspace.
    `elsewhere` is the server of the saved login if that is a different one.
    """

    base_url: str
    token: str = field(default="", repr=False)
    mode: str = ""
    way: str = ""
    team_id: str = ""
    renewable: bool = False
    elsewhere: str = ""
    workspace_id: str = ""

    @property
    def variable(self) -> str:
        """Name of the environment variable that holds the token; empty if the token has another source."""
        if self.way != "variable":
            return ""
        return MEMBER_VARIABLE if self.mode == "member" else GUEST_VARIABLE

    def header(self) -> dict[str, str]:
        """Return the authorization header, after renewing a saved login that is about to expire."""
        if self.renewable and _ends_soon(self.token):
            self.renew()
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def renew(self) -> bool:
        """Get a new token for the saved login, and return whether there is one.

        One of several concurrent commands renews it; the others use the token it saved. A login that can no longer be
        renewed loses its refresh token and is otherwise left unchanged.
        """
        if not self.renewable:
            return False
        with credentials.locked():
            saved = credentials.read()
            if not saved.token or not saved.refresh_token:
                self.renewable = False
            elif saved.token == self.token or _ends_soon(saved.token):
                saved = _renewed(saved)
        changed = bool(saved.token) and saved.token != self.token and saved.mode == "member"
        if changed:
            self.token = saved.token
        self.renewable = changed and bool(saved.refresh_token)
        return changed


def identify(base_url: str | None = None, token: str | None = None) -> Identity:
    """Return the server and the caller to use.

    The token is the given one, otherwise SWECC_BENCH_TOKEN, SWECC_BENCH_GUEST_TOKEN, or the saved one; the URL is that
    of `resolve_url`. With BENCH_AUTH_DISABLED no token is needed, and none is sent unless one is given. A saved login
    that cannot be read raises UsageError only if a value of it is needed.
    """
    saved = _saved(needed=not (base_url or variable("MESOCOSM_BASE_URL", "SWECC_BENCH_URL", "BENCH_API_URL")))
    url = resolve_url(base_url, saved=saved.bench_url, server=saved.server_url)
    chosen: dict[str, Any] = {"team_id": saved.active_team_id, "workspace_id": saved.active_workspace_id}
    if token:
        return Identity(url, token, mode_of(token), "given", **chosen)
    if truthy(os.environ.get(OPEN_VARIABLE)):
        return Identity(url, "", "member", "open", **chosen)
    if os.environ.get(MEMBER_VARIABLE):
        return Identity(url, os.environ[MEMBER_VARIABLE], "member", "variable", **chosen)
    if os.environ.get(GUEST_VARIABLE):
        return Identity(url, os.environ[GUEST_VARIABLE], "guest", "variable", **chosen)
    saved = _saved(needed=True)
    if not saved.token:
        return Identity(url, **chosen)
    if saved.bench_url and not (same_host(url, saved.bench_url) or same_host(url, saved.server_url)):
        # The operator of this server could use the token at the server that it was issued for.
        return Identity(url, elsewhere=saved.bench_url)
    renewable = saved.mode == "member" and bool(saved.refresh_token and saved.server_url)
    return Identity(url, saved.token, saved.mode or "member", "saved", renewable=renewable, **chosen)


def claims(token: str) -> dict[str, Any]:
    """Return the claims of a token, unverified; empty if it cannot be decoded."""
    try:
        payload = token.split(".")[1]
        found = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (IndexError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def ends_at(token: str) -> float | None:
    """Return when a token expires, as a UNIX timestamp; None if it has no such claim."""
    end = claims(token).get("exp")
    return float(end) if isinstance(end, int | float) else None


def mode_of(token: str) -> str:
    """Return whether a token belongs to a guest or a member."""
    return "guest" if claims(token).get("type") == "bench_guest" else "member"


def _ends_soon(token: str) -> bool:
    end = ends_at(token)
    return end is not None and end - time.time() < EARLY_S


def _saved(*, needed: bool) -> Credentials:
    try:
        return credentials.read()
    except UsageError:
        if needed:
            raise
        return Credentials()


def _renewed(saved: Credentials) -> Credentials:
    """Return the login with a new token and save it; the same login if the server cannot be reached."""
    url = f"{saved.server_url.rstrip('/')}/auth/refresh/"
    body = json.dumps({"refresh_token": saved.refresh_token}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310
    try:
        with opener_for(url).open(request, timeout=TIMEOUT_S) as answer:
            fresh = _taken(saved, json.loads(answer.read()))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code not in (400, 401, 403):
            return saved
        fresh = replace(saved, refresh_token="")
    except (OSError, ValueError, RecursionError, HTTPException):
        return saved
    credentials.write(fresh)
    return fresh


def _taken(saved: Credentials, answer: Mapping[str, Any]) -> Credentials:
    token, refresh = answer["token"], answer.get("refresh_token", saved.refresh_token)
    if not isinstance(token, str) or not isinstance(refresh, str):
        raise ValueError("the answer holds no token")  # noqa: TRY004 - handled like any malformed response
    return replace(saved, token=token, refresh_token=refresh)
