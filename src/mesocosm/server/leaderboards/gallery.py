"""What people show to everybody, and what happens on a domain."""

from collections.abc import Sequence

from mesocosm.server.auth.principal import Principal
from mesocosm.server.environments.documents import check_document
from mesocosm.server.leaderboards.boards import leaderboards_of
from mesocosm.server.run_requests.listing import run_items
from mesocosm.server.run_requests.view import metric_document
from mesocosm.server.schemas.document import instant
from mesocosm.server.schemas.gallery import Activity, ActivityItem, GalleryRun
from mesocosm.server.service import Service
from mesocosm.store.leaderboards import Shown
from mesocosm.store.run_requests import RunRequest, RunRequestFilter


def gallery_runs(
    service: Service, *, domain_id: str | None, by_score: bool, cursor: str | None, limit: int
) -> list[GalleryRun]:
    """Return public runs of published domains, the newest or the best first."""
    boards = leaderboards_of(service).boards
    shown = boards.gallery(domain_id=domain_id, by_score=by_score, cursor=cursor, limit=limit)
    return [_document(run) for run in shown]


def activity_of(
    service: Service, caller: Principal, domain_id: str, *, limit: int, mine: int, gallery: int, cursor: str | None
) -> Activity:
    """Return own and public runs of a domain, the newest first, each once.

    At most `mine` own and `gallery` public ones stand on a page; it ends where one of these ran out, so that no run is
    left out between two pages.
    """
    own = RunRequestFilter(actor=caller.actor, domain_id=domain_id, cursor=cursor)
    shown = RunRequestFilter(public=True, domain_id=domain_id, cursor=cursor)
    mine_most, shown_most = min(mine, limit), min(gallery, limit)
    # One more of each tells whether the page ends before they do.
    owned = [] if caller.anonymous or not mine else list(service.store.run_requests.list(own, limit=mine_most + 1))
    public = [] if not gallery else list(service.store.run_requests.list(shown, limit=shown_most + 1))
    listed = _merged(owned, mine_most, public, shown_most)
    page = listed[:limit]
    more = len(listed) > limit or len(owned) > mine_most or len(public) > shown_most
    items = run_items(service, caller, page)
    actors = {order.run_id: order.actor for order in page}
    return Activity(
        items=[
            ActivityItem.model_validate(
                {**item.model_dump(), "source": "mine" if actors[item.id] == caller.actor else "gallery"}
            )
            for item in items
        ],
        next_cursor=page[-1].run_id if more and page else None,
    )


def _merged(owned: Sequence[RunRequest], mine: int, public: Sequence[RunRequest], gallery: int) -> list[RunRequest]:
    """Return the newest of both, each once, as far back as both are known."""
    ends = [some[most - 1].run_id for some, most in ((owned, mine), (public, gallery)) if len(some) > most]
    since = max(ends, default="")
    found = {order.run_id: order for order in (*owned[:mine], *public[:gallery]) if order.run_id >= since}
    return [found[run_id] for run_id in sorted(found, reverse=True)]


def _document(run: Shown) -> GalleryRun:
    metric = run.metric
    return GalleryRun(
        run_id=run.run_id,
        domain_id=run.domain_id,
        domain_name=run.domain_name,
        model=run.model,
        binding_vow_version=run.vow_version,
        primary_score=None if metric is None else metric.value,
        primary=None if metric is None else metric_document(metric),
        num_episodes=run.episodes,
        created_at=instant(run.created_at),
        actor_label="Guest" if run.actor.startswith("guest:") else "Member",
        protocol=run.protocol,
        check=None if run.verdict is None else check_document(run.verdict).state,
    )
