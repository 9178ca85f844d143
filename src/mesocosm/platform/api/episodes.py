"""`/v1/episodes`: single episodes and their traces."""

from typing import Annotated

from fastapi import APIRouter, Query

from mesocosm.platform.documents.episode import CallDocument, EpisodeDetail, EventPage, Neighbours, StepPage
from mesocosm.platform.documents.query import EpisodeFilterQuery, EventQuery, StepQuery

router = APIRouter(prefix="/v1/episodes", tags=["episodes"])


@router.get("/{episode_id}")
def get_episode(episode_id: str) -> EpisodeDetail:
    """Return one episode, by its id or a unique beginning of it."""
    raise NotImplementedError


@router.get("/{episode_id}/neighbours")
def get_neighbours(episode_id: str, query: Annotated[EpisodeFilterQuery, Query()]) -> Neighbours:
    """Return the episodes before and after one, under a filter and an order."""
    raise NotImplementedError


@router.get("/{episode_id}/events")
def list_events(episode_id: str, query: Annotated[EventQuery, Query()]) -> EventPage:
    """Return events of an episode."""
    raise NotImplementedError


@router.get("/{episode_id}/steps")
def list_steps(episode_id: str, query: Annotated[StepQuery, Query()]) -> StepPage:
    """Return an outline of the steps of an episode."""
    raise NotImplementedError


@router.get("/{episode_id}/calls/{seq}")
def get_call(episode_id: str, seq: int) -> CallDocument:
    """Return a model call with its whole request and reply; `seq` is the position of its event."""
    raise NotImplementedError
