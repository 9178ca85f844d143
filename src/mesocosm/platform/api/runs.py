"""`/v1/runs`: lists and single runs."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from mesocosm.core.run import Run
from mesocosm.engine.metrics import so_far
from mesocosm.platform.answer import answer
from mesocosm.platform.commands import reproduction
from mesocosm.platform.documents.episode import EpisodePage, episode_summary
from mesocosm.platform.documents.query import EpisodeQuery, RunQuery
from mesocosm.platform.documents.run import (
    RunDetail,
    RunFacets,
    RunFacts,
    RunPage,
    RunSeries,
    run_detail,
    run_summary,
)
from mesocosm.platform.place import Results
from mesocosm.store import SqlStore

router = APIRouter(prefix="/v1/runs", tags=["runs"])


@router.get("", response_model=RunPage)
def list_runs(query: Annotated[RunQuery, Query()], store: Results) -> Response:
    """Return a page of runs."""
    page = store.list_runs(cursor=query.cursor, limit=query.limit, text=query.q, sort=query.sort)
    items = [run_summary(run) for run in page.items]
    return answer(RunPage(items=items, cursor=page.cursor, total=len(items), total_exact=page.cursor is None))


@router.get("/facets", response_model=RunFacets)
def run_facets(store: Results) -> Response:
    """Return the values that runs can be filtered by."""
    raise NotImplementedError


@router.get("/{run_id}", response_model=RunDetail)
def get_run(run_id: str, store: Results) -> Response:
    """Return one run, by its id or a unique beginning of it."""
    return answer(read_run(store, store.get_run(run_id)))


@router.get("/{run_id}/episodes", response_model=EpisodePage)
def list_episodes(run_id: str, query: Annotated[EpisodeQuery, Query()], store: Results) -> Response:
    """Return a page of the episodes of a run."""
    run = store.get_run(run_id)
    page = store.episodes(run.id, cursor=query.cursor, limit=query.limit)
    name = primary_score(run)
    items = [episode_summary(episode, name) for episode in page.items]
    return answer(EpisodePage(items=items, cursor=page.cursor, total=run.counts.done, total_exact=True))


@router.get("/{run_id}/series", response_model=RunSeries)
def get_series(run_id: str, store: Results) -> Response:
    """Return what the charts of a run show."""
    raise NotImplementedError


def read_run(store: SqlStore, run: Run) -> RunDetail:
    """Return everything that the store has of a run."""
    metrics = run.metrics or so_far(run, store)
    facts = RunFacts(metrics, store.failures(run.id), store.episode_means(run.id), store.artifacts(run.id))
    return run_detail(run, None, facts, reproduction(run))


def primary_score(run: Run) -> str:
    """Return the name of the score that the primary metric of a run reads; empty without one."""
    declared = [metric for metric in run.info.get("metrics", []) if isinstance(metric, dict) and metric.get("primary")]
    return str(declared[0].get("score", "")) if declared else ""
