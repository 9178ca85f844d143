"""What messages say, as documents and as text for Slack and what accepts its messages (Mattermost, Discord)."""

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from mesocosm.core.failure import MesocosmError
from mesocosm.core.run import Run, RunStatus
from mesocosm.core.score import MetricResult, interval_text, number_text
from mesocosm.engine.comparison.pair import Winner
from mesocosm.engine.comparison.runs import compare
from mesocosm.server.auth.redaction import Discretion
from mesocosm.server.schemas.document import discreet
from mesocosm.server.schemas.notification import (
    EndStatus,
    MessageComparison,
    MessageFormat,
    MessageScore,
    MessageVerdict,
    NotificationEvent,
    NotificationMessage,
    NotificationTestData,
    RunMessageData,
    ScheduleMessageData,
)
from mesocosm.server.service import Service
from mesocosm.store.run_requests import RunRequest
from mesocosm.store.schedules import Schedule
from mesocosm.store.workspaces import Workspace

EVENTS: Final[Mapping[RunStatus, NotificationEvent]] = {
    RunStatus.FINISHED: "finished",
    RunStatus.PARTIAL: "failed",
    RunStatus.FAILED: "failed",
    RunStatus.STOPPED: "stopped",
}
"""The event of each status in which a run ends."""

_STATUSES: Final[Mapping[RunStatus, EndStatus]] = {
    RunStatus.FINISHED: "finished",
    RunStatus.PARTIAL: "partial",
    RunStatus.FAILED: "failed",
    RunStatus.STOPPED: "stopped",
}
_VERDICTS: Final[Mapping[Winner, MessageVerdict]] = {"a": "worse", "b": "better", "tie": "tie"}
_MOST_COMPARED = 100_000
"""Episodes of a run above which no message compares it: reading them all would keep the worker busy."""
_LONGEST_ERROR = 500


def run_message(service: Service, workspace: Workspace, request: RunRequest, run: Run) -> NotificationMessage:
    """Return the message about the end of a run. Raises InfrastructureError."""
    base, schedule = service.settings.public_url.rstrip("/"), service.store.scheduled_runs.schedule_of(run.id)
    data = RunMessageData(
        run_id=run.id,
        name=request.name or run.name or run.id,
        status=_STATUSES[run.status],
        link=f"{base}/runs/{run.id}" if base else None,
        workspace=workspace.name,
        configuration=request.configuration,
        schedule="" if schedule is None else schedule.name,
        model=request.model,
        branch=request.branch,
        commit=request.commit_id,
        started_by=request.actor_name,
        error="" if run.status is RunStatus.FINISHED else _error(service, request, run)[:_LONGEST_ERROR],
        score=None if run.primary is None else _score(run.primary),
        compared=_compared(service, request, run),
        cost_usd=run.usage.cost_usd,
    )
    return _message(f"run.{EVENTS[run.status]}", run.ended_at or request.ended_at, data)


def _error(service: Service, request: RunRequest, run: Run) -> str:
    """Return why a run did not finish, without paths and addresses of the server: messages leave it."""
    said = discreet(run.error or request.reason)
    return Discretion(run, [service.settings.data_dir])(said.encode()).decode()


def schedule_message(workspace: Workspace, schedule: Schedule, fault: str, *, paused: bool) -> NotificationMessage:
    """Return the message about a scheduled run that was refused."""
    data = ScheduleMessageData(
        schedule=schedule.name,
        workspace=workspace.name,
        configuration=schedule.configuration,
        fault=fault,
        paused=paused,
    )
    return _message("schedule.refused", None, data)


def trial_message(workspace: Workspace, notification: str) -> NotificationMessage:
    """Return the message that tries a notification."""
    return _message("test", None, NotificationTestData(notification=notification, workspace=workspace.name))


def body_of(message: NotificationMessage, form: MessageFormat) -> str:
    """Return the body of a message as JSON."""
    if form == "slack":
        return json.dumps({"text": slack_text(message)}, ensure_ascii=False)
    return message.model_dump_json()


def slack_text(message: NotificationMessage) -> str:
    """Return a message as lines of text in which nothing has a meaning of its own: no mention, no link but ours."""
    data = message.data
    if isinstance(data, NotificationTestData):
        return _inert(f"Test of the notification {data.notification} of the workspace {data.workspace}.")
    if isinstance(data, ScheduleMessageData):
        after = "It is paused until somebody resumes it." if data.paused else "It stays enabled."
        lines = [f"Schedule {data.schedule} ({data.configuration}) could not start a run in {data.workspace}."]
        return _inert("\n".join([*lines, data.fault, after]))
    lines = [f"{data.name} {'is partial' if data.status == 'partial' else data.status}{_told(data.score)}"]
    if data.compared is not None:
        lines.append(_told_change(data.compared))
    if data.error:
        lines.append(data.error)
    lines.append(" · ".join(filter(None, (data.workspace, data.configuration, data.model, data.commit[:12]))))
    return _inert("\n".join(lines)) + (f"\n{data.link}" if data.link else "")


def _message(
    kind: str, at: float | None, data: RunMessageData | ScheduleMessageData | NotificationTestData
) -> NotificationMessage:
    when = datetime.now(UTC) if at is None else datetime.fromtimestamp(at, UTC)
    return NotificationMessage.model_validate({"type": kind, "timestamp": when, "data": data})


def _score(found: MetricResult) -> MessageScore:
    return MessageScore(
        name=found.name,
        value=found.value,
        low=found.low,
        high=found.high,
        weak=found.weak,
        n=found.n_scored,
        planned=found.n_planned,
    )


def _compared(service: Service, request: RunRequest, run: Run) -> MessageComparison | None:
    """Compare a run that has a score with the last finished one of its configuration; None if that is not possible."""
    earlier = None if run.primary is None else service.store.run_requests.finished_before(request)
    if earlier is None or run.counts.planned > _MOST_COMPARED:
        return None
    try:
        found = compare(service.store.runs.get, service.store.episodes.score_rows, [earlier.run_id, run.id])
    except MesocosmError:
        # Without a common metric, or deleted meanwhile. The message must go out all the same.
        return None
    group = found.groups[0]
    if len(found.groups) != 1 or not group.pairs or group.metric is None:
        return None
    pair = group.pairs[0]
    delta = pair.contrast.delta
    return MessageComparison(
        run_id=earlier.run_id,
        name=earlier.name,
        metric=group.metric.name,
        delta=delta.value,
        low=delta.low if math.isfinite(delta.low) else None,
        high=delta.high if math.isfinite(delta.high) else None,
        weak=delta.weak,
        verdict=_VERDICTS[pair.winner],
        note=group.note,
    )


def _told(score: MessageScore | None) -> str:
    if score is None:
        return ""
    if score.value is None:
        return f": no {score.name}, {score.n:,} of {score.planned:,} scored"
    said = f"{number_text(score.value)} {interval_text(score.low, score.high, weak=score.weak)}".rstrip()
    return f": {score.name} {said}, {score.n:,} of {score.planned:,} scored"


def _told_change(compared: MessageComparison) -> str:
    bounds = interval_text(compared.low, compared.high, weak=compared.weak, signed=True)
    change = f"{number_text(compared.delta, signed=True)} {bounds}".rstrip()
    verdict = "could be chance" if compared.verdict == "tie" else compared.verdict
    note = f" ({compared.note})" if compared.note else ""
    return f"{change} against {compared.name or compared.run_id}: {verdict}{note}"


def _inert(text: str) -> str:
    """Return text without what Slack and others read as mentions or links."""
    return text.replace("<", "‹").replace(">", "›").replace("@", "@\u200b")
