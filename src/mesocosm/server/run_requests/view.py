"""Statuses and scores of requested runs, as usage summaries and batch runs report them."""

from mesocosm.compat.swecc import documents
from mesocosm.core.run import Run, RunStatus
from mesocosm.store.run_requests import RunRequest

_OVER = {
    RunStatus.FINISHED: documents.RunStatus.COMPLETED,
    RunStatus.PARTIAL: documents.RunStatus.PARTIAL,
    RunStatus.FAILED: documents.RunStatus.FAILED,
}
TERMINAL = frozenset(set(documents.RunStatus) - {documents.RunStatus.PENDING, documents.RunStatus.RUNNING})
"""States in which a run stays unless it is resumed."""


def public_status(order: RunRequest, run: Run) -> documents.RunStatus:
    """Return where a run stands, in the words of the platform.

    What was stopped and is still to be played is pending or running: another worker goes on with it. What is over for
    its worker only in a moment is running until then, so that what reads completed can be deleted or resumed.
    """
    if run.status is RunStatus.FINISHED and not run.counts.pending and not order.open:
        return documents.RunStatus.COMPLETED
    if order.state == "cancelled":
        return documents.RunStatus.CANCELLED
    if order.state == "ended":
        # A run that stopped by itself, at a budget, came to no proper end either.
        return _OVER.get(run.status, documents.RunStatus.FAILED)
    return documents.RunStatus.PENDING if run.started_at is None else documents.RunStatus.RUNNING


def scores_of(run: Run) -> dict[str, float]:
    """Return the numbers of a run by metric; those that do not exist are left out."""
    return {metric.name: metric.value for metric in run.metrics if metric.value is not None}
