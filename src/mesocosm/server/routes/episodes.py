"""`/api/episodes`: single episodes and their traces."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from mesocosm import __version__
from mesocosm.core.episode import FINISHED, Episode
from mesocosm.core.failure import EpisodeError
from mesocosm.core.ids import digest_bytes
from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.refusal import Refusal
from mesocosm.server.runs.episode_list import episode_filter, episode_sort, read_episode, task_attempts
from mesocosm.server.runs.episode_pair import compare_pair
from mesocosm.server.runs.outline import step_page
from mesocosm.server.runs.trace import again_document, event_page, read_call
from mesocosm.server.schemas.comparison import EpisodePairDocument
from mesocosm.server.schemas.episode import (
    AgainDocument,
    AgainInput,
    CallDocument,
    EpisodeDetail,
    EventPageDocument,
    Neighbours,
    StepPage,
    TaskAttempts,
)
from mesocosm.server.schemas.query import EpisodeFilterQuery, EventQuery, StepQuery
from mesocosm.server.web.answer import TAGGED, answer, known, raw, settled

router = APIRouter(prefix="/api/episodes", tags=["episodes"])


@router.get("/{episode_id}", response_model=EpisodeDetail, responses=TAGGED, **access(Access.READER))
def get_episode(episode_id: str, request: Request, grant: Granted) -> Response:
    """Return one episode, by its id or a unique prefix of it."""
    episode = grant.episode(episode_id)
    detail = read_episode(episode, grant.runs())
    return settled(request, detail) if episode.record.status in FINISHED else answer(detail)


@router.get("/{episode_id}/neighbours", response_model=Neighbours, **access(Access.READER))
def get_neighbours(episode_id: str, query: Annotated[EpisodeFilterQuery, Query()], grant: Granted) -> Response:
    """Return the previous and the next episode, under a filter and an order."""
    episode = grant.episode(episode_id)
    before, after = episode.run.neighbours(episode.id, episode_filter(query), episode_sort(query))
    return answer(Neighbours(previous=before, next=after))


@router.get("/{episode_id}/attempts", response_model=TaskAttempts, **access(Access.READER))
def list_attempts(episode_id: str, grant: Granted) -> Response:
    """Return the episodes of the same task in all runs of its benchmark: other models, other trials."""
    return answer(task_attempts(grant.episode(episode_id), grant.runs()))


@router.get(
    "/{episode_id}/against/{other_id}", response_model=EpisodePairDocument, responses=TAGGED, **access(Access.READER)
)
def compare_episodes(episode_id: str, other_id: str, request: Request, grant: Granted) -> Response:
    """Align two episodes of one task step by step, and say where they part ways."""
    episode, other = grant.episode(episode_id), grant.episode(other_id)
    tags = [trace_tag(episode.record), trace_tag(other.record)]
    tag = None if None in tags else f'W/"{digest_bytes(repr(tags).encode())}"'
    return known(request, tag) or answer(compare_pair(episode, other), tag)


@router.get("/{episode_id}/events", response_model=EventPageDocument, responses=TAGGED, **access(Access.READER))
def list_events(episode_id: str, query: Annotated[EventQuery, Query()], request: Request, grant: Granted) -> Response:
    """Return events of an episode."""
    episode = grant.episode(episode_id)
    tag = trace_tag(episode.record)
    return known(request, tag) or raw(event_page(episode, query), tag)


@router.get("/{episode_id}/steps", response_model=StepPage, responses=TAGGED, **access(Access.READER))
def list_steps(episode_id: str, query: Annotated[StepQuery, Query()], request: Request, grant: Granted) -> Response:
    """Return an outline of the steps of an episode."""
    episode = grant.episode(episode_id)
    tag = trace_tag(episode.record)
    return known(request, tag) or answer(step_page(episode, query.start, query.limit), tag)


@router.get("/{episode_id}/calls/{seq}", response_model=CallDocument, responses=TAGGED, **access(Access.READER))
def get_call(
    episode_id: str,
    seq: Annotated[int, Path(description="Position of the call's event in the trace.")],
    request: Request,
    grant: Granted,
) -> Response:
    """Return a model call with its full request and reply."""
    episode = grant.episode(episode_id)
    tag = trace_tag(episode.record)
    return known(request, tag) or answer(read_call(episode, seq), tag)


@router.post(
    "/{episode_id}/calls/{seq}/again",
    response_model=AgainDocument,
    responses=refused(400, 409, 429),
    **access(Access.INSIDER),
)
def ask_call_again(
    episode_id: str,
    seq: Annotated[int, Path(description="Position of the call's event in the trace.")],
    body: AgainInput,
    grant: Granted,
) -> Response:
    """Ask a model call again: as it was, of another model, or with another prompt. The answer is stored nowhere.

    On a laptop with the keys of its environment. On a server of a model that it offers to the workspace of the run;
    what it costs counts against budgets. 409 if the model does not answer, 429 for too many calls in an hour.
    """
    episode = grant.episode(episode_id)
    try:
        return answer(again_document(grant.working_run(episode.run.id).ask_again(episode.id, seq, body)))
    except EpisodeError as error:
        raise Refusal(409, f"the model did not answer: {error}") from error


def trace_tag(episode: Episode) -> str | None:
    """Return the ETag of an episode's trace, computed from its row alone; None while the trace may grow.

    The record of a finished episode never changes, but another version of mesocosm may represent it differently.
    """
    if episode.status not in FINISHED:
        return None
    return f'W/"{__version__}-{episode.id}-{episode.events}-{episode.ended_at}"'
