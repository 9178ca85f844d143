"""`/api/me`: the caller, and their environments and runs."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.schemas.account import AccountContext, Me
from mesocosm.server.web.answer import not_cached

router = APIRouter(prefix="/api/me", tags=["me"], dependencies=[Depends(not_cached)])

Include = Annotated[str, Query(description="`context`: include what the member owns.", max_length=200)]


@router.get("", responses=refused(), **access(Access.PUBLIC))
def get_me(grant: Granted, include: Include = "") -> Me:
    """Return the caller. If it is `anonymous`, the header `X-Mesocosm-Auth` gives the reason."""
    caller = grant.caller
    wanted = caller.member and "context" in include.split(",")
    return Me(
        type=caller.kind.value,
        user_id=caller.user_id,
        username=caller.username,
        guest_session_id=caller.guest_id,
        role=caller.role.value if caller.member else None,
        scope="read" if caller.scope == "read" else "write",
        way=caller.way,
        context=grant.account().context() if wanted else None,
    )


@router.get("/context", responses=refused(401, 403), **access(Access.MEMBER))
def get_context(grant: Granted) -> AccountContext:
    """Return how many environments and runs the member owns, and their teams own."""
    return grant.account().context()
