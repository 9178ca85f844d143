"""A provider of identities, as OpenID Connect Core 1.0 and its Discovery describe it."""

import base64
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import jwt
import msgspec

from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError
from mesocosm.server.refusal import Refusal

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
"""Signatures of identities that are believed: those with a public key alone."""

_FRESH = 3_600.0
_AGAIN = 10.0
_PATIENCE = 10.0
_LARGEST = 1 << 20


class Places(msgspec.Struct, frozen=True):
    """Where a provider does what, as it says itself."""

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
        """Return where the provider does what. Raises Refusal 503."""
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
        """Return the identity token that a code stands for. Raises Refusal: 401 when it stands for none, 503."""
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
        """Return the claims of an identity token that is meant for us and for this sign-in. Raises Refusal 401, 503."""
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
        raise _broken(f"{url} answered with something that is no object")
    if method == "POST" and answer.status in {400, 401, 403}:
        raise Refusal(401, f"the provider of the sign-in refused it ({str(found.get('error'))[:100]}); sign in again")
    if answer.status != 200:
        raise _broken(f"{url} answered with status {answer.status}")
    return found


def _broken(why: str) -> Refusal:
    return Refusal(503, f"the provider of the sign-in cannot be used: {why}")


def _unbelieved(why: str) -> Refusal:
    return Refusal(401, f"the identity that the provider gave is not valid: {why}; sign in again")
