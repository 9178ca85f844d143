"""Check an uploaded dataset in a process of its own: its digest, then every row as rollouts read it."""

import asyncio
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.failure import Problem
from mesocosm.rollouts.added_rows import AddedRows
from mesocosm.rollouts.dataset_check import CheckedDataset
from mesocosm.sandboxes.scratch import ScratchFolder
from mesocosm.server.service import Service
from mesocosm.server.workers.foreign_files import assemble, check_apart
from mesocosm.store.datasets import Datasets, DatasetState, DatasetVersion

_GROWN, _GROWN_FORMAT = "grown", "jsonl"
_SPLIT = "add fewer rows, or add them to another dataset"
_REASONS = {
    "full": ("the datasets of the workspace have no room for it", "ask the administrators of the server for more"),
    "late": ("another version was uploaded meanwhile", "add the rows again"),
}
"""Why rows cannot be added after all, and what to do."""


async def check_dataset_version(service: Service, version: DatasetVersion) -> bool:
    """Check a claimed version and store the outcome at once; return False if the claim was lost meanwhile.

    Raises InfrastructureError if the store cannot be reached, or the disk is full: then the lease expires, and a worker
    checks again.
    """
    store = service.store.datasets
    added = await asyncio.to_thread(store.added, version)
    if added:
        return await add_rows(service, version, added)
    scratch = await asyncio.to_thread(ScratchFolder)
    try:
        file = scratch.path / "files" / "data"
        file.parent.mkdir()
        digests = await asyncio.to_thread(store.parts, version.dataset_id, version.version)
        digest = await assemble(file, digests, version.part_count, version.digest, store.read_part)
        intact = isinstance(digest, str)
        checked = _faulty(digest) if isinstance(digest, Problem) else await _checked(service, file, version)
    finally:
        await asyncio.to_thread(scratch.remove)
    state = DatasetState.ERROR if checked.faults else DatasetState.UPLOADED
    late = Problem("", "another version was uploaded meanwhile", "upload it again, with --overwrite")
    found = _columns(checked) | ({"digest": digest} if intact else {})
    kept = await asyncio.to_thread(store.finish_check, version, state=state, overtaken=_text(_faulty(late)), **found)
    if kept and not intact:
        await asyncio.to_thread(store.drop_parts, version)
    return kept


async def add_rows(service: Service, version: DatasetVersion, added: Mapping[int, str]) -> bool:
    """Make the file of a claimed version, that of the newest one and the rows of the parts `added`, and check it.

    Store the outcome at once; a version to which no row would be added is cancelled. Return False if the claim was
    lost, or returned to the queue because another version is the newest now. Raises as `check_dataset_version`.
    """
    store = service.store.datasets
    scratch = await asyncio.to_thread(ScratchFolder)
    try:
        base = await asyncio.to_thread(store.newest, version.dataset_id)
        folder = scratch.path / "files"
        folder.mkdir()
        grown = await _grown(service, version, base, added, folder)
        file = folder / _GROWN
        size = file.stat().st_size if file.exists() else 0
        most, room = (mib << 20 for mib in (service.settings.dataset_mb, service.settings.workspace_datasets_mb))
        checked = CheckedDataset(faults=grown.faults, faults_total=len(grown.faults))
        if grown.added and size > most:
            checked = _faulty(Problem("", f"it would have {size:,} bytes, and a dataset at most {most:,}", _SPLIT))
        elif grown.added:
            columns = version.columns if base is None else base.columns
            version = msgspec.structs.replace(version, columns=columns, format=_GROWN_FORMAT)
            checked = await _checked(service, file, version)
        state = DatasetState.UPLOADED if grown.added and not checked.faults else DatasetState.ERROR
        found = {"size": size, "digest": "", "columns": version.columns, "source": _source(version, base, grown)}
        if not grown.added and not checked.faults:
            state, found = DatasetState.CANCELLED, {"source": found["source"]}
        elif state is DatasetState.ERROR:
            found = {"faults": _text(checked), "source": found["source"]}
        else:
            digest = await asyncio.to_thread(_keep, store, version, file)
            if digest is None:
                return False
            found |= {**_columns(checked), "digest": digest}
        number = None if base is None else base.version

        def finish(state: DatasetState, **found: Any) -> str:
            return store.finish_addition(version, number, state=state, most_bytes=room, **found)

        outcome = await asyncio.to_thread(finish, state, **found)
        if outcome == "moved":
            await asyncio.to_thread(store.release_check, version)
        elif outcome in _REASONS:
            fault = _faulty(Problem("", *_REASONS[outcome]))
            outcome = await asyncio.to_thread(finish, DatasetState.ERROR, faults=_text(fault), source=found["source"])
        return not outcome
    finally:
        await asyncio.to_thread(scratch.remove)


