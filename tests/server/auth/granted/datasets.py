"""Datasets: one in each of the two workspaces."""

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

from tests.server.auth.granted.workspaces import granted_workspaces
from tests.server.auth.granted.world import World, secret

from mesocosm.server.permissions.datasets import VisibleDataset, VisibleDatasets, WorkingDataset, WorkingDatasets
from mesocosm.server.permissions.grant import Grant
from mesocosm.server.schemas.dataset import DatasetInput
from mesocosm.store.datasets import DatasetFile, DatasetState

DATA = b"user_prompt,ground_truth\n1?,1\n"


def _planted(world: World) -> World:
    """Upload a dataset to each workspace, whose every text is the secret."""
    store = world.service.store
    for name in ("private", "team"):
        found = store.workspaces.membership(secret(name), None)
        if found is None or store.datasets.get(found.workspace.id, secret(name)) is not None:
            continue
        words = secret(name)
        file = DatasetFile(name=words, file_name=words, format="csv", size=len(DATA), digest=_digest(DATA))
        version = store.datasets.begin(found.workspace.id, file, by=None, most_bytes=10**6).version
        assert version is not None
        store.datasets.add_part(version, 1, DATA)
        store.datasets.submit(version)
        claimed = store.datasets.claim_check("worker", 60.0)
        assert claimed is not None
        fields = {
            "rows": 1,
            "summary": f'{{"warnings": ["{words}"]}}',
            "preview": f'[{{"row": 1, "cells": {{"a": "{words}"}}}}]',
        }
        store.datasets.finish_check(claimed, state=DatasetState.UPLOADED, overtaken="", **fields)
    return world


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _datasets(world: World, grant: Grant, *, working: bool) -> Iterable[Any]:
    way = grant.working_workspace if working else grant.workspace
    found = granted_workspaces(world, way)
    _planted(world)
    return [workspace.datasets() for workspace in found]


def _each(world: World, grant: Grant, *, working: bool) -> Iterable[Any]:
    """Return the dataset of each workspace, which has its name."""
    way = grant.working_workspace if working else grant.workspace
    found = granted_workspaces(world, way)
    _planted(world)
    return [workspace.dataset(workspace.document().name) for workspace in found]


OBJECTS: dict[type, Callable[[World, Grant, str], Iterable[Any]]] = {
    VisibleDatasets: lambda world, grant, _role: _datasets(world, grant, working=False),
    WorkingDatasets: lambda world, grant, _role: _datasets(world, grant, working=True),
    VisibleDataset: lambda world, grant, _role: _each(world, grant, working=False),
    WorkingDataset: lambda world, grant, _role: _each(world, grant, working=True),
}

_NEW = DatasetInput(file_name="new.csv", size=1, digest="0" * 64)

CALLS: dict[str, Callable[[Any, World], Any]] = {
    "VisibleDatasets.list": lambda datasets, _world: datasets.list(10, None),
    "WorkingDatasets.upload": lambda datasets, _world: datasets.upload(_NEW),
    "WorkingDatasets.add_rows": lambda datasets, _world: datasets.add_rows("rows", "run", b"{}\n", "{}"),
    "VisibleDataset.document": lambda dataset, _world: dataset.document(),
    "VisibleDataset.preview": lambda dataset, _world: dataset.preview(None, 5),
    "VisibleDataset.file": lambda dataset, _world: dataset.file(None),
    "VisibleDataset.content": lambda dataset, _world: b"".join(dataset.content(1, 0, len(DATA))).decode(),
    "WorkingDataset.part_size": lambda dataset, _world: dataset.part_size(1, 1),
    "WorkingDataset.add_part": lambda dataset, _world: dataset.add_part(1, 1, DATA, _digest(DATA)),
    "WorkingDataset.complete": lambda dataset, _world: dataset.complete(1),
    "WorkingDataset.abort": lambda dataset, _world: dataset.abort(1),
    "WorkingDataset.rename": lambda dataset, _world: dataset.rename(dataset.document().name),
    "WorkingDataset.delete": lambda dataset, _world: dataset.delete(),
    "VisibleWorkspace.datasets": lambda workspace, _world: workspace.datasets().list(10, None),
    "VisibleWorkspace.dataset": lambda workspace, _world: workspace.dataset(workspace.document().name).document(),
    "WorkingWorkspace.datasets": lambda workspace, _world: workspace.datasets().list(10, None),
    "WorkingWorkspace.dataset": lambda workspace, _world: workspace.dataset(workspace.document().name).document(),
}

TELLS = {"VisibleDatasets.list", "VisibleDataset.document", "VisibleDataset.preview", "VisibleDataset.file"}
"""What shows the planted secret to the owner."""
