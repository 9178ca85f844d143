"""`/v1/gallery`: What people show to everybody."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query

from mesocosm.server.auth.access import Access, Caller, Served, access
from mesocosm.server.domains.domains import readable_domain
from mesocosm.server.leaderboards.gallery import activity_of, gallery_runs
from mesocosm.server.problems import Refusal, refused
from mesocosm.server.schemas.gallery import Activity, GalleryRun

router = APIRouter(prefix="/v1/gallery", tags=["gallery"])

Limit = Annotated[int, Query(ge=1, le=100, description="how many runs")]
Share = Annotated[int, Query(ge=0, le=100, description="how many of these at most on a page")]
Cursor = Annotated[str | None, Query(max_length=200, description="the id of the last run of the page before")]


@router.get("/runs", response_model=list[GalleryRun], responses=refused(404), **access(Access.PUBLIC))
def list_runs(
    caller: Caller,
    service: Served,
    domain_id: Annotated[str | None, Query(max_length=200, description="only runs of this domain")] = None,
    limit: Limit = 50,
    sort: Annotated[
        Literal["score", "newest"] | None, Query(description="score: the best first, within one domain alone")
    ] = None,
    cursor: Cursor = None,
) -> list[GalleryRun]:
    """List public runs that have completed.

    Those of one domain are sorted by its primary metric, the best first and those without a score last; those of all
    domains, whose scores cannot be compared, are listed newest first. Only that order has further pages.
    """
    if domain_id is not None:
        readable_domain(service, caller, domain_id)
    by_score = sort == "score" or (sort is None and domain_id is not None and cursor is None)
    if by_score and domain_id is None:
        raise Refusal(422, "scores of different domains cannot be compared; name one with domain_id, or sort=newest")
    if by_score and cursor is not None:
        raise Refusal(422, "only sort=newest has further pages; leave the cursor out, or sort so from the beginning")
    return gallery_runs(service, domain_id=domain_id, by_score=by_score, cursor=cursor, limit=limit)


@router.get("/domains/{domain_id}/activity", response_model=Activity, **access(Access.READER))
def list_activity(
    domain_id: Annotated[str, Path(max_length=200, description="the id of a domain")],
    caller: Caller,
    service: Served,
    limit: Limit = 20,
    mine_limit: Share = 100,
    gallery_limit: Share = 100,
    cursor: Cursor = None,
) -> Activity:
    """List the caller's own runs of a domain and the public ones together, the newest first."""
    row = readable_domain(service, caller, domain_id)
    return activity_of(service, caller, row.id, limit=limit, mine=mine_limit, gallery=gallery_limit, cursor=cursor)
