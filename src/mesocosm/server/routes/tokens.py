"""`/api/tokens`: personal tokens, for scripts and continuous integration."""

from collections.abc import Sequence

from fastapi import APIRouter, Depends

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.schemas.account import PersonalTokenCreated, PersonalTokenDocument, TokenInput
from mesocosm.server.web.answer import not_cached

router = APIRouter(prefix="/api/tokens", tags=["tokens"], dependencies=[Depends(not_cached)])


@router.get("", response_model=list[PersonalTokenDocument], responses=refused(401, 403), **access(Access.MEMBER))
def list_tokens(grant: Granted) -> Sequence[PersonalTokenDocument]:
    """List the caller's tokens, newest first."""
    return grant.account().tokens()


@router.post("", status_code=201, responses=refused(401, 403, 409), **access(Access.MEMBER))
def create_token(body: TokenInput, grant: Granted) -> PersonalTokenCreated:
    """Create a token and return it once. Refused to callers that use a personal token themselves."""
    return grant.account().create_token(body)


@router.delete("/{token_id}", status_code=204, responses=refused(401, 403, 404), **access(Access.MEMBER))
def delete_token(token_id: str, grant: Granted) -> None:
    """Delete one of the caller's tokens, which becomes invalid."""
    grant.account().delete_token(token_id)
