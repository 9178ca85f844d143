"""`/v1/runs`: lists and single runs."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from mesocosm.core.run import Run, RunStatus
from mesocosm.server.auth.sight import Sight
from mesocosm.server.place import Results
from mesocosm.server.runs.commands import reproduction
from mesocosm.server.runs.episode_list import episode_page
from mesocosm.server.runs.figures import FigureBook, Figures
from mesocosm.server.runs.glance import moving
from mesocosm.server.runs.lately import Lately
from mesocosm.server.runs.run_list import facets, run_page
from mesocosm.server.runs.work import workplace
from mesocosm.server.schemas.episode import EpisodePage
from mesocosm.server.schemas.query import EpisodeQuery, RunQuery
from mesocosm.server.schemas.run import (
    RunDetail,
    RunFacets,
    RunFacts,
    RunPage,
    RunSeries,
    run_detail,
    series_document,
)
from mesocosm.server.web.answer import TAGGED, answer, settled
from mesocosm.store import SqlStore
from mesocosm.store.rows import primary_score

router = APIRouter(prefix="/runs", tags=["runs"])

ENDED = frozenset({RunStatus.FINISHED, RunStatus.PARTIAL, RunStatus.FAILED, RunStatus.STOPPED})

_book = FigureBook()
FACETS = Lately[RunFacets]()
"""What the runs of a store can be filtered by; whoever changes tags or deletes runs makes it forget."""


@router.get("", response_model=RunPage)
def list_runs(query: Annotated[RunQuery, Query()], store: Results) -> Response:
    """Return a page of runs."""
    return answer(run_page(store, query))


@router.get("/facets", response_model=RunFacets)
def run_facets(store: Results) -> Response:
    """Return the values that runs can be filtered by."""
    return answer(FACETS.get(store.view, lambda: facets(store)))


@router.get("/{run_id}", response_model=RunDetail, responses=TAGGED)
def get_run(run_id: str, request: Request, store: Results) -> Response:
    """Return one run, by its id or a unique beginning of it."""
    run = store.get_run(run_id)
    if run.status in ENDED:
        return settled(request, read_run(store, run))
    return moving(store, run, "detail", lambda: read_run(store, run), alone=True)


@router.get("/{run_id}/episodes", response_model=EpisodePage)
def list_episodes(run_id: str, query: Annotated[EpisodeQuery, Query()], store: Results) -> Response:
    """Return a page of the episodes of a run."""
    run = store.get_run(run_id)
    if run.status in ENDED:
        return answer(episode_page(store, run, query))
    return moving(store, run, f"episodes {query!r}", lambda: episode_page(store, run, query))


@router.get("/{run_id}/series", response_model=RunSeries, responses=TAGGED)
def get_series(run_id: str, request: Request, store: Results) -> Response:
    """Return what the charts of a run show."""
    run = store.get_run(run_id)
    if run.status in ENDED:
        return settled(request, read_series(store, run))
    return moving(store, run, "series", lambda: read_series(store, run))


def read_series(store: SqlStore, run: Run) -> RunSeries:
    """Return what there is to draw of a run."""
    return series_document(primary_score(run.info, run.metrics), store.series(run.id))


def figures_of(store: SqlStore, run: Run) -> Figures:
    """Return the figures of a run, from the book where they are there."""
    return _book.of(store, run)


def read_run(store: SqlStore, run: Run) -> RunDetail:
    """Return everything that the store has of a run."""
    figures = figures_of(store, run)
    facts = RunFacts(figures.metrics, figures.failures, figures.means, store.artifacts(run.id), figures.ungraded)
    failed = any(not group[2].valid for group in figures.failures)
    if isinstance(store, Sight):
        commands = store.commands(run, failed=failed)
    else:
        commands = reproduction(run, place=workplace(store).words, failed=failed)
    detail = run_detail(run, facts, commands)
    return store.owned(detail) if isinstance(store, Sight) else detail
