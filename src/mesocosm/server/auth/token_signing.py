"""Signed tokens: JSON Web Tokens (RFC 7519), HS256 only, with keys that can be rotated."""

import threading
import time
from collections.abc import Mapping
from typing import Any

import jwt

from mesocosm.store.sessions import SigningKey, SigningKeys

ALGORITHM = "HS256"
LONGEST = 4_096
"""Maximum length of a token in characters."""

_FRESH = 5.0
"""Seconds for which keys are cached. For that long another server may still accept a retired key."""


class BadToken(Exception):
    """A token is invalid, or `expired`."""

    def __init__(self, *, expired: bool = False) -> None:
        super().__init__("expired" if expired else "invalid")
        self.expired = expired


class Signer:
    """Signs claims with the newest key, and reads tokens signed with any key that is not retired."""

    def __init__(self, keys: SigningKeys) -> None:
        self._keys = keys
        self._known: tuple[SigningKey, ...] = ()
        self._read_at = float("-inf")
        self._lock = threading.Lock()

    def sign(self, claims: Mapping[str, Any]) -> str:
        """Return a token; `claims` must have `exp` and `iat`."""
        key = self._valid()[0]
        return jwt.encode(dict(claims), key.secret, ALGORITHM, headers={"kid": key.id})

    def read(self, token: str) -> dict[str, Any]:
        """Return the claims of a token. Raises BadToken if it is invalid or expired."""
        if len(token) > LONGEST:
            raise BadToken
        try:
            key = self._key(str(jwt.get_unverified_header(token).get("kid", "")))
            options: Any = {"require": ["exp", "iat"]}
            return jwt.decode(token, key.secret, algorithms=[ALGORITHM], options=options, leeway=5)
        except jwt.ExpiredSignatureError as error:
            raise BadToken(expired=True) from error
        except (jwt.PyJWTError, ValueError) as error:
            raise BadToken from error

    def rotate(self, retire_after: float) -> SigningKey:
        """Sign with a new key from now on; tokens of older keys stay valid for `retire_after` seconds."""
        key = self._keys.rotate(retire_after)
        self._read_at = float("-inf")
        return key

    def _key(self, name: str) -> SigningKey:
        for fresh in (False, True):
            for key in self._valid(fresh=fresh):
                if key.id == name and (key.retired_at is None or key.retired_at > time.time()):
                    return key
        raise BadToken

    def _valid(self, *, fresh: bool = False) -> tuple[SigningKey, ...]:
        """Return the valid keys, newest first; with `fresh` the cached ones are at most one second old."""
        with self._lock:
            if time.monotonic() - self._read_at > (1.0 if fresh else _FRESH):
                self._known = self._keys.valid()
                self._read_at = time.monotonic()
            return self._known
