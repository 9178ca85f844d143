"""`/api/runs`: lists and single runs."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from mesocosm.core.run import RunStatus
from mesocosm.server.cache import Cache, a_while
from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.runs.commands import commands_of
from mesocosm.server.runs.documents import RunFacts, run_detail, series_document
from mesocosm.server.runs.episode_list import episode_page
from mesocosm.server.runs.figures import figures_of
from mesocosm.server.runs.glance import moving
from mesocosm.server.runs.run_list import facets, run_page
from mesocosm.server.schemas.episode import EpisodePage
from mesocosm.server.schemas.query import EpisodePageQuery, RunQuery
from mesocosm.server.schemas.run import RunDetail, RunFacetsDocument, RunPage, RunSeriesDocument
from mesocosm.server.web.answer import TAGGED, answer, settled
from mesocosm.store.rows import primary_score

router = APIRouter(prefix="/runs", tags=["runs"])

ENDED = frozenset({RunStatus.FINISHED, RunStatus.PARTIAL, RunStatus.FAILED, RunStatus.STOPPED})

FACETS = Cache[RunFacetsDocument](20)
"""What the runs of a store can be filtered by; whoever changes tags or deletes runs makes it forget."""


@router.get("", response_model=RunPage)
def list_runs(query: Annotated[RunQuery, Query()], grant: Granted) -> Response:
    """Return a page of runs."""
    return answer(run_page(grant.runs(), query))


@router.get("/facets", response_model=RunFacetsDocument)
def run_facets(grant: Granted) -> Response:
    """Return the values that runs can be filtered by."""
    runs = grant.runs()
    return answer(FACETS.get(runs.view, lambda: facets(runs), lasts=a_while))


@router.get("/{run_id}", response_model=RunDetail, responses=TAGGED)
def get_run(run_id: str, request: Request, grant: Granted) -> Response:
    """Return one run, by its id or a unique beginning of it."""
    run = grant.run(run_id)
    if run.record.status in ENDED:
        return settled(request, read_run(run))
    return moving(run, "detail", lambda: read_run(run), alone=True)


@router.get("/{run_id}/episodes", response_model=EpisodePage)
def list_episodes(run_id: str, query: Annotated[EpisodePageQuery, Query()], grant: Granted) -> Response:
    """Return a page of the episodes of a run."""
    run = grant.run(run_id)
    if run.record.status in ENDED:
        return answer(episode_page(run, query))
    return moving(run, f"episodes {query!r}", lambda: episode_page(run, query))


@router.get("/{run_id}/series", response_model=RunSeriesDocument, responses=TAGGED)
def get_series(run_id: str, request: Request, grant: Granted) -> Response:
    """Return what the charts of a run show."""
    run = grant.run(run_id)
    if run.record.status in ENDED:
        return settled(request, read_series(run))
    return moving(run, "series", lambda: read_series(run))


def read_series(run: VisibleRun) -> RunSeriesDocument:
    """Return what there is to draw of a run."""
    return series_document(primary_score(run.record.info, run.record.metrics), run.series())


def read_run(run: VisibleRun) -> RunDetail:
    """Return everything that is recorded of a run."""
    figures = figures_of(run)
    facts = RunFacts(figures.metrics, figures.failures, figures.means, run.artifacts(), figures.ungraded)
    failed = any(not group[2].valid for group in figures.failures)
    return run_detail(run.record, facts, commands_of(run, failed=failed), run.ownership(prompts=True))
