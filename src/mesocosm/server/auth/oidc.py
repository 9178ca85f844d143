"""Sign-in with an OpenID Connect provider: authorization code flow with PKCE (RFC 7636).

The state, nonce and verifier of a sign-in are stored in a signed cookie of the browser that started it.
"""

import base64
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import jwt
import msgspec
from fastapi.concurrency import run_in_threadpool

from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError
from mesocosm.server.auth.accounts import Accounts
from mesocosm.server.auth.token_signing import BadToken
from mesocosm.server.refusal import Refusal
from mesocosm.server.web.cookies import OIDC_MINUTES
from mesocosm.store.users import NameTaken, User

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
"""Accepted signature algorithms of identity tokens: only asymmetric ones."""

_FRESH = 3_600.0
_AGAIN = 10.0
_PATIENCE = 10.0
_LARGEST = 1 << 20

_TYPE = "oidc"
_ODD = re.compile(r"[^A-Za-z0-9._+-]+")
_PAGE = re.compile(r"/(?![/\\])[^\\\x00-\x20]*")


class Places(msgspec.Struct, frozen=True):
    """The endpoints of a provider, from its discovery document."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class Provider:
    """One provider and the client id of this server there."""

    def __init__(self, issuer: str, client_id: str, client_secret: str) -> None:
        self.issuer = issuer
        self.client_id = client_id
        self._secret = client_secret
        self._places: Places | None = None
        self._keys: jwt.PyJWKSet | None = None
        self._read_at = {"places": float("-inf"), "keys": float("-inf")}

    async def places(self) -> Places:
        """Return the endpoints of the provider. Raises Refusal 503."""
        if self._places is None or time.monotonic() - self._read_at["places"] > _FRESH:
            url = f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
            try:
                places = msgspec.convert(await _json("GET", url), Places)
            except msgspec.ValidationError as error:
                raise _broken(f"{url} does not describe a provider ({error})") from error
            if places.issuer != self.issuer:
                raise _broken(f"{url} is of {places.issuer!r}, not of {self.issuer!r}; correct the setting oidc_issuer")
            self._places = places
            self._read_at["places"] = time.monotonic()
        return self._places

    async def exchange(self, code: str, verifier: str, redirect_uri: str) -> str:
        """Exchange a code for an identity token. Raises Refusal: 401 for an invalid code, 503 if the provider fails."""
        places = await self.places()
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        form |= {"code_verifier": verifier, "client_id": self.client_id}
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        if self._secret and "client_secret_basic" in places.token_endpoint_auth_methods_supported:
            pair = f"{quote(self.client_id, safe='')}:{quote(self._secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        elif self._secret:
            form["client_secret"] = self._secret
        answer = await _json("POST", places.token_endpoint, headers, urlencode(form).encode())
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise Refusal(401, "the provider of the sign-in gave no identity; sign in again")
        return token

    async def identity(self, token: str, nonce: str) -> dict[str, Any]:
        """Validate an identity token for this sign-in and return its claims. Raises Refusal 401, 503."""
        try:
            key = await self._key(str(jwt.get_unverified_header(token).get("kid", "")))
            claims = jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=self.client_id,
                issuer=self.issuer,
                leeway=60,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except (jwt.PyJWTError, ValueError) as error:
            raise _unbelieved(str(error)) from error
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if claims.get("azp", None if several else self.client_id) != self.client_id:
            raise _unbelieved("it was issued to another client")
        if claims.get("nonce") != nonce:
            raise _unbelieved("it belongs to another sign-in")
        return claims

    async def _key(self, name: str) -> jwt.PyJWK:
        for fresh in (_FRESH, _AGAIN):
            if self._keys is None or time.monotonic() - self._read_at["keys"] > fresh:
                places = await self.places()
                self._keys = jwt.PyJWKSet.from_dict(await _json("GET", places.jwks_uri))
                self._read_at["keys"] = time.monotonic()
            found = [key for key in self._keys.keys if key.key_id == name or not name]
            if len(found) == 1:
                return found[0]
        raise jwt.InvalidTokenError("no key of the provider signed it")


async def _json(method: str, url: str, headers: Mapping[str, str] = {}, body: bytes | None = None) -> dict[str, Any]:
    try:
        async with HttpClient(max_response=_LARGEST) as client:
            answer = await client.request(method, url, headers=headers, body=body, timeout=_PATIENCE)
            found = answer.json()
    except HttpError as error:
        raise _broken(str(error)) from error
    if not isinstance(found, dict):
        raise _broken(f"{url} returned a response that is not a JSON object")
    if method == "POST" and answer.status in {400, 401, 403}:
        raise Refusal(401, f"the provider of the sign-in refused it ({str(found.get('error'))[:100]}); sign in again")
    if answer.status != 200:
        raise _broken(f"{url} answered with status {answer.status}")
    return found


def _broken(why: str) -> Refusal:
    return Refusal(503, f"the provider of the sign-in cannot be used: {why}")


def _unbelieved(why: str) -> Refusal:
    return Refusal(401, f"the identity that the provider gave is not valid: {why}; sign in again")


@dataclass(frozen=True, slots=True)
class Begun:
    """A started sign-in: the URL to redirect the browser to, and the cookie to set."""

    url: str
    cookie: str = field(repr=False)


class Oidc:
    """Sign-in with the provider in the settings. Raises Refusal 404 if none is configured."""

    def __init__(self, accounts: Accounts) -> None:
        settings = accounts.settings
        if not settings.oidc_issuer or not settings.oidc_client_id:
            raise Refusal(404, "this server has no other provider to sign in with; use name and password")
        self._accounts = accounts
        secret = settings.oidc_client_secret.get_secret_value()
        self._provider = Provider(settings.oidc_issuer, settings.oidc_client_id, secret)

    async def begin(self, redirect_uri: str, page: str) -> Begun:
        """Start a sign-in that ends at `page`. Raises Refusal 503 if the provider cannot be used."""
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
        """Finish a sign-in: return the user and the page to continue with.

        Raises Refusal: 400 if this browser did not start it, 401 for an invalid identity, 403 for a disabled account,
        409 if no user name is free, 503 if the provider cannot be used.
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
        """Return the user of `subject`, created on the first sign-in.

        A matching name never links an existing account: anyone who can choose a name at the provider could take it
        over.
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
                # The name is taken, or another request has just added this user.
                if (known := users.by_subject(subject)) is not None:
                    return known
            else:
                self._accounts.audit.note(user.actor, "user.add", user.actor, {"username": user.username, "oidc": True})
                return user
        raise Refusal(409, f"the name {wanted!r} is taken; ask an administrator for an account")


def own_page(page: str) -> str:
    """Return `page` if it is a path of this site, else `/`."""
    return page if _PAGE.fullmatch(page) else "/"


def _strange() -> Refusal:
    return Refusal(400, "this sign-in was not begun in this browser, or took too long; begin again")
