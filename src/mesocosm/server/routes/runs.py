"""`/api/runs`: lists and single runs, their charts and results."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from mesocosm.server.cache import Cache, a_while
from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.problems import refused
from mesocosm.server.runs.baseline import run_standings
from mesocosm.server.runs.episode_list import episode_page
from mesocosm.server.runs.results import read_results, read_slices, read_wrong_answers
from mesocosm.server.runs.run_detail import read_run, read_series
from mesocosm.server.runs.run_list import facets, run_page
from mesocosm.server.runs.running_metrics import GOING
from mesocosm.server.schemas.baseline import RunStandings
from mesocosm.server.schemas.document import Document
from mesocosm.server.schemas.episode import EpisodePage
from mesocosm.server.schemas.query import EpisodePageQuery, RunQuery
from mesocosm.server.schemas.results import RunResultsDocument, RunSlices, WrongAnswersDocument
from mesocosm.server.schemas.run import RunDetail, RunFacetsDocument, RunPage, RunSeriesDocument
from mesocosm.server.web.answer import TAGGED, answer, raw, settled

router = APIRouter(prefix="/api/runs", tags=["runs"])

MOMENT_S = 1.0
"""Maximum age, in seconds, of a response about a run in progress that callers share."""

FACETS = Cache[RunFacetsDocument](20)
"""Filter values of the runs of a store. Code that changes tags or deletes runs must invalidate them."""

_shared = Cache[bytes](room=16 * 2**20)


@router.get("", response_model=RunPage, responses=refused(400), **access(Access.READER))
def list_runs(query: Annotated[RunQuery, Query()], grant: Granted) -> Response:
    """Return a page of runs."""
    return answer(run_page(grant.runs(), query))


@router.get("/facets", response_model=RunFacetsDocument, **access(Access.READER))
def run_facets(grant: Granted) -> Response:
    """Return the values that runs can be filtered by."""
    runs = grant.runs()
    return answer(FACETS.get(runs.view, lambda: facets(runs), lasts=a_while))


@router.get("/baseline", response_model=RunStandings, responses=refused(400), **access(Access.READER))
def runs_against_baseline(
    grant: Granted,
    run: Annotated[list[str], Query(min_length=1, max_length=100, description="IDs of runs.")],
    baseline: Annotated[
        list[str], Query(max_length=20, description="IDs of baselines, one for each benchmark where one is chosen.")
    ] = [],  # noqa: B006 - FastAPI copies it
) -> Response:
    """Compare runs with the baseline of their benchmark, and with its built-in agents.

    Without a chosen one, the baseline is the best of these runs with a score over at least 30 tasks.
    """
    return answer(run_standings(grant.runs(), run, baseline))


@router.get("/{run_id}", response_model=RunDetail, responses=TAGGED, **access(Access.READER))
def get_run(run_id: str, request: Request, grant: Granted) -> Response:
    """Return one run, by its id or a unique prefix of it."""
    run = grant.run(run_id)
    return document_of_run(request, run, "detail", lambda: read_run(run), alone=True)


@router.get("/{run_id}/episodes", response_model=EpisodePage, responses=refused(400), **access(Access.READER))
def list_episodes(run_id: str, query: Annotated[EpisodePageQuery, Query()], grant: Granted) -> Response:
    """Return a page of the episodes of a run."""
    run = grant.run(run_id)
    if run.record.status not in GOING:
        return answer(episode_page(run, query))
    return shared_answer(run, f"episodes {query!r}", lambda: episode_page(run, query))


@router.get("/{run_id}/series", response_model=RunSeriesDocument, responses=TAGGED, **access(Access.READER))
def get_series(
    run_id: str,
    request: Request,
    grant: Granted,
    curves: Annotated[bool, Query(description="Compute `cumulative` and `contrasts` too, which takes longer.")] = False,
) -> Response:
    """Return the data of a run's charts."""
    run = grant.run(run_id)
    return document_of_run(request, run, f"series {curves}", lambda: read_series(run, curves=curves))


@router.get("/{run_id}/results", response_model=RunResultsDocument, responses=TAGGED, **access(Access.READER))
def get_results(run_id: str, request: Request, grant: Granted) -> Response:
    """Return the results of a run by sample. Those of a long run in progress may be some seconds old."""
    run = grant.run(run_id)
    return document_of_run(request, run, "results", lambda: read_results(run))


@router.get("/{run_id}/slices", response_model=RunSlices, responses=TAGGED, **access(Access.READER))
def get_slices(
    run_id: str,
    by: Annotated[str, Query(min_length=1, max_length=200, description="Name of a label, or `trial`.")],
    request: Request,
    grant: Granted,
) -> Response:
    """Return the results of a run for each value of a label, or for each trial, counted from 1."""
    run = grant.run(run_id)
    found = read_slices(run, by)
    return answer(found) if run.record.status in GOING else settled(request, found)


@router.get(
    "/{run_id}/wrong-answers", response_model=WrongAnswersDocument, responses=refused(400, 403), **access(Access.HOLDER)
)
def get_wrong_answers(
    run_id: str,
    grant: Granted,
    by: Annotated[
        str,
        Query(
            min_length=1,
            max_length=200,
            description="`mistake`, `behaviour`, `why`, `answer`, `cause` (of a failure), `trial`, or `label:NAME`.",
        ),
    ] = "mistake",
    against: Annotated[str, Query(max_length=200, description="A run to compare the shares with.")] = "",
) -> Response:
    """Return the wrong answers of a run, grouped; the agent's own failures are among them."""
    run = grant.run(run_id)
    return answer(read_wrong_answers(run, by, grant.run(against) if against else None))


def document_of_run(
    request: Request, run: VisibleRun, name: str, make: Callable[[], Document], *, alone: bool = False
) -> Response:
    """Return a document of a run: with an ETag if the run has ended, otherwise as `shared_answer` does."""
    if run.record.status in GOING:
        return shared_answer(run, name, make, alone=alone)
    return settled(request, make())


def shared_answer(run: VisibleRun, name: str, make: Callable[[], Document], *, alone: bool = False) -> Response:
    """Return a document of a run in progress.

    On a server, callers with the same view of the run share the document `name` for a moment, since hundreds may
    request it; with `alone` each caller gets their own.
    """
    if run.stored_in is not None:
        return answer(make())
    now = run.record
    requested = run.request and run.request.state
    state = (requested, now.status, now.counts, now.usage, now.tags, now.name, now.started_at, now.warnings, now.error)
    view = run.own_view if alone else run.view

    def made() -> bytes:
        document = make()
        return document.__pydantic_serializer__.to_json(document)

    return raw(_shared.get((view, name, repr(state)), made, lasts=lambda _cost: MOMENT_S))
