"""`/api/workspaces/{workspace}/schedules`: evaluation runs that a workspace submits by itself."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.routes.workspaces import WorkspaceReference
from mesocosm.server.schemas.schedule import (
    ScheduleChange,
    ScheduleDetail,
    ScheduleDocument,
    ScheduleInput,
    ScheduleTimes,
)

router = APIRouter(prefix="/api/workspaces", tags=["schedules"])

ScheduleReference = Annotated[str, Path(max_length=200, description="ID or name of the schedule.")]


@router.get("/{workspace}/schedules", response_model=list[ScheduleDocument], **access(Access.INSIDER))
def list_schedules(workspace: WorkspaceReference, grant: Granted) -> Sequence[ScheduleDocument]:
    """List the schedules of a workspace by name, each with the run that was due last."""
    return grant.workspace(workspace).schedules().list()


@router.post(
    "/{workspace}/schedules",
    status_code=201,
    response_model=ScheduleDetail,
    responses=refused(409),
    **access(Access.INSIDER),
)
def create_schedule(workspace: WorkspaceReference, body: ScheduleInput, grant: Granted) -> ScheduleDetail:
    """Create a schedule. Its runs are the caller's. For members, not viewers.

    409 without a synced commit or for a name that is taken; 422 for a configuration that the commit does not have.
    """
    return grant.working_workspace(workspace).schedules().add(body)


@router.get("/{workspace}/schedule-times", response_model=ScheduleTimes, **access(Access.INSIDER))
def preview_times(
    workspace: WorkspaceReference,
    grant: Granted,
    cron: Annotated[str, Query(max_length=200, description="Five fields of cron.", examples=["0 3 * * 1-5"])],
    timezone: Annotated[str, Query(max_length=100, description="IANA time zone.")] = "UTC",
) -> ScheduleTimes:
    """Return the next five times of a cron expression. 422 says what is wrong with it."""
    return grant.workspace(workspace).schedules().times(cron, timezone)


@router.get("/{workspace}/schedules/{schedule}", response_model=ScheduleDetail, **access(Access.INSIDER))
def get_schedule(workspace: WorkspaceReference, schedule: ScheduleReference, grant: Granted) -> ScheduleDetail:
    """Return a schedule with its next five times and its last runs."""
    return grant.workspace(workspace).schedule(schedule).detail()


@router.patch(
    "/{workspace}/schedules/{schedule}",
    response_model=ScheduleDetail,
    responses=refused(409),
    **access(Access.OWNER),
)
def change_schedule(
    workspace: WorkspaceReference, schedule: ScheduleReference, body: ScheduleChange, grant: Granted
) -> ScheduleDetail:
    """Change, pause or resume a schedule: one's own, or as an admin any.

    Its runs become the caller's if more than its name is changed, or if it is resumed and its owner has left.
    """
    return grant.working_workspace(workspace).schedule(schedule).change(body)


@router.delete("/{workspace}/schedules/{schedule}", status_code=204, response_class=Response, **access(Access.OWNER))
def remove_schedule(workspace: WorkspaceReference, schedule: ScheduleReference, grant: Granted) -> None:
    """Delete a schedule: one's own, or as an admin any. Its runs stay."""
    grant.working_workspace(workspace).schedule(schedule).delete()
