"""Uploaded snapshots: one in each planted workspace whose commit, patch and rollouts hold the secret."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from tests.server.auth.granted import workspaces
from tests.server.auth.granted.world import World, secret

from mesocosm.core.ids import digest_bytes
from mesocosm.core.snapshot import SnapshotFile
from mesocosm.server.permissions.grant import Grant
from mesocosm.server.permissions.snapshots import VisibleSnapshot, WorkingSnapshot, WorkingSnapshots
from mesocosm.server.schemas.snapshot import SnapshotInput, pack_contents
from mesocosm.store.repositories import SyncedConfiguration, SyncedRollout, SyncFault
from mesocosm.store.snapshot_uploads import SnapshotUpload

CONTENT = b"print()"


def _ids(world: World) -> dict[str, str]:
    """Plant the snapshots, unless they are there; return their ids by the names of their workspaces."""
    store, found = world.service.store, {}
    workspaces.planted(world)
    for name in workspaces.NAMES:
        membership, word = store.workspaces.membership(secret(name), None), secret(name)
        if membership is None:
            continue
        file = SnapshotFile(word, digest_bytes(CONTENT), len(CONTENT))
        snapshot = store.snapshots.add([file], lambda _: CONTENT)
        wanted = SnapshotUpload(
            id="",
            workspace_id=membership.workspace.id,
            digest=snapshot.digest,
            repository=word,
            branch=word,
            commit_id=word,
            dirty=True,
            changes=word,
        )
        upload = store.snapshot_uploads.begin(wanted)
        what = {
            "rollouts": (SyncedRollout(word, (word,), (word,), word),),
            "configurations": (SyncedConfiguration(word, True, word, word, word, word),),
            "faults": (SyncFault(word, word, 1, word),),
        }
        store.snapshot_uploads.complete(msgspec.structs.replace(upload, **what), snapshot)
        found[secret(name)] = upload.id
    return found


def _granted(world: World, way: Callable[[str], Any]) -> Iterable[Any]:
    known = _ids(world)
    return [place.snapshot(known[place.document().name]) for place in workspaces.granted_workspaces(world, way)]


OBJECTS: dict[type, Callable[[World, Grant, str], Iterable[Any]]] = {
    WorkingSnapshots: lambda world, grant, _role: [
        place.snapshots() for place in workspaces.granted_workspaces(world, grant.working_workspace)
    ],
    VisibleSnapshot: lambda world, grant, _role: _granted(world, grant.workspace),
    WorkingSnapshot: lambda world, grant, _role: _granted(world, grant.working_workspace),
}

CALLS: dict[str, Callable[[Any, World], Any]] = {
    "WorkingSnapshots.begin": lambda snapshots, _world: snapshots.begin(SnapshotInput(digest="0" * 32)),
    "VisibleSnapshot.document": lambda snapshot, _world: snapshot.document(),
    "WorkingSnapshot.upload": lambda snapshot, _world: snapshot.upload(),
    "WorkingSnapshot.add": lambda snapshot, _world: snapshot.add(pack_contents([b"x"])),
    "WorkingSnapshot.complete": lambda snapshot, _world: snapshot.complete(),
    "VisibleWorkspace.snapshot": lambda place, world: place.snapshot(
        _ids(world).get(place.document().name, "")
    ).document(),
    "WorkingWorkspace.snapshot": lambda place, _world: place.snapshot("none"),
    "WorkingWorkspace.snapshots": lambda place, _world: place.snapshots(),
}

TELLS = {"VisibleSnapshot.document", "VisibleWorkspace.snapshot"}
"""What shows the planted secret to the owner."""
