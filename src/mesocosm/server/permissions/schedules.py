"""Schedules of a workspace. Members make them and change their own, admins change all.

Runs are submitted as the member that a schedule belongs to, with their secrets and budget. So who changes what a
schedule runs becomes that member.
"""

import time
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Literal, Self

from sqlalchemy.exc import IntegrityError

from mesocosm.core.run import Run
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.evaluations.submission import check_secrets, plan_evaluation
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests.submission import checked_tags
from mesocosm.server.schedules.due_runs import scheduled_input
from mesocosm.server.schedules.submitter import submitter
from mesocosm.server.schedules.times import cron_fault, next_time, next_times, timezone_fault
from mesocosm.server.schemas.document import instant, moment
from mesocosm.server.schemas.run_request import RolloutInput
from mesocosm.server.schemas.schedule import (
    ScheduleChange,
    ScheduleDetail,
    ScheduleDocument,
    ScheduledRunDocument,
    ScheduleInput,
    ScheduleOverrides,
    ScheduleTimes,
)
from mesocosm.server.service import Service
from mesocosm.store.run_requests import RunRequest
from mesocosm.store.schedules import Schedule, ScheduledRun, is_name_taken
from mesocosm.store.workspaces import Workspace

MOST = 100
"""Maximum number of schedules of a workspace."""
Changes = Literal["none", "own", "all"]
"""Whose schedules a caller may change."""

_NEXT = 5
_LAST = 10
_NO_ROOM = 429


class VisibleSchedules(GrantedObject):
    """The schedules of a workspace that the caller is a member of."""

    def __init__(self, service: Service, viewer: Viewer, workspace: Workspace, *, changes: Changes) -> None:
        super().__init__(service, viewer)
        self._workspace = workspace
        self._changes = changes

    def list(self) -> Sequence[ScheduleDocument]:
        """Return the schedules by name."""
        rows = self._store.schedules.list(self._workspace.id)
        return _documents(self._service, self._viewer, rows, changes=self._changes)

    def times(self, cron: str, timezone: str) -> ScheduleTimes:
        """Return the next times of a cron expression. Raises Refusal 422."""
        _check_times(cron, timezone)
        return ScheduleTimes(times=[instant(at) for at in islice(next_times(cron, timezone, time.time()), _NEXT)])


class WorkingSchedules(VisibleSchedules):
    """The schedules of a workspace in which the caller may submit."""

    def add(self, given: ScheduleInput) -> ScheduleDetail:
        """Create a schedule whose runs are the caller's.

        Raises Refusal: 409 without a synced commit, for a name that is taken, and if there are too many; 422 for a
        configuration that the commit does not have, for times that are none, and, like InvalidInput, for a run that
        would be refused if it were submitted now.
        """
        wanted = Schedule(
            id="",
            workspace_id=self._workspace.id,
            created_by=self._viewer.account_id,
            **_checked(self._service, self._viewer, self._workspace, given),
        )
        try:
            made = self._store.schedules.add(wanted, MOST)
        except IntegrityError as error:
            raise _conflict(error, given.name, self._workspace) from None
        if made is None:
            raise Refusal(409, f"the workspace has {MOST} schedules already, the most there may be; remove one first")
        detail: dict[str, object] = {
            "name": made.name,
            "configuration": made.configuration,
            "trigger": made.trigger,
            "cron": made.cron,
        }
        _note(self._service, self._viewer, self._workspace, "create", detail)
        return WorkingSchedule(self._service, self._viewer, self._workspace, made, changes=self._changes).detail()


class VisibleSchedule(GrantedObject):
    """A schedule of a workspace that the caller is a member of."""

    def __init__(
        self, service: Service, viewer: Viewer, workspace: Workspace, schedule: Schedule, *, changes: Changes
    ) -> None:
        super().__init__(service, viewer)
        self._workspace = workspace
        self._schedule = schedule
        self._changes = changes

    @classmethod
    def find(cls, service: Service, viewer: Viewer, workspace: Workspace, reference: str, *, changes: Changes) -> Self:
        """Return a schedule by its id or name. Raises Refusal 404."""
        found = service.store.schedules.get(workspace.id, reference)
        if found is None:
            raise Refusal(404, f"the workspace {workspace.name!r} has no schedule {reference[:200]!r}; list them")
        return cls(service, viewer, workspace, found, changes=changes)

    def detail(self) -> ScheduleDetail:
        """Return the schedule with its next times and its last runs."""
        one = self._schedule
        owed = self._store.scheduled_runs.list(one.id, limit=_LAST)
        coming = () if one.next_at is None else next_times(one.cron, one.timezone, time.time())
        (document,) = _documents(self._service, self._viewer, [one], changes=self._changes)
        return ScheduleDetail(
            schedule=document,
            next_times=[instant(at) for at in islice(coming, _NEXT)],
            runs=_scheduled(self._service, owed),
        )


