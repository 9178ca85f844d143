"""Statuses and scores of requested runs, for usage summaries and batch runs."""

from mesocosm.compat.swecc import documents
from mesocosm.core.run import Run, RunStatus
from mesocosm.store.run_requests import RunRequest

_OVER = {
    RunStatus.FINISHED: documents.RunStatus.COMPLETED,
    RunStatus.PARTIAL: documents.RunStatus.PARTIAL,
    RunStatus.FAILED: documents.RunStatus.FAILED,
}
TERMINAL = frozenset(set(documents.RunStatus) - {documents.RunStatus.PENDING, documents.RunStatus.RUNNING})
"""Statuses that do not change unless the run is resumed."""


def public_status(request: RunRequest, run: Run) -> documents.RunStatus:
    """Return the status of a run in the older terms.

    A stopped run that is queued again is pending or running: another worker continues it. A run is not over until its
    request has ended, so that a client that reads `completed` can delete or resume it.
    """
    if run.status is RunStatus.FINISHED and not run.counts.pending and not request.open:
        return documents.RunStatus.COMPLETED
    if request.state == "cancelled":
        return documents.RunStatus.CANCELLED
    if request.state == "ended":
        # A run that stopped by itself, for example at its budget, did not end properly either.
        return _OVER.get(run.status, documents.RunStatus.FAILED)
    return documents.RunStatus.PENDING if run.started_at is None else documents.RunStatus.RUNNING


def scores_of(run: Run) -> dict[str, float]:
    """Return the values of a run's metrics by name, without missing ones."""
    return {metric.name: metric.value for metric in run.metrics if metric.value is not None}
