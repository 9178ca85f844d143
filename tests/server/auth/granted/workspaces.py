"""Workspaces: one that the owner is alone in, and one that they share with the mate."""

from collections.abc import Callable, Iterable
from typing import Any

from tests.server.auth.granted.world import MATE, OWNER, REFUSED, World, secret

from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Run, RunSpec
from mesocosm.server.permissions.grant import Grant
from mesocosm.server.permissions.workspaces import (
    ManagedWorkspace,
    OwnedWorkspace,
    OwnWorkspaces,
    VisibleWorkspace,
    WorkingWorkspace,
)
from mesocosm.server.schemas.run_request import RolloutInput
from mesocosm.server.schemas.workspace import WorkspaceChange
from mesocosm.store.run_requests import RunRequest

NAMES = ("private", "team")


def planted(world: World) -> World:
    """Make the workspaces, unless they are there."""
    workspaces = world.service.store.workspaces
    for name in NAMES:
        workspace = workspaces.add(secret(name), OWNER)
        if workspace is not None and name == "team":
            workspaces.add_member(workspace.id, MATE, "owner")
        if workspace is not None:
            add_run(world, secret(name), workspace.id)
    return world


def add_run(world: World, run_id: str, workspace_id: str) -> None:
    """Put a run into a workspace."""
    spec = RunSpec(BenchmarkRef("rollout", "words"), ModelSettings("builtin/empty"))
    names: dict[str, Any] = dict.fromkeys(
        ("signature", "benchmark", "benchmark_title", "benchmark_digest", "agent"), "words"
    )
    world.service.store.runs.add(
        Run(id=run_id, benchmark_version="1", kind="rollout", model=spec.model.name, spec=spec, **names)
    )
    world.service.store.run_requests.add(
        RunRequest(run_id=run_id, actor="user:1", model="", kind="rollout", workspace_id=workspace_id, created_at=1.0)
    )


def granted_workspaces(world: World, way: Callable[[str], Any]) -> Iterable[Any]:
    """Return what a way of a grant returns for each workspace; the stranger of one does not even learn of it."""
    planted(world)
    found = []
    for name in NAMES:
        try:
            found.append(way(secret(name)))
        except REFUSED:
            continue
    return found


Objects = Callable[[World, Grant, str], Iterable[Any]]

OBJECTS: dict[type, Objects] = {
    OwnWorkspaces: lambda world, grant, _role: [grant.workspaces()] if planted(world) else [],
    VisibleWorkspace: lambda world, grant, _role: granted_workspaces(world, grant.workspace),
    WorkingWorkspace: lambda world, grant, _role: granted_workspaces(world, grant.working_workspace),
    ManagedWorkspace: lambda world, grant, _role: granted_workspaces(world, grant.managed_workspace),
    OwnedWorkspace: lambda world, grant, _role: granted_workspaces(world, grant.owned_workspace),
}

CALLS: dict[str, Callable[[Any, World], Any]] = {
    "OwnWorkspaces.list": lambda workspaces, _world: workspaces.list(None, None),
    "OwnWorkspaces.create": lambda workspaces, _world: workspaces.create("New"),
    "VisibleWorkspace.document": lambda workspace, _world: workspace.document(),
    "VisibleWorkspace.members": lambda workspace, _world: workspace.members(),
    "VisibleWorkspace.budget": lambda workspace, _world: workspace.budget(),
    "VisibleWorkspace.run_id": lambda workspace, world: granted_workspaces(world, workspace.run_id),
    "VisibleWorkspace.run_ids": lambda workspace, _world: workspace.run_ids(10, 0),
    "VisibleWorkspace.repository": lambda workspace, _world: workspace.repository(),
    "WorkingWorkspace.submit": lambda workspace, _world: workspace.submit(
        RolloutInput(kind="rollout", workspace=workspace.document().id, configuration="configs/eval/x.toml")
    ),
    "WorkingWorkspace.estimate": lambda workspace, _world: workspace.estimate(
        RolloutInput(kind="rollout", workspace=workspace.document().id, configuration="configs/eval/x.toml")
    ),
    "WorkingWorkspace.check_model": lambda workspace, _world: workspace.check_model("builtin/random"),
    "WorkingWorkspace.repository": lambda workspace, _world: workspace.repository(),
    "ManagedWorkspace.repository": lambda workspace, _world: workspace.repository(),
    "VisibleWorkspace.leave": lambda workspace, _world: workspace.leave(),
    "ManagedWorkspace.change": lambda workspace, _world: workspace.change(WorkspaceChange(budget_usd=1.0)),
    "ManagedWorkspace.add": lambda workspace, _world: workspace.add("nobody-here", "member"),
    "ManagedWorkspace.set_role": lambda workspace, _world: workspace.set_role(OWNER, "owner"),
    "ManagedWorkspace.remove": lambda workspace, _world: workspace.remove(99),
    "OwnedWorkspace.delete": lambda workspace, _world: workspace.delete(),
}

TELLS = {
    *("OwnWorkspaces.list", "VisibleWorkspace.document", "VisibleWorkspace.run_id", "VisibleWorkspace.run_ids"),
}
"""What shows the planted secret to the owner."""
