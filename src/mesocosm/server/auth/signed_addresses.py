"""Signed addresses: for a while, whoever has one may send one request in the name of a member, without a login."""

import time
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from mesocosm.server.auth.token_signing import BadToken, Signer
from mesocosm.store.users import User

SIGNATURE = "signature"
"""Name of the query parameter."""
_TYPE = "address"


def signed_address(signer: Signer, user: User, method: str, path: str, query: Mapping[str, str], seconds: float) -> str:
    """Return a path with a query that `user` may send with `method` for `seconds`. `path` is not percent-encoded."""
    at = int(time.time())
    claims = {
        "type": _TYPE,
        "user_id": user.id,
        "epoch": user.epoch,
        "request": _request(method, path, query.items()),
        "iat": at,
        "exp": at + int(seconds),
    }
    return f"{quote(path)}?{urlencode({**query, SIGNATURE: signer.sign(claims)})}"


def read_signature(
    signer: Signer, signature: str, method: str, path: str, query: Iterable[tuple[str, str]]
) -> dict[str, Any]:
    """Return the claims of a signature. Raises BadToken unless it is of this request, and valid."""
    claims = signer.read(signature)
    given = [(name, value) for name, value in query if name != SIGNATURE]
    if claims.get("type") != _TYPE or claims.get("request") != _request(method, path, given):
        raise BadToken
    return claims


def _request(method: str, path: str, query: Iterable[tuple[str, str]]) -> list[Any]:
    return [method, path, sorted([name, value] for name, value in query)]
