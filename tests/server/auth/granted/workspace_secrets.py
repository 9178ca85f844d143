"""Secrets of a workspace: one of the owner, one of the workspace, in that of the owner and in that of the mate too."""

from collections.abc import Callable, Iterable
from typing import Any

from pydantic import SecretStr
from tests.server.auth.granted.workspaces import NAMES, granted_workspaces
from tests.server.auth.granted.world import OWNER, World, secret

from mesocosm.server.permissions.grant import Grant
from mesocosm.server.permissions.workspace_secrets import ManagedSecrets, VisibleSecrets, WorkingSecrets
from mesocosm.server.workspace_secrets import set_secret
from mesocosm.store.workspace_secrets import WORKSPACE, personal_holder


def _secrets(world: World, way: Callable[[str], Any]) -> Iterable[Any]:
    """Return the secrets of each workspace that a way of a grant leads to."""
    found = list(granted_workspaces(world, way))
    for name in NAMES:
        workspace = world.service.store.workspaces.membership(secret(name), OWNER)
        assert workspace is not None
        shown = f"{name}_KEY".upper()
        for holder in (WORKSPACE, personal_holder(OWNER)):
            set_secret(world.service, workspace.workspace.id, holder, shown, SecretStr(secret("private")), OWNER)
    return [one.secrets() for one in found]


Objects = Callable[[World, Grant, str], Iterable[Any]]

OBJECTS: dict[type, Objects] = {
    VisibleSecrets: lambda world, grant, _role: _secrets(world, grant.workspace),
    WorkingSecrets: lambda world, grant, _role: _secrets(world, grant.working_workspace),
    ManagedSecrets: lambda world, grant, _role: _secrets(world, grant.managed_workspace),
}

CALLS: dict[str, Callable[[Any, World], Any]] = {
    "VisibleWorkspace.secrets": lambda workspace, _world: workspace.secrets(),
    "WorkingWorkspace.secrets": lambda workspace, _world: workspace.secrets(),
    "ManagedWorkspace.secrets": lambda workspace, _world: workspace.secrets(),
    "VisibleSecrets.list": lambda secrets, _world: secrets.list(None),
    "VisibleSecrets.delete_personal": lambda secrets, _world: secrets.delete_personal("PRIVATE_KEY"),
    "WorkingSecrets.set_personal": lambda secrets, _world: secrets.set_personal("NEW", SecretStr("x")),
    "WorkingSecrets.missing": lambda secrets, _world: secrets.missing(["PRIVATE_KEY", "NONE"]),
    "ManagedSecrets.set": lambda secrets, _world: secrets.set("NEW", SecretStr("x")),
    "ManagedSecrets.delete": lambda secrets, _world: secrets.delete("PRIVATE_KEY"),
}
