"""`/v1/runs/{id}/results` and `/slices`: what a run came to, and by which of its facts."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from mesocosm.core.run import Run, RunStatus
from mesocosm.engine.results import results
from mesocosm.engine.slices import slices
from mesocosm.server.place import Results
from mesocosm.server.routes.runs import ENDED, figures_of
from mesocosm.server.runs.figures import Book
from mesocosm.server.runs.glance import moving
from mesocosm.server.schemas.document import Document
from mesocosm.server.schemas.results import RunResults, RunSlices, results_document, slices_document
from mesocosm.server.web.answer import TAGGED, answer, settled
from mesocosm.store import SqlStore

router = APIRouter(prefix="/runs", tags=["results"])

_results = Book[RunResults]()
_slices = Book[RunSlices]()


@router.get("/{run_id}/results", response_model=RunResults, responses=TAGGED)
def get_results(run_id: str, request: Request, store: Results) -> Response:
    """Return what the samples of a run came to; those of a long run that goes on may be some seconds old."""
    run = store.get_run(run_id)
    if run.status in ENDED:
        return settled(request, read_results(store, run))
    return moving(store, run, "results", lambda: read_results(store, run))


@router.get("/{run_id}/slices", response_model=RunSlices, responses=TAGGED)
def get_slices(
    run_id: str,
    by: Annotated[str, Query(min_length=1, max_length=200, description="the name of a label")],
    request: Request,
    store: Results,
) -> Response:
    """Return the results of a run for each value of a label."""
    run = store.get_run(run_id)
    return _answer(request, run.status, read_slices(store, run, by))


def read_results(store: SqlStore, run: Run) -> RunResults:
    """Return what a run came to."""
    return _results.of(store, run, partial(_read_results, store, run))


def read_slices(store: SqlStore, run: Run, by: str) -> RunSlices:
    """Return a run's results by the label `by`."""
    return _slices.of(store, run, lambda: slices_document(slices(run, store, by)), by)


def _read_results(store: SqlStore, run: Run) -> RunResults:
    return results_document(results(run, store, figures_of(store, run).metrics))


def _answer(request: Request, status: RunStatus, document: Document) -> Response:
    return settled(request, document) if status in ENDED else answer(document)
