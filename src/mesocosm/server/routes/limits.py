"""`/api/limits`: the caller's limits, and what is left of them."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from mesocosm.server.auth.permissions import Granted
from mesocosm.server.auth.route_access import Access, Caller, Served, access
from mesocosm.server.problems import refused
from mesocosm.server.run_requests.found import find_run
from mesocosm.server.schemas.limits import LimitsDocument, QueuePlace
from mesocosm.server.web.answer import not_cached

router = APIRouter(tags=["limits"], dependencies=[Depends(not_cached)])


@router.get("/api/limits", response_model=LimitsDocument, responses=refused(403), **access(Access.PUBLIC))
def get_limits(
    grant: Granted,
    team_id: Annotated[str | None, Query(max_length=200, description="also the budget of this team")] = None,
) -> LimitsDocument:
    """Return the caller's limits; without a login those of a guest. 403 for a team of others."""
    return grant.account().limits(team_id)


@router.get("/v1/runs/{run_id}/queue", response_model=QueuePlace, **access(Access.READER))
def get_place(
    run_id: Annotated[str, Path(max_length=200, description="id of the run")], caller: Caller, service: Served
) -> QueuePlace:
    """Return where a run stands in the queue. It is fair between people, so others may come to stand before it."""
    found = find_run(service, caller, run_id)
    place = service.store.waiting.place(found.run.id)
    if place is None:
        return QueuePlace(waiting=False, position=None, length=service.store.workers.queue().runs_queued)
    return QueuePlace(waiting=True, position=place.position, length=place.length)
