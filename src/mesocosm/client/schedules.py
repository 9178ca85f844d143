"""Schedules of workspaces."""

from mesocosm.client.resource import Resource
from mesocosm.client.transport import segment
from mesocosm.client.workspaces import workspace_path
from mesocosm.server.schemas.schedule import (
    ScheduleChange,
    ScheduleDetail,
    ScheduleDocument,
    ScheduleInput,
    ScheduleTimes,
)


class SchedulesResource(Resource):
    """The schedules of each workspace. `workspace` and `schedule` are ids or names."""

    def list(self, workspace: str) -> tuple[ScheduleDocument, ...]:
        """Return the schedules of a workspace by name."""
        return self._many(ScheduleDocument, _path(workspace))

    def add(self, workspace: str, wanted: ScheduleInput) -> ScheduleDetail:
        """Create a schedule whose runs are the caller's. Not for viewers."""
        return self._one(ScheduleDetail, "POST", _path(workspace), wanted)

    def get(self, workspace: str, schedule: str) -> ScheduleDetail:
        """Return a schedule with its next times and its last runs."""
        return self._one(ScheduleDetail, "GET", _path(workspace, schedule))

    def times(self, workspace: str, cron: str, timezone: str = "UTC") -> ScheduleTimes:
        """Return the next times of a cron expression."""
        query = f"cron={segment(cron)}&timezone={segment(timezone)}"
        return self._one(ScheduleTimes, "GET", f"{workspace_path(workspace)}/schedule-times?{query}")

    def change(self, workspace: str, schedule: str, **fields: object) -> ScheduleDetail:
        """Change a schedule: the fields of `ScheduleChange` that are given."""
        body = ScheduleChange.model_validate(fields).model_dump(mode="json", exclude_unset=True)
        return self._one(ScheduleDetail, "PATCH", _path(workspace, schedule), body)

    def remove(self, workspace: str, schedule: str) -> None:
        """Delete a schedule; its runs stay."""
        self._done("DELETE", _path(workspace, schedule))


def _path(workspace: str, *parts: str) -> str:
    return "/".join((f"{workspace_path(workspace)}/schedules", *map(segment, parts)))
