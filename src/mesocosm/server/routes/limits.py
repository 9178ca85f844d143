"""`/api/limits`: the caller's limits, and what is left of them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.schemas.limits import LimitsDocument
from mesocosm.server.web.answer import not_cached

router = APIRouter(tags=["limits"], dependencies=[Depends(not_cached)])


@router.get("/api/limits", response_model=LimitsDocument, responses=refused(403), **access(Access.PUBLIC))
def get_limits(
    grant: Granted,
    team_id: Annotated[str | None, Query(max_length=200, description="Include the budget of this team.")] = None,
) -> LimitsDocument:
    """Return the caller's limits; without a login those of a guest. 403 for another team."""
    return grant.account().limits(team_id)