async def _grown(
    service: Service, version: DatasetVersion, base: DatasetVersion | None, added: Mapping[int, str], folder: Path
) -> AddedRows:
    """Write the rows of a version and those that are added to it into a file of the folder; return what came of it."""
    store = service.store.datasets
    rows, file = folder / "rows", folder / "base"
    found = await assemble(rows, added, len(added), "", store.read_part)
    if base is not None and isinstance(found, str):
        parts = await asyncio.to_thread(store.parts, base.dataset_id, base.version)
        found = await assemble(file, parts, base.part_count, base.digest, store.read_part)
    if isinstance(found, Problem):
        return AddedRows(faults=(found,))
    about = ("", "", version.columns) if base is None else (str(file), base.format, base.columns)
    said = await check_apart(
        service.settings,
        f"rows for dataset {version.dataset_id}, version {version.version}",
        "mesocosm.rollouts.added_rows",
        *(*about, str(rows), str(folder / _GROWN)),
        folder=folder,
        writes=True,
    )
    return AddedRows(faults=(said,)) if isinstance(said, Problem) else msgspec.json.decode(said, type=AddedRows)


def _keep(store: Datasets, version: DatasetVersion, file: Path) -> str | None:
    """Store a file as the parts of a version; return its SHA-256, None if the claim was lost."""
    whole = hashlib.sha256()
    # The process that wrote it read foreign files: follow no link that it may have left.
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW), "rb") as source:
        number = 0
        while data := source.read(version.part_size):
            number += 1
            whole.update(data)
            if not store.put_checked(version, number, data):
                return None
    return whole.hexdigest()


def _source(version: DatasetVersion, base: DatasetVersion | None, grown: AddedRows) -> str:
    """Return the source of a version with what was added to which version."""
    known = msgspec.json.decode(version.source or "{}", type=dict[str, Any])
    counts = {"base": None if base is None else base.version, "added": grown.added, "duplicates": grown.duplicates}
    return _text({**known, **counts})


def _columns(checked: CheckedDataset) -> dict[str, Any]:
    """Return the values of the columns of a version."""
    valid = not checked.faults
    return {
        "rows": checked.rows if valid else None,
        "rows_digest": checked.digest,
        "summary": _text(msgspec.structs.replace(checked, preview=())) if valid else "",
        "preview": _text(checked.preview) if valid else "",
        "faults": "" if valid else _text(checked),
    }


def _text(value: Any) -> str:
    # PostgreSQL stores no NUL, which JSON escapes anyway, and no lone surrogates, which JSON has none of.
    return msgspec.json.encode(value).decode()


async def _checked(service: Service, file: Path, version: DatasetVersion) -> CheckedDataset:
    found = await check_apart(
        service.settings,
        f"dataset {version.dataset_id}, version {version.version}",
        "mesocosm.rollouts.dataset_check",
        *(str(file), version.format, version.file_name, version.columns),
        folder=file.parent,
    )
    return _faulty(found) if isinstance(found, Problem) else msgspec.json.decode(found, type=CheckedDataset)


def _faulty(fault: Problem) -> CheckedDataset:
    return CheckedDataset(faults=(fault,), faults_total=1)
