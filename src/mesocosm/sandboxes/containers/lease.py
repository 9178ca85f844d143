"""Who owns a container: kept in a file of its folder, or as labels of its engine."""

import base64
import os
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from mesocosm.core.container import ContainerLease
from mesocosm.core.failure import InfrastructureError
from mesocosm.core.run import LeaseOwner

RECORD = "lease.json"
PREFIX = "mesocosm-"
OWNER, SINCE, TASK, EPISODE = "mesocosm.owner", "mesocosm.since", "task", "episode"
"""Labels of an engine: the owner (JSON in base64) and the start, and labels of a spec."""


def new_name() -> str:
    """Return a name for a container that no other has."""
    return f"{PREFIX}{uuid.uuid4().hex[:16]}"


def engine_labels(owner: LeaseOwner, labels: Mapping[str, str]) -> dict[str, str]:
    """Return what an engine is to keep with a container."""
    told = base64.b64encode(msgspec.json.encode({"owner": owner, "labels": dict(labels)})).decode()
    return {OWNER: told, SINCE: f"{time.time():.0f}"}


def of_labels(engine: str, name: str, told: str, since: str) -> ContainerLease:
    """Return the lease that the labels of an engine tell; without an owner if they cannot be read."""
    owner, labels = None, {}
    try:
        found = msgspec.json.decode(base64.b64decode(told))
        owner, labels = msgspec.convert(found["owner"], LeaseOwner), {**found["labels"]}
    except (ValueError, KeyError, TypeError):
        pass
    return ContainerLease(engine, name, owner, labels, float(since) if since.isdigit() else 0.0)


def record(folder: Path, lease: ContainerLease) -> None:
    """Write the lease into the folder of its container, all of it or nothing."""
    draft = folder / f"{RECORD}.new"
    draft.write_bytes(msgspec.json.encode(lease))
    draft.rename(folder / RECORD)


def recorded(engine: str) -> Iterator[tuple[Path, ContainerLease]]:
    """Yield the containers of an engine that have a folder of this account, each with its lease."""
    for path in sorted(Path(tempfile.gettempdir()).glob(f"mesocosm-box-*/{RECORD}")):
        try:
            if path.parent.lstat().st_uid != os.geteuid():
                continue
            lease = msgspec.json.decode(path.read_bytes(), type=ContainerLease)
        except (OSError, msgspec.DecodeError):
            continue
        if lease.engine == engine:
            yield path.parent, lease


def folder_of(engine: str, name: str) -> Path:
    """Return the folder of a container. Raises InfrastructureError if there is none."""
    for path, lease in recorded(engine):
        if lease.name == name:
            return path
    raise InfrastructureError(f"there is no container {name} of {engine}; `mesocosm sandbox list` names them")
