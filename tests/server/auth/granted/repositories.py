"""The repository of each planted workspace, with a sync whose commit, rollouts and faults hold the secret."""

import time
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from pydantic import SecretStr
from tests.server.auth.granted import workspaces
from tests.server.auth.granted.world import World, secret

from mesocosm.server.permissions.grant import Grant
from mesocosm.server.permissions.repositories import ManagedRepository, VisibleRepository, WorkingRepository
from mesocosm.server.permissions.repository_hooks import RepositoryHook
from mesocosm.server.permissions.workspaces import OwnWorkspaces, VisibleWorkspace
from mesocosm.server.schemas.git_credential import GitCredentialInput
from mesocosm.server.schemas.repository import RepositoryInput, SyncInput
from mesocosm.store.repositories import (
    Sync,
    SyncedConfiguration,
    SyncedRollout,
    SyncFault,
    SyncState,
    new_repository,
)


def plant(world: World) -> None:
    """Connect each workspace with a repository that was synced once."""
    store = world.service.store
    workspaces.planted(world)
    for name in workspaces.NAMES:
        membership, word = store.workspaces.membership(secret(name), None), secret(name)
        assert membership is not None
        row = new_repository(membership.workspace.id, f"github.com/a/{word}", f"https://github.com/a/{word}")
        if store.repositories.connect(row) is None:
            continue
        store.syncs.add(Sync(repository_id=row.id, number=0))
        claimed = store.syncs.claim("worker", 30.0)
        assert claimed is not None
        found = {
            "commit_id": word,
            "author": word,
            "message": word,
            "rollouts": (SyncedRollout(word, (word,), (word,), word),),
            "configurations": (SyncedConfiguration(word, True, word, word, word, word),),
            "faults": (SyncFault(word, word, 1, word),),
            "error": word,
        }
        over = {"state": SyncState.SUCCESS, "ended_at": time.time()}
        assert store.syncs.save(msgspec.structs.replace(claimed, **found, **over))


def _ids(world: World) -> Iterable[str]:
    plant(world)
    for name in workspaces.NAMES:
        membership = world.service.store.workspaces.membership(secret(name), None)
        found = world.service.store.repositories.of(membership.workspace.id) if membership else None
        if found is not None:
            yield found.id


def _granted(world: World, way: Callable[[str], Any]) -> Iterable[Any]:
    plant(world)
    return [workspace.repository() for workspace in workspaces.granted_workspaces(world, way)]


def _with_repository(own: OwnWorkspaces, world: World) -> Any:
    plant(world)
    return [own.with_repository(f"a/{secret(name)}") for name in workspaces.NAMES]


def _code(workspace: VisibleWorkspace, world: World) -> Any:
    plant(world)
    return workspace.code()


OBJECTS: dict[type, Callable[[World, Grant, str], Iterable[Any]]] = {
    VisibleRepository: lambda world, grant, _role: _granted(world, grant.workspace),
    WorkingRepository: lambda world, grant, _role: _granted(world, grant.working_workspace),
    RepositoryHook: lambda world, grant, _role: [grant.repository_hook(found) for found in _ids(world)],
    ManagedRepository: lambda world, grant, _role: _granted(world, grant.managed_workspace),
}

CALLS: dict[str, Callable[[Any, World], Any]] = {
    "OwnWorkspaces.with_repository": _with_repository,
    "VisibleRepository.document": lambda repository, _world: repository.document(),
    "VisibleRepository.syncs": lambda repository, _world: repository.syncs(9, None),
    "VisibleRepository.sync": lambda repository, _world: repository.sync(1),
    "VisibleRepository.rollouts": lambda repository, _world: repository.rollouts(""),
    "VisibleWorkspace.code": _code,
    "WorkingRepository.start": lambda repository, _world: repository.start(SyncInput()),
    "ManagedRepository.connect": lambda repository, _world: repository.connect(
        RepositoryInput(url="https://github.com/a/other")
    ),
    "ManagedRepository.set_credentials": lambda repository, _world: repository.set_credentials(
        GitCredentialInput(token=SecretStr("swordfish-of-nobody"))
    ),
    "ManagedRepository.delete_credential": lambda repository, _world: repository.delete_credential("token"),
    "ManagedRepository.renew_hook": lambda repository, _world: repository.renew_hook(),
    "RepositoryHook.receive": lambda hook, _world: hook.receive({"x-mesocosm-token": "wrong"}, b"{}"),
    "ManagedRepository.disconnect": lambda repository, _world: repository.disconnect(),
}

TELLS = {
    *("VisibleRepository.document", "VisibleRepository.syncs", "VisibleRepository.sync"),
    *(
        "VisibleRepository.rollouts",
        "VisibleWorkspace.code",
        "OwnWorkspaces.with_repository",
        "ManagedRepository.set_credentials",
    ),
}
"""What shows the planted secret to the owner."""
