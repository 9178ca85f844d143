"""Signing in with another provider: the authorization code flow of OpenID Connect, with PKCE (RFC 7636).

What belongs to one sign-in (state, nonce, verifier) is kept in a signed cookie of the browser that began it.
"""

import base64
import hashlib
import hmac
import re
import secrets
import time
from dataclasses import dataclass, field
from urllib.parse import urlencode

from fastapi.concurrency import run_in_threadpool

from mesocosm.server.auth.accounts import Accounts
from mesocosm.server.auth.provider import Provider
from mesocosm.server.auth.signing import BadToken
from mesocosm.server.refusal import Refusal
from mesocosm.server.web.cookies import OIDC_MINUTES
from mesocosm.store.users import NameTaken, User

_TYPE = "oidc"
_ODD = re.compile(r"[^A-Za-z0-9._+-]+")
_PAGE = re.compile(r"/(?![/\\])[^\\\x00-\x20]*")


@dataclass(frozen=True, slots=True)
class Begun:
    """A sign-in that has begun: where the browser goes, and the cookie that it keeps."""

    url: str
    cookie: str = field(repr=False)


class Oidc:
    """Sign-in with the provider of the settings."""

    def __init__(self, accounts: Accounts) -> None:
        settings = accounts.settings
        if not settings.oidc_issuer or not settings.oidc_client_id:
            raise Refusal(404, "this server has no other provider to sign in with; use name and password")
        self._accounts = accounts
        secret = settings.oidc_client_secret.get_secret_value()
        self._provider = Provider(settings.oidc_issuer, settings.oidc_client_id, secret)

    async def begin(self, redirect_uri: str, page: str) -> Begun:
        """Begin a sign-in that ends on a page of ours. Raises Refusal 503 when the provider cannot be reached."""
        places = await self._provider.places()
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        query = {
            "response_type": "code",
            "client_id": self._provider.client_id,
            "redirect_uri": redirect_uri,
            "scope": "openid profile email",
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        now = int(time.time())
        kept = {"type": _TYPE, "state": state, "nonce": nonce, "verifier": verifier, "page": own_page(page)}
        claims = {**kept, "iat": now, "exp": now + int(OIDC_MINUTES * 60)}
        cookie = await run_in_threadpool(self._accounts.signer.sign, claims)
        joint = "&" if "?" in places.authorization_endpoint else "?"
        return Begun(f"{places.authorization_endpoint}{joint}{urlencode(query)}", cookie)

    async def end(self, cookie: str, state: str, code: str, redirect_uri: str) -> tuple[User, str]:
        """End a sign-in: return who signed in, and the page to go on with.

        Raises Refusal: 400 when this browser did not begin it, 401 for what the provider does not stand up for, 403 for
        a disabled account, 503 when the provider cannot be used.
        """
        kept = await run_in_threadpool(self._kept, cookie)
        if not code or not hmac.compare_digest(kept["state"].encode(), state.encode("utf-8", "replace")):
            raise _strange()
        token = await self._provider.exchange(code, kept["verifier"], redirect_uri)
        claims = await self._provider.identity(token, kept["nonce"])
        names = [str(claims.get(name, "")) for name in ("preferred_username", "email", "name")]
        user = await run_in_threadpool(self._user, f"{claims['iss']} {claims['sub']}", names)
        return user, kept["page"]

    def _kept(self, cookie: str) -> dict[str, str]:
        try:
            claims = self._accounts.signer.read(cookie)
        except BadToken as error:
            raise _strange() from error
        if claims.get("type") != _TYPE:
            raise _strange()
        return {name: str(claims.get(name, "")) for name in ("state", "nonce", "verifier", "page")}

    def _user(self, subject: str, names: list[str]) -> User:
        """Return who comes under `subject`, added the first time.

        A matching name never links an existing account: people who choose names at the provider could
        choose theirs.
        """
        users = self._accounts.users
        user = users.by_subject(subject) or self._added(subject, names)
        if user.disabled:
            raise Refusal(403, "this account is disabled; ask an administrator")
        users.signed_in(user.id)
        return user

    def _added(self, subject: str, names: list[str]) -> User:
        users = self._accounts.users
        cleaned = (_ODD.sub("-", name.partition("@")[0]).strip("-._+")[:50] for name in names)
        wanted = next((name for name in cleaned if name), "member")
        for suffix in ("", *(f"-{number}" for number in range(2, 10)), f"-{secrets.token_hex(4)}"):
            try:
                user = users.add(f"{wanted}{suffix}", subject=subject)
            except NameTaken:
                # Or another request has just added this user.
                if (known := users.by_subject(subject)) is not None:
                    return known
            else:
                self._accounts.audit.note(user.actor, "user.add", user.actor, {"username": user.username, "oidc": True})
                return user
        raise Refusal(409, f"the name {wanted!r} is taken; ask an administrator for an account")


def own_page(page: str) -> str:
    """Return the path to continue with: `/` for an address of another site."""
    return page if _PAGE.fullmatch(page) else "/"


def _strange() -> Refusal:
    return Refusal(400, "this sign-in was not begun in this browser, or took too long; begin again")
