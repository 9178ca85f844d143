"""A schedule in each planted workspace, whose every text is the secret, with a run that was refused."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from tests.server.auth.granted import repositories, workspaces
from tests.server.auth.granted.world import OWNER, World, secret

from mesocosm.server.permissions.grant import Grant
from mesocosm.server.permissions.schedules import VisibleSchedule, VisibleSchedules, WorkingSchedule, WorkingSchedules
from mesocosm.server.schemas.schedule import ScheduleChange, ScheduleInput
from mesocosm.store.schedules import Schedule


def _plant(world: World) -> None:
    store = world.service.store
    repositories.plant(world)
    for name in workspaces.NAMES:
        membership, word = store.workspaces.membership(secret(name), None), secret(name)
        assert membership is not None
        if store.schedules.list(membership.workspace.id):
            continue
        row = Schedule(
            id="",
            workspace_id=membership.workspace.id,
            name=word,
            configuration=word,
            branch=word,
            overrides={"model": word, "tags": [word]},
            cron="0 3 * * *",
            created_by=OWNER if store.users.get(OWNER) else None,
            next_at=1.0,
            last_fault=word,
        )
        made = store.schedules.add(row, 9)
        assert made is not None
        store.schedules.advance(made, None)
        claimed = store.scheduled_runs.claim("worker", 30.0)
        assert claimed is not None
        store.scheduled_runs.choose(claimed[0], word)
        store.scheduled_runs.submitted(msgspec.structs.replace(claimed[0], commit_id=word), world.runs[name])


def _all(world: World, way: Callable[[str], Any]) -> Iterable[Any]:
    _plant(world)
    return [workspace.schedules() for workspace in workspaces.granted_workspaces(world, way)]


def _each(world: World, way: Callable[[str], Any]) -> Iterable[Any]:
    """Return the schedule of each workspace, which has its name."""
    _plant(world)
    found = workspaces.granted_workspaces(world, way)
    return [workspace.schedule(workspace.document().name) for workspace in found]


OBJECTS: dict[type, Callable[[World, Grant, str], Iterable[Any]]] = {
    VisibleSchedules: lambda world, grant, _role: _all(world, grant.workspace),
    WorkingSchedules: lambda world, grant, _role: _all(world, grant.working_workspace),
    VisibleSchedule: lambda world, grant, _role: _each(world, grant.workspace),
    WorkingSchedule: lambda world, grant, _role: _each(world, grant.working_workspace),
}

_NEW = ScheduleInput(name="new", configuration="configs/eval/a.toml", trigger="sync")

CALLS: dict[str, Callable[[Any, World], Any]] = {
    "VisibleSchedules.list": lambda schedules, _world: schedules.list(),
    "VisibleSchedules.times": lambda schedules, _world: schedules.times("@daily", "UTC"),
    "WorkingSchedules.add": lambda schedules, _world: schedules.add(_NEW),
    "VisibleSchedule.detail": lambda schedule, _world: schedule.detail(),
    "WorkingSchedule.change": lambda schedule, _world: schedule.change(ScheduleChange(enabled=False)),
    "WorkingSchedule.delete": lambda schedule, _world: schedule.delete(),
    "VisibleWorkspace.schedules": lambda workspace, _world: workspace.schedules().list(),
    "VisibleWorkspace.schedule": lambda workspace, _world: workspace.schedule(workspace.document().name).detail(),
    "WorkingWorkspace.schedules": lambda workspace, _world: workspace.schedules().list(),
    "WorkingWorkspace.schedule": lambda workspace, _world: workspace.schedule(workspace.document().name).detail(),
}

TELLS = {"VisibleSchedules.list", "VisibleSchedule.detail"}
"""What shows the planted secret to the owner."""
