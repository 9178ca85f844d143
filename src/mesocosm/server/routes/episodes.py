"""`/v1/episodes`: single episodes and their traces."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from mesocosm import __version__
from mesocosm.core.episode import FINISHED, Episode
from mesocosm.server.place import Results
from mesocosm.server.runs.episode_list import episode_filter, episode_sort
from mesocosm.server.runs.outline import step_page
from mesocosm.server.runs.run_list import summaries
from mesocosm.server.runs.trace import event_page, read_call
from mesocosm.server.schemas.episode import (
    CallDocument,
    EpisodeDetail,
    EventPage,
    Neighbours,
    StepPage,
    episode_detail,
)
from mesocosm.server.schemas.query import EpisodeFilterQuery, EventQuery, StepQuery
from mesocosm.server.web.answer import TAGGED, answer, known, raw, settled
from mesocosm.store import SqlStore
from mesocosm.store.rows import primary_score

router = APIRouter(prefix="/episodes", tags=["episodes"])


@router.get("/{episode_id}", response_model=EpisodeDetail, responses=TAGGED)
def get_episode(episode_id: str, request: Request, store: Results) -> Response:
    """Return one episode, by its id or a unique beginning of it."""
    episode = store.episode(episode_id)
    detail = read_episode(store, episode)
    return settled(request, detail) if episode.status in FINISHED else answer(detail)


@router.get("/{episode_id}/neighbours", response_model=Neighbours)
def get_neighbours(episode_id: str, query: Annotated[EpisodeFilterQuery, Query()], store: Results) -> Response:
    """Return the episodes before and after one, under a filter and an order."""
    episode = store.episode(episode_id)
    before, after = store.neighbours(episode.id, episode_filter(query), episode_sort(query))
    return answer(Neighbours(previous=before, next=after))


@router.get("/{episode_id}/events", response_model=EventPage, responses=TAGGED)
def list_events(episode_id: str, query: Annotated[EventQuery, Query()], request: Request, store: Results) -> Response:
    """Return events of an episode."""
    episode = store.episode(episode_id)
    tag = trace_tag(episode)
    return known(request, tag) or raw(event_page(store, episode, query), tag)


@router.get("/{episode_id}/steps", response_model=StepPage, responses=TAGGED)
def list_steps(episode_id: str, query: Annotated[StepQuery, Query()], request: Request, store: Results) -> Response:
    """Return an outline of the steps of an episode."""
    episode = store.episode(episode_id)
    tag = trace_tag(episode)
    return known(request, tag) or answer(step_page(store, episode, query.start, query.limit), tag)


@router.get("/{episode_id}/calls/{seq}", response_model=CallDocument, responses=TAGGED)
def get_call(
    episode_id: str,
    seq: Annotated[int, Path(description="position of the event of the call")],
    request: Request,
    store: Results,
) -> Response:
    """Return a model call with its whole request and reply."""
    episode = store.episode(episode_id)
    tag = trace_tag(episode)
    return known(request, tag) or answer(read_call(store, episode, seq), tag)


def read_episode(store: SqlStore, episode: Episode) -> EpisodeDetail:
    """Return everything that the store has of an episode but its events."""
    run = store.get_run(episode.run_id)
    (summary,) = summaries(store, [run])
    return episode_detail(episode, primary_score(run.info, run.metrics), summary, store.artifacts(run.id))


def trace_tag(episode: Episode) -> str | None:
    """Return what names the trace of an episode, made from its row alone; None while the trace may grow.

    What was recorded of a finished episode never changes; another version may tell it in other words.
    """
    if episode.status not in FINISHED:
        return None
    return f'W/"{__version__}-{episode.id}-{episode.events}-{episode.ended_at}"'
