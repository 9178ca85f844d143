"""`/api/search`: what was said in the episodes of runs."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.runs.search import search_run, search_runs
from mesocosm.server.schemas.search import RunSearchQuery, RunsSearchQuery, SearchPage
from mesocosm.server.web.answer import answer

router = APIRouter(prefix="/api", tags=["search"])


@router.get("/search", response_model=SearchPage, responses=refused(400), **access(Access.READER))
def search_all(query: Annotated[RunsSearchQuery, Query()], grant: Granted) -> Response:
    """Return the episodes, of all runs of a filter, in which something was said."""
    return answer(search_runs(grant.runs(), query))


@router.get("/runs/{run_id}/search", response_model=SearchPage, responses=refused(400), **access(Access.READER))
def search_one(run_id: str, query: Annotated[RunSearchQuery, Query()], grant: Granted) -> Response:
    """Return the episodes of a run in which something was said."""
    return answer(search_run(grant.run(run_id), query))
