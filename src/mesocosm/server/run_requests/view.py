"""Runs as the platform shows them: what was asked for, where it stands, what came of it."""

from typing import Any

import msgspec

from mesocosm.compat.swecc import documents
from mesocosm.core.run import Run, RunStatus
from mesocosm.core.score import MetricResult
from mesocosm.server.auth.redaction import redact_config
from mesocosm.server.runs.documents import worked_s
from mesocosm.server.schemas.document import moment
from mesocosm.store.run_requests import RunRequest

_OVER = {
    RunStatus.FINISHED: documents.RunStatus.COMPLETED,
    RunStatus.PARTIAL: documents.RunStatus.PARTIAL,
    RunStatus.FAILED: documents.RunStatus.FAILED,
}
TERMINAL = frozenset(set(documents.RunStatus) - {documents.RunStatus.PENDING, documents.RunStatus.RUNNING})
"""States in which a run stays unless somebody resumes it."""


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


def requester(order: RunRequest) -> str:
    """Return who asked for a run as documents name them: the user's id as text, `guest:ID`, or a word."""
    kind, _, name = order.actor.partition(":")
    return order.actor if kind == "guest" else name


def scores_of(run: Run) -> dict[str, float]:
    """Return the numbers of a run by metric; those that do not exist are left out."""
    return {metric.name: metric.value for metric in run.metrics if metric.value is not None}


def run_fields(order: RunRequest, run: Run, *, inside: bool) -> dict[str, Any]:
    """Return the fields of a run's document. Who is outside sees neither prompts nor the owner's messages."""
    status = public_status(order, run)
    ended = run.ended_at or order.ended_at
    return {
        "id": run.id,
        "config": order.config if inside else redact_config(order.config),
        "requester_id": requester(order) if inside else None,
        "status": status,
        "created_at": moment(order.created_at),
        "completed_at": moment(ended) if status in TERMINAL else None,
        "scores": scores_of(run),
        "team_id": order.team_id,
        "env_id": order.environment_id,
        "env_version": order.environment_version,
        "visibility": order.visibility,
        "purpose": order.purpose,
        "protocol": order.protocol,
        "name": run.name,
        "tags": list(run.tags),
        "started_at": moment(run.started_at),
        "expires_at": moment(order.expires_at),
        "planned": run.counts.planned,
        "finished": run.counts.done,
        "failed": run.counts.failed,
        "duration_s": worked_s(run),
        "cost_usd": run.usage.cost_usd,
        "metrics": [metric_document(metric) for metric in run.metrics],
        "error": (run.error or order.reason) if inside and status is not documents.RunStatus.COMPLETED else "",
        "stopped": status is documents.RunStatus.FAILED and run.status is RunStatus.STOPPED,
        "warnings": list(run.warnings) if inside else [],
        "redacted": not inside,
    }


def run_document(order: RunRequest, run: Run, *, inside: bool) -> documents.Run:
    """Return a run's document."""
    return documents.Run.model_validate(run_fields(order, run, inside=inside))


def metric_document(metric: MetricResult) -> documents.Metric:
    """Return a number of a run with its interval and denominators."""
    return documents.Metric.model_validate(msgspec.to_builtins(metric))
