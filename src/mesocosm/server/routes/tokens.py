"""`/api/tokens`: personal tokens, for scripts and continuous integration."""

import secrets
import time
from typing import Any

from fastapi import APIRouter, Depends, Request

from mesocosm.server.auth.access import Access, Caller, Served, access
from mesocosm.server.auth.recognition import TOKEN_PREFIX
from mesocosm.server.auth.signins import fingerprint
from mesocosm.server.problems import refused
from mesocosm.server.refusal import Refusal
from mesocosm.server.routes.signing_in import kept_by_nobody, own_user
from mesocosm.server.schemas.account import PersonalTokenCreated, PersonalTokenDocument, TokenInput
from mesocosm.server.schemas.document import instant, moment
from mesocosm.store import personal_tokens

MOST = 50
"""Personal tokens that somebody may have."""

router = APIRouter(prefix="/api/tokens", tags=["tokens"], dependencies=[Depends(kept_by_nobody)])


@router.get("", responses=refused(401, 403), **access(Access.MEMBER))
def list_tokens(caller: Caller, service: Served) -> list[PersonalTokenDocument]:
    """Return one's own tokens, newest first."""
    return [
        PersonalTokenDocument(**_fields(token)) for token in service.accounts.personal_tokens.of(caller.user_id or 0)
    ]


@router.post("", status_code=201, responses=refused(401, 403, 409), **access(Access.MEMBER))
def create_token(body: TokenInput, request: Request, caller: Caller, service: Served) -> PersonalTokenCreated:
    """Make a token. It is shown this once; only who signed in themselves can make one."""
    accounts, user = service.accounts, own_user(service, caller)
    kept = accounts.personal_tokens
    if kept.count(user.id) >= MOST:
        raise Refusal(409, f"there are {MOST} personal tokens already; delete one first")
    secret = TOKEN_PREFIX + secrets.token_urlsafe(30)
    ends = None if body.days is None else time.time() + body.days * 86_400
    token = kept.add(user.id, body.name, body.scope, fingerprint(secret), ends)
    noted = {"name": token.name, "scope": token.scope}
    accounts.audit.note(user.actor, "token.add", f"token:{token.id}", noted, accounts.address(request))
    return PersonalTokenCreated(**_fields(token), token=secret)


@router.delete("/{token_id}", status_code=204, responses=refused(401, 403, 404), **access(Access.MEMBER))
def delete_token(token_id: str, request: Request, caller: Caller, service: Served) -> None:
    """Delete one of one's own tokens: it is not valid any more."""
    accounts = service.accounts
    if caller.user_id is None or not accounts.personal_tokens.remove(caller.user_id, token_id):
        raise Refusal(404, f"you have no token {token_id[:100]!r}; it is deleted already, or is another's")
    accounts.audit.note(caller.actor, "token.delete", f"token:{token_id[:100]}", {}, accounts.address(request))


def _fields(token: personal_tokens.PersonalToken) -> dict[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "scope": token.scope,
        "created_at": instant(token.created_at),
        "expires_at": moment(token.expires_at),
        "last_used_at": moment(token.last_used_at),
    }
