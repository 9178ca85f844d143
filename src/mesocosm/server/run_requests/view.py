"""Statuses and scores of requested runs, for usage summaries and batch runs."""

from mesocosm.compat.swecc.documents import RunStatus, status_of
from mesocosm.core.run import Run
from mesocosm.store.run_requests import RunRequest


def public_status(request: RunRequest, run: Run) -> RunStatus:
    """Return the status of a run in the older terms."""
    return status_of(run.status, request.state, owed=bool(run.counts.pending), started=run.started_at is not None)


def scores_of(run: Run) -> dict[str, float]:
    """Return the values of a run's metrics by name, without missing ones."""
    return {metric.name: metric.value for metric in run.metrics if metric.value is not None}
