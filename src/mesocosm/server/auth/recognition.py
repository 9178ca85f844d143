"""Authenticate the caller of a request by its bearer token or cookies."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

from starlette.requests import HTTPConnection

from mesocosm.server.auth.principal import NOBODY, Kind, Principal, Role
from mesocosm.server.auth.sign_ins import TOKEN_PREFIX, SignIns, fingerprint
from mesocosm.server.auth.signed_addresses import SIGNATURE, read_signature
from mesocosm.server.auth.token_signing import BadToken, Signer
from mesocosm.server.cache import Cache
from mesocosm.server.refusal import AUTH_STATE
from mesocosm.server.web.cookies import GUEST_COOKIE, WEB_COOKIE, bearer_token
from mesocosm.store import Store
from mesocosm.store.users import User

Value = TypeVar("Value")

KEPT_S = 2.0
"""Seconds for which users and sign-ins are cached, so changes by other processes may take effect that much later."""


class Recognition:
    """Authenticates members and guests by a bearer token, without one by the signature of the address, or by cookies.

    With an invalid bearer token the caller is anonymous and cookies are ignored, so a page of another site cannot use
    an invalid token to be authenticated by cookies.
    """

    def __init__(self, store: Store, signer: Signer, signins: SignIns) -> None:
        self._store = store
        self._signer = signer
        self._signins = signins
        self._recent = Cache[Any](5_000, seconds=KEPT_S)

    def of(self, request: HTTPConnection) -> Principal:
        """Return the caller of a request, anonymous if they cannot be authenticated."""
        token = bearer_token(request.headers)
        signature = request.query_params.get(SIGNATURE)
        if token is None and signature is None:
            return self._by_cookie(request)
        try:
            return self._by_token(token) if token is not None else self._by_signature(request, signature or "")
        except BadToken as bad:
            setattr(request.state, AUTH_STATE, str(bad))
            return NOBODY

    def _by_token(self, token: str) -> Principal:
        if token.startswith(TOKEN_PREFIX):
            return self._by_personal_token(token)
        claims = self._signer.read(token)
        if claims.get("type") == "bench_guest":
            return self._guest(claims)
        return self._member(claims)

    def _member(self, claims: dict[str, Any]) -> Principal:
        user_id = claims.get("user_id")
        if "type" in claims or not isinstance(user_id, int):
            raise BadToken
        user = self._recently(("user", user_id), lambda: self._store.users.get(user_id))
        if user is None or user.disabled or claims.get("epoch") != user.epoch:
            raise BadToken
        chain = claims.get("chain")
        if chain is not None and not self._is_open(user_id, str(chain)):
            raise BadToken
        return _principal(user, "jwt")

    def _is_open(self, user_id: int, chain: str) -> bool:
        """Return whether the sign-in of a token is still open."""
        return bool(
            self._recently(("chain", user_id, chain), lambda: self._store.sessions.stands(user_id, chain) or None)
        )

    def _by_signature(self, request: HTTPConnection, signature: str) -> Principal:
        method, path = request.scope.get("method", ""), request.scope["path"]
        claims = read_signature(self._signer, signature, method, path, request.query_params.multi_items())
        user = self._store.users.get(int(claims["user_id"]))
        if user is None or user.disabled or claims["epoch"] != user.epoch:
            raise BadToken
        return _principal(user, "address")

    def _recently(self, key: tuple[Any, ...], read: Callable[[], Value]) -> Value:
        """Return a cached value, at most `KEPT_S` old and never older than the last write of this process."""
        found: Value = self._recent.get((self._store.database.written, *key), read)
        return found

    def _guest(self, claims: dict[str, Any]) -> Principal:
        guest = self._store.guests.get(str(claims.get("guest_session_id", "")))
        if guest is None or guest.ended_at is not None:
            raise BadToken
        if guest.expires_at <= time.time():
            raise BadToken(expired=True)
        return Principal(Kind.GUEST, guest_id=guest.id, way="guest")

    def _by_personal_token(self, token: str) -> Principal:
        found = self._store.personal_tokens.find(fingerprint(token))
        user = None if found is None else self._store.users.get(found.user_id)
        if found is None or user is None or user.disabled:
            raise BadToken
        if found.expired:
            raise BadToken(expired=True)
        self._store.personal_tokens.used(found)
        return _principal(user, "token", found.scope)

    def _by_cookie(self, request: HTTPConnection) -> Principal:
        if secret := request.cookies.get(WEB_COOKIE):
            found = self._recently(("web", fingerprint(secret)), lambda: self._signins.web(secret))
            if found is not None:
                return _principal(found.user, "web")
        if token := request.cookies.get(GUEST_COOKIE):
            try:
                claims = self._signer.read(token)
                return self._guest(claims) if claims.get("type") == "bench_guest" else NOBODY
            except BadToken:
                return NOBODY
        return NOBODY


def _principal(user: User, way: str, scope: str = "write") -> Principal:
    return Principal(Kind.MEMBER, user.id, user.username, role=Role(user.role), scope=scope, way=way)
