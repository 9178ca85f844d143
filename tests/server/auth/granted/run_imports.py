"""Imports of runs: one of the owner that is being uploaded, and one in the workspace that they share with the mate."""

import hashlib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from tests.server.auth.granted.workspaces import planted as with_workspaces
from tests.server.auth.granted.world import OWNER, REFUSED, World, secret

from mesocosm.core.failure import Problem
from mesocosm.server.permissions.grant import Grant
from mesocosm.server.permissions.run_imports import OwnRunImport, OwnRunImports
from mesocosm.server.schemas.run_import import FolderFileInput, LocalEvaluationInput, RunImportInput
from mesocosm.store.run_imports import RunImport

DATA = b"a bundle"
NAMES = ("private", "team")


def _planted(world: World) -> dict[str, str]:
    """Begin both imports, unless they are there; return their ids. The one of the workspace was refused."""
    with_workspaces(world)
    imports, found = world.service.store.run_imports, {}
    for name in NAMES:
        membership = world.service.store.workspaces.membership(secret("team"), None)
        wanted = RunImport(
            actor=f"user:{OWNER}",
            actor_name=secret("private"),
            workspace_id=membership.workspace.id if membership is not None and name == "team" else None,
            source=f"run-{name}",
            host=secret("private"),
            size=len(DATA),
            digest=_digest(DATA),
        )
        known = [one for one in imports.list(wanted.actor, limit=9) if one.source == wanted.source]
        begun = known[0] if known else imports.begin(wanted, most_bytes=10**6)
        found[name] = begun.id
        if name == "team" and not known:
            imports.add_part(begun, 1, DATA)
            imports.submit(begun)
            claimed = imports.claim("worker", 60.0)
            assert claimed is not None
            imports.refuse(claimed, [Problem("", secret("private"), secret("private"))])
    return found


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _each(world: World, grant: Grant) -> Iterable[Any]:
    found = []
    for import_id in _planted(world).values():
        try:
            found.append(grant.run_import(import_id))
        except REFUSED:
            continue
    return found


OBJECTS: dict[type, Callable[[World, Grant, str], Iterable[Any]]] = {
    OwnRunImports: lambda world, grant, _role: [grant.run_imports()] if _planted(world) else [],
    OwnRunImport: lambda world, grant, _role: _each(world, grant),
}

_NEW = RunImportInput(run_id="run-new", size=1, digest="0" * 64)

_FILES = [FolderFileInput(path=path, size=1, digest="0" * 64) for path in ("index.jsonl", "progress.json")]
_EVALUATION = LocalEvaluationInput(
    run_id="run-new",
    manifest_digest="0" * 64,
    name="new",
    started_at=datetime.now(UTC),
    completed_at=datetime.now(UTC),
    rollout="demo",
    entrypoint="main.py",
    model="builtin/empty",
    dataset="sums",
    dataset_digest="0" * 64,
    rows="0",
    source="",
    n=1,
    pass_threshold=1.0,
    files=_FILES,
)


def _begun(imports: Any) -> Any:
    """Begin an upload in the shared workspace, which the stranger of it cannot."""
    return imports.begin_evaluation(secret("team"), _EVALUATION)


CALLS: dict[str, Callable[[Any, World], Any]] = {
    "OwnRunImports.list": lambda imports, _world: imports.list(10, None),
    "OwnRunImports.begin": lambda imports, _world: imports.begin(_NEW),
    "OwnRunImports.begin_evaluation": lambda imports, _world: _begun(imports),
    "OwnRunImport.files": lambda one, _world: one.files(),
    "OwnRunImport.document": lambda one, _world: one.document(),
    "OwnRunImport.part_size": lambda one, _world: one.part_size(1),
    "OwnRunImport.add_part": lambda one, _world: one.add_part(1, DATA, _digest(DATA)),
    "OwnRunImport.complete": lambda one, _world: one.complete(),
    "OwnRunImport.abort": lambda one, _world: one.abort(),
}

TELLS = {"OwnRunImports.list", "OwnRunImport.document"}
"""What shows the planted secret to the owner."""
