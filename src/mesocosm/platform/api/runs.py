"""`/v1/runs`: lists, single runs, and what can be done to them."""

from typing import Annotated

from fastapi import APIRouter, Query

from mesocosm.platform.documents.episode import EpisodePage
from mesocosm.platform.documents.query import EpisodeQuery, RunQuery
from mesocosm.platform.documents.run import RunDetail, RunFacets, RunPage, RunSeries, Started, TagsInput

router = APIRouter(prefix="/v1/runs", tags=["runs"])


@router.get("")
def list_runs(query: Annotated[RunQuery, Query()]) -> RunPage:
    """Return a page of runs."""
    raise NotImplementedError


@router.get("/facets")
def run_facets() -> RunFacets:
    """Return the values that runs can be filtered by."""
    raise NotImplementedError


@router.get("/{run_id}")
def get_run(run_id: str) -> RunDetail:
    """Return one run, by its id or a unique beginning of it."""
    raise NotImplementedError


@router.get("/{run_id}/episodes")
def list_episodes(run_id: str, query: Annotated[EpisodeQuery, Query()]) -> EpisodePage:
    """Return a page of the episodes of a run."""
    raise NotImplementedError


@router.get("/{run_id}/series")
def get_series(run_id: str) -> RunSeries:
    """Return what the charts of a run show."""
    raise NotImplementedError


@router.post("/{run_id}/stop")
def stop_run(run_id: str) -> RunDetail:
    """Ask the process that works on a run to stop it."""
    raise NotImplementedError


@router.post("/{run_id}/resume", status_code=202)
def resume_run(run_id: str, *, retry_failed: bool = False) -> Started:
    """Continue a run in a process of its own: only what is not finished is played."""
    raise NotImplementedError


@router.post("/{run_id}/rescore", status_code=202)
def rescore_run(run_id: str) -> Started:
    """Grade the recorded episodes of a run again, in a process of its own."""
    raise NotImplementedError


@router.put("/{run_id}/tags")
def set_tags(run_id: str, body: TagsInput) -> RunDetail:
    """Replace the tags of a run."""
    raise NotImplementedError


@router.delete("/{run_id}", status_code=204)
def delete_run(run_id: str) -> None:
    """Delete a run with everything recorded of it."""
    raise NotImplementedError
