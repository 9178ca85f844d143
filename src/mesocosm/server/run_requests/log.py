"""What the platform has to say about a run to those whose it is."""

from mesocosm.core.run import Run
from mesocosm.server.run_requests.view import TERMINAL, public_status
from mesocosm.server.schemas.document import discreet, moment
from mesocosm.server.schemas.run_request import RunLog, RunLogLine
from mesocosm.store.run_requests import RunRequest


def run_log(order: RunRequest, run: Run) -> RunLog:
    """Return the course of a run, its warnings, and why it ended badly, oldest first."""
    where = f"environment {order.environment_id} version {order.environment_version}" if order.environment_id else ""
    lines = [
        RunLogLine(
            kind="state",
            at=moment(order.created_at),
            text=f"asked for by {order.actor_name or order.actor}: domain {order.domain_id}, vow {order.vow_version}"
            + (f", {where}" if where else ""),
        )
    ]
    if run.started_at is not None:
        again = f", in session {order.tries}" if order.tries > 1 else ""
        lines.append(RunLogLine(kind="state", at=moment(run.started_at), text=f"a worker began to play{again}"))
    elif order.state == "queued":
        lines.append(RunLogLine(kind="state", at=None, text="waits for a worker"))
    lines += [RunLogLine(kind="warning", at=None, text=discreet(text)) for text in run.warnings]
    for text in dict.fromkeys(text for text in (run.error, order.reason) if text):
        lines.append(RunLogLine(kind="error", at=moment(run.ended_at or order.ended_at), text=discreet(text)))
    status = public_status(order, run)
    if status in TERMINAL:
        done = f"{status}: {run.counts.done} of {run.counts.planned} episodes are finished"
        lines.append(RunLogLine(kind="state", at=moment(run.ended_at or order.ended_at), text=done))
    return RunLog(run_id=run.id, lines=lines)
