"""`/api/runs/{id}/results` and `/slices`: what a run came to, and by which of its facts."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from mesocosm.engine.results import results
from mesocosm.engine.slices import slices
from mesocosm.server.cache import Cache
from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.routes.runs import ENDED
from mesocosm.server.runs.figures import figures_of, kept
from mesocosm.server.runs.glance import moving
from mesocosm.server.runs.reader import RunReader
from mesocosm.server.schemas.results import RunResultsDocument, RunSlices, results_document, slices_document
from mesocosm.server.web.answer import TAGGED, answer, settled

router = APIRouter(prefix="/runs", tags=["results"])

_results = Cache[RunResultsDocument](200)
_slices = Cache[RunSlices](200)


@router.get("/{run_id}/results", response_model=RunResultsDocument, responses=TAGGED)
def get_results(run_id: str, request: Request, grant: Granted) -> Response:
    """Return what the samples of a run came to; those of a long run that goes on may be some seconds old."""
    run = grant.run(run_id)
    if run.record.status in ENDED:
        return settled(request, read_results(run))
    return moving(run, "results", lambda: read_results(run))


@router.get("/{run_id}/slices", response_model=RunSlices, responses=TAGGED)
def get_slices(
    run_id: str,
    by: Annotated[str, Query(min_length=1, max_length=200, description="the name of a label")],
    request: Request,
    grant: Granted,
) -> Response:
    """Return the results of a run for each value of a label."""
    run = grant.run(run_id)
    found = read_slices(run, by)
    return settled(request, found) if run.record.status in ENDED else answer(found)


def read_results(run: VisibleRun) -> RunResultsDocument:
    """Return what a run came to."""
    return kept(_results, run, partial(_read_results, run))


def read_slices(run: VisibleRun, by: str) -> RunSlices:
    """Return a run's results by the label `by`."""
    return kept(_slices, run, lambda: slices_document(slices(run.record, RunReader(run), by)), by)


def _read_results(run: VisibleRun) -> RunResultsDocument:
    return results_document(results(run.record, RunReader(run), figures_of(run).metrics))
