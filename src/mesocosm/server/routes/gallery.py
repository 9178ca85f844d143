"""`/api/gallery`: public runs."""

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.gallery import GalleryRun

router = APIRouter(prefix="/api/gallery", tags=["gallery"])

Limit = Annotated[int, Query(ge=1, le=100, description="Maximum number of runs.")]
Cursor = Annotated[str | None, Query(max_length=200, description="ID of the last run of the previous page.")]


@router.get("/runs", response_model=list[GalleryRun], responses=refused(404), **access(Access.PUBLIC))
def list_runs(
    grant: Granted,
    domain_id: Annotated[str | None, Query(max_length=200, description="Only runs of this domain.")] = None,
    limit: Limit = 50,
    sort: Annotated[
        Literal["score", "newest"] | None,
        Query(description="`score`: best first, within one domain only; `newest`: newest first."),
    ] = None,
    cursor: Cursor = None,
) -> Sequence[GalleryRun]:
    """List public completed runs.

    Runs of one domain are sorted by its primary metric, best first and those without a score last. Runs of all domains,
    whose scores cannot be compared, are listed newest first.
    """
    by_score = sort == "score" or (sort is None and domain_id is not None)
    if by_score and domain_id is None:
        raise Refusal(422, "scores of different domains cannot be compared; name one with domain_id, or sort=newest")
    return grant.domains().gallery(domain_id=domain_id, by_score=by_score, cursor=cursor, limit=limit)