class WorkingSchedule(VisibleSchedule):
    """A schedule of a workspace in which the caller may submit. Members change their own, admins all."""

    def change(self, given: ScheduleChange) -> ScheduleDetail:
        """Change, pause or resume it.

        Its runs become the caller's if more than its name is changed, or if it is resumed and its owner has left.
        Raises Refusal: 403 for one of somebody else, 409 and 422 as when it is created; InvalidInput.
        """
        self._check_own()
        before = self._schedule
        changed = {name: getattr(given, name) for name in given.model_fields_set - {"enabled"}}
        changed = {name: value for name, value in changed.items() if value is not None}
        wanted = ScheduleInput.model_validate({**_input_of(before).model_dump(), **changed})
        if wanted.trigger == "sync" and "cron" not in changed:
            wanted = wanted.model_copy(update={"cron": ""})
        values: dict[str, Any] = {"name": wanted.name} if changed else {}
        if changed.keys() - {"name"}:
            values = _checked(self._service, self._viewer, self._workspace, wanted)
            values |= {"created_by": self._viewer.account_id, "last_fault": ""}
        if given.enabled and not before.enabled:
            values |= {"enabled": True, "next_at": _next_at(wanted), "last_fault": ""}
            if not self._may_submit():
                values.setdefault("created_by", self._viewer.account_id)
        elif given.enabled is False or not before.enabled:
            values.pop("next_at", None)
        self._store_changed(values, wanted.name, pause=given.enabled is False)
        self._schedule = self._again()
        return self.detail()

    def delete(self) -> None:
        """Delete it; its runs stay. Raises Refusal 403 for one of somebody else."""
        self._check_own()
        if self._store.schedules.delete(self._schedule.id):
            _note(self._service, self._viewer, self._workspace, "delete", {"name": self._schedule.name})

    def _store_changed(self, values: dict[str, Any], name: str, *, pause: bool) -> None:
        try:
            if values:
                self._store.schedules.change(self._schedule.id, **values)
        except IntegrityError as error:
            raise _conflict(error, name, self._workspace) from None
        if pause:
            self._store.schedules.pause(self._schedule.id)
        if values or pause:
            detail = {key: value for key, value in values.items() if key not in ("next_at", "last_fault")}
            action = "pause" if pause and not values else "change"
            _note(self._service, self._viewer, self._workspace, action, {"schedule": self._schedule.name, **detail})

    def _again(self) -> Schedule:
        found = self._store.schedules.get(self._workspace.id, self._schedule.id)
        if found is None:
            raise Refusal(404, f"the schedule {self._schedule.name!r} was removed")
        return found

    def _check_own(self) -> None:
        if not _may_change(self._viewer, self._schedule, self._changes):
            raise Refusal(
                403,
                f"the schedule {self._schedule.name!r} is somebody else's; ask them, or an admin of the workspace",
            )

    def _may_submit(self) -> bool:
        try:
            submitter(self._service, self._workspace, self._schedule.created_by)
        except Refusal:
            return False
        return True


def _checked(service: Service, viewer: Viewer, workspace: Workspace, given: ScheduleInput) -> dict[str, Any]:
    """Return the fields of a schedule. Raises Refusal for what cannot run."""
    if given.trigger == "cron":
        _check_times(given.cron, given.timezone)
    elif given.cron:
        raise Refusal(422, "a schedule runs at times or after syncs, not both; leave `cron` out, or make two schedules")
    overrides = given.overrides
    if overrides.model is not None:
        service.catalogue.resolve(overrides.model, viewer.caller, workspace)
    tags = checked_tags(overrides.tags)
    given_overrides = {"limit": overrides.limit, "model": overrides.model, "tags": tags or None}
    replaced = {name: value for name, value in given_overrides.items() if value is not None}
    configuration, commit = _configuration(service, workspace, given)
    _check_run(service, viewer, workspace, scheduled_input(workspace, configuration, commit, replaced, given.name))
    return {
        "name": given.name,
        "configuration": configuration,
        "branch": given.branch.strip(),
        "overrides": replaced,
        "trigger": given.trigger,
        "cron": given.cron.strip(),
        "timezone": given.timezone if given.trigger == "cron" else "UTC",
        "next_at": _next_at(given),
    }


def _check_run(service: Service, viewer: Viewer, workspace: Workspace, wanted: RolloutInput) -> None:
    """Raise Refusal or InvalidInput if the run would be refused if it were submitted now, but for a lack of room."""
    try:
        planned = plan_evaluation(service, viewer, workspace, wanted)
    except Refusal as refusal:
        if refusal.status == _NO_ROOM:  # There may be some by then.
            return
        raise
    check_secrets(planned)


