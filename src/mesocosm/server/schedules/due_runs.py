"""Submit the runs that schedules owe: as the member a schedule belongs to, once, and later if there is no room now."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfoNotFoundError

from mesocosm.core.failure import InfrastructureError, MesocosmError
from mesocosm.core.redact import Redactor
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.auth.redaction import without_places
from mesocosm.server.evaluations.submission import submit_evaluation
from mesocosm.server.notifications.announcements import messages_for
from mesocosm.server.notifications.messages import schedule_message
from mesocosm.server.refusal import Refusal
from mesocosm.server.schedules.submitter import submitter
from mesocosm.server.schedules.times import next_time
from mesocosm.server.schemas.run_request import RolloutInput
from mesocosm.server.service import Service
from mesocosm.store.notifications import Delivery
from mesocosm.store.run_requests import RunRequest
from mesocosm.store.schedules import Schedule, ScheduledRun
from mesocosm.store.workspaces import Workspace

LEASE_S = 300.0
"""Seconds that a submission may take. The leases of a worker that dies end at once."""
FIRST_RETRY_S, LAST_RETRY_S = 30.0, 900.0
"""Least and most seconds until a run is tried again that a queue, a quota or a budget had no room for."""
_BATCH = 10
_NO_ROOM, _TAKEN = 429, 409


def submit_due(service: Service, worker_id: str) -> int:
    """Submit runs of schedules whose time has come, and of synced commits; return how many were dealt with.

    Safe to call in several workers at once. Raises InfrastructureError if the store cannot be reached.
    """
    for schedule in service.store.schedules.due():
        _advance(service, schedule)
    for count in range(_BATCH):
        claimed = service.store.scheduled_runs.claim(worker_id, LEASE_S)
        if claimed is None:
            return count
        _submit(service, *claimed)
    return _BATCH


def _advance(service: Service, schedule: Schedule) -> None:
    try:
        coming = next_time(schedule.cron, schedule.timezone, max(time.time(), schedule.next_at or 0.0))
    except ZoneInfoNotFoundError:
        # Another version of the time zones.
        service.store.schedules.pause(schedule.id, f"paused: this server has no time zone {schedule.timezone} any more")
        return
    service.store.schedules.advance(schedule, coming)


def _submit(service: Service, owed: ScheduledRun, schedule: Schedule) -> None:
    store = service.store
    found = store.workspaces.membership(schedule.workspace_id, None)
    if found is None or not schedule.enabled:
        store.scheduled_runs.refused(owed, "the schedule was paused")
        return
    workspace = found.workspace
    try:
        viewer = submitter(service, workspace, schedule.created_by)
    except Refusal as refusal:
        fault = f"paused: {refusal.detail}; who resumes it becomes its owner"
        store.schedules.pause(schedule.id, fault, _messages(service, workspace, schedule, fault, paused=True))
        return
    try:
        request = _submitted(service, viewer, workspace, schedule, owed)
    except InfrastructureError as error:
        store.scheduled_runs.retry(owed, _clean(service, error), LAST_RETRY_S)
    except MesocosmError as error:
        fault = _clean(service, error)
        if isinstance(error, Refusal) and error.status == _NO_ROOM:
            store.scheduled_runs.retry(owed, fault, _wait(error))
        else:
            store.scheduled_runs.refused(owed, fault, _messages(service, workspace, schedule, fault, paused=False))
    else:
        store.scheduled_runs.submitted(owed, request.run_id)


def _submitted(
    service: Service, viewer: Viewer, workspace: Workspace, schedule: Schedule, owed: ScheduledRun
) -> RunRequest:
    """Submit a run and return its request. Raises Refusal, InvalidInput."""
    commit = owed.commit_id or _newest_commit(service, workspace, schedule)
    if not service.store.scheduled_runs.choose(owed, commit):
        raise InfrastructureError(f"another worker has taken over a run of the schedule {schedule.name!r}")
    stamp = datetime.fromtimestamp(owed.due_at, UTC).strftime("%Y%m%dT%H%M%SZ")
    wanted = scheduled_input(workspace, schedule.configuration, commit, schedule.overrides, f"{schedule.name}-{stamp}")
    try:
        return submit_evaluation(service, viewer, workspace, wanted, run_id=owed.id)
    except Refusal as refusal:
        if refusal.status != _TAKEN or "run_id" not in refusal.more:
            raise
        # A person has given this name to another run.
        other = wanted.model_copy(update={"name": f"{wanted.name}-{owed.id[-8:]}"})
        return submit_evaluation(service, viewer, workspace, other, run_id=owed.id)


def scheduled_input(
    workspace: Workspace, configuration: str, commit: str, overrides: Mapping[str, Any], name: str
) -> RolloutInput:
    """Return what a schedule asks for at a commit."""
    model = overrides.get("model")
    return RolloutInput(
        kind="rollout",
        workspace=workspace.id,
        configuration=configuration,
        commit=commit,
        name=name,
        limit=overrides.get("limit"),
        tags=overrides.get("tags", []),
        assignments={} if model is None else {"experiment.model_path": model},
    )


def _newest_commit(service: Service, workspace: Workspace, schedule: Schedule) -> str:
    repository = service.store.repositories.of(workspace.id)
    if repository is None:
        raise Refusal(409, f"the workspace {workspace.name!r} has no repository any more; connect one")
    branch = schedule.branch or repository.branch
    newest = service.store.syncs.newest(repository.id, branch)
    if newest is None:
        raise Refusal(409, f"the branch {branch!r} of {repository.identity} was never synced; sync it")
    return newest.commit_id


def _wait(refusal: Refusal) -> float:
    try:
        asked = float(refusal.headers.get("Retry-After", LAST_RETRY_S))
    except ValueError:
        asked = LAST_RETRY_S
    return min(max(asked, FIRST_RETRY_S), LAST_RETRY_S)


def _messages(
    service: Service, workspace: Workspace, schedule: Schedule, fault: str, *, paused: bool
) -> list[Delivery]:
    message = schedule_message(workspace, schedule, fault, paused=paused)
    return messages_for(service, workspace.id, "schedule", message)


def _clean(service: Service, error: MesocosmError) -> str:
    return Redactor().text(without_places(str(error), [service.settings.data_dir]))
