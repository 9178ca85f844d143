"""`/v1/episodes`: single episodes and their traces."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from mesocosm.platform.answer import answer, raw
from mesocosm.platform.api.runs import primary_score
from mesocosm.platform.documents.episode import (
    CallDocument,
    EpisodeDetail,
    EventPage,
    Neighbours,
    StepPage,
    episode_detail,
)
from mesocosm.platform.documents.query import EpisodeFilterQuery, EventQuery, StepQuery
from mesocosm.platform.documents.run import run_summary
from mesocosm.platform.place import Results
from mesocosm.platform.trace import read_lines

router = APIRouter(prefix="/v1/episodes", tags=["episodes"])


@router.get("/{episode_id}", response_model=EpisodeDetail)
def get_episode(episode_id: str, store: Results) -> Response:
    """Return one episode, by its id or a unique beginning of it."""
    episode = store.episode(episode_id)
    run = store.get_run(episode.run_id)
    return answer(episode_detail(episode, primary_score(run), run_summary(run), store.artifacts(run.id)))


@router.get("/{episode_id}/neighbours", response_model=Neighbours)
def get_neighbours(episode_id: str, query: Annotated[EpisodeFilterQuery, Query()], store: Results) -> Response:
    """Return the episodes before and after one, under a filter and an order."""
    raise NotImplementedError


@router.get("/{episode_id}/events", response_model=EventPage)
def list_events(episode_id: str, query: Annotated[EventQuery, Query()], store: Results) -> Response:
    """Return events of an episode."""
    episode = store.episode(episode_id)
    start = query.start
    if query.step is not None:
        first = next(store.events_of_step(episode.id, query.step), None)
        start = episode.events if first is None else first.seq
    lines = read_lines(store, episode.id, start, query.limit)
    end = start + len(lines)
    following = str(end).encode() if end < episode.events else b"null"
    data = b'{"items":[%b],"next":%b,"total":%d}' % (b",".join(lines), following, episode.events)
    return raw(data)


@router.get("/{episode_id}/steps", response_model=StepPage)
def list_steps(episode_id: str, query: Annotated[StepQuery, Query()], store: Results) -> Response:
    """Return an outline of the steps of an episode."""
    raise NotImplementedError


@router.get("/{episode_id}/calls/{seq}", response_model=CallDocument)
def get_call(episode_id: str, seq: int, store: Results) -> Response:
    """Return a model call with its whole request and reply; `seq` is the position of its event."""
    raise NotImplementedError