def _configuration(service: Service, workspace: Workspace, given: ScheduleInput) -> tuple[str, str]:
    """Return the path of a configuration, and the newest synced commit of the branch, which has it.

    Raises Refusal 409, 422.
    """
    repository = service.store.repositories.of(workspace.id)
    if repository is None:
        raise Refusal(
            409,
            f"the workspace {workspace.name!r} has no repository, and schedules run what is synced; connect one with "
            "`mesocosm workspace connect`",
        )
    branch = given.branch.strip() or repository.branch
    newest = service.store.syncs.newest(repository.id, branch)
    if newest is None:
        what = f"the branch {branch!r} of {repository.identity}" if branch else repository.identity
        raise Refusal(409, f"{what} was never synced; sync it with `mesocosm workspace sync` first")
    path = given.configuration.strip().removeprefix("./")
    found = next((one for one in newest.configurations if one.path == path), None)
    at = f"commit {newest.commit_id[:12]} of {newest.branch}"
    if found is None:
        there = ", ".join(one.path for one in newest.configurations[:10]) or "none"
        raise Refusal(422, f"{at} has no configuration {path!r}; it has: {there}")
    if not found.valid:
        raise Refusal(
            422, f"{path} in {at} is invalid; `mesocosm workspace syncs {newest.number}` says what to mend in it"
        )
    return path, newest.commit_id


def _check_times(cron: str, timezone: str) -> None:
    if fault := cron_fault(cron) or timezone_fault(timezone):
        raise Refusal(422, fault)


def _next_at(given: ScheduleInput) -> float | None:
    return next_time(given.cron, given.timezone, time.time()) if given.trigger == "cron" else None


def _input_of(schedule: Schedule) -> ScheduleInput:
    return ScheduleInput(
        name=schedule.name,
        configuration=schedule.configuration,
        branch=schedule.branch,
        trigger=schedule.trigger,
        cron=schedule.cron,
        timezone=schedule.timezone,
        overrides=ScheduleOverrides.model_validate(schedule.overrides),
    )


def _may_change(viewer: Viewer, schedule: Schedule, changes: Changes) -> bool:
    own = schedule.created_by is not None and schedule.created_by == viewer.caller.user_id
    return changes == "all" or (changes == "own" and own)


def _conflict(error: IntegrityError, name: str, workspace: Workspace) -> Refusal:
    if is_name_taken(error):
        return Refusal(409, f"the workspace {workspace.name!r} has a schedule {name!r} already; choose another name")
    return Refusal(404, f"the workspace {workspace.name!r} was deleted, or your account is gone")


def _note(service: Service, viewer: Viewer, workspace: Workspace, action: str, detail: dict[str, object]) -> None:
    service.store.audit.note(viewer.caller.actor, f"schedule.{action}", f"workspace:{workspace.id}", detail)


def _documents(
    service: Service, viewer: Viewer, rows: Sequence[Schedule], *, changes: Changes
) -> list[ScheduleDocument]:
    owners = {row.created_by for row in rows}
    names = {user_id: service.store.users.get(user_id) for user_id in owners if user_id is not None}
    last = {row.id: service.store.scheduled_runs.list(row.id, limit=1) for row in rows}
    owed = [one for found in last.values() for one in found]
    runs = dict(zip((one.id for one in owed), _scheduled(service, owed), strict=True))
    documents = []
    for row in rows:
        owner = None if row.created_by is None else names[row.created_by]
        documents.append(
            ScheduleDocument(
                id=row.id,
                name=row.name,
                configuration=row.configuration,
                branch=row.branch,
                trigger=row.trigger,
                cron=row.cron,
                timezone=row.timezone,
                overrides=ScheduleOverrides.model_validate(row.overrides),
                enabled=row.enabled,
                fault=row.last_fault,
                owner=None if owner is None else owner.username,
                owned=_may_change(viewer, row, changes),
                created_at=instant(row.created_at),
                next_at=moment(row.next_at),
                last=next((runs[one.id] for one in last[row.id]), None),
            )
        )
    return documents


def _scheduled(service: Service, owed: Sequence[ScheduledRun]) -> list[ScheduledRunDocument]:
    run_ids = [one.run_id for one in owed if one.run_id is not None]
    runs, requests = service.store.run_requests.runs(run_ids), service.store.run_requests.of(run_ids)
    return [_scheduled_run(one, runs, requests) for one in owed]


def _scheduled_run(
    owed: ScheduledRun, runs: Mapping[str, Run], requests: Mapping[str, RunRequest]
) -> ScheduledRunDocument:
    run, request = runs.get(owed.run_id or ""), requests.get(owed.run_id or "")
    score = None if run is None else run.primary
    return ScheduledRunDocument(
        due_at=instant(owed.due_at),
        status=owed.state.value,
        fault=owed.fault,
        commit=owed.commit_id,
        run_id=owed.run_id,
        run_name="" if request is None else request.name,
        run_status="" if run is None else run.status.value,
        score=None if score is None else score.value,
        score_low=None if score is None else score.low,
        score_high=None if score is None else score.high,
        score_weak=score is not None and score.weak,
    )
