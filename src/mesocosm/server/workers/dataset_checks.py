"""Check an uploaded dataset in a process of its own: its digest, then every row as rollouts read it."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.failure import Problem
from mesocosm.rollouts.dataset_check import CheckedDataset
from mesocosm.sandboxes.scratch import ScratchFolder
from mesocosm.server.service import Service
from mesocosm.server.workers.foreign_files import assemble, check_apart
from mesocosm.store.datasets import DatasetState, DatasetVersion


async def check_dataset_version(service: Service, version: DatasetVersion) -> bool:
    """Check a claimed version and store the outcome at once; return False if the claim was lost meanwhile.

    Raises InfrastructureError if the store cannot be reached, or the disk is full: then the lease expires, and a worker
    checks again.
    """
    store = service.store.datasets
    scratch = await asyncio.to_thread(ScratchFolder)
    try:
        file = scratch.path / "data"
        digests = await asyncio.to_thread(store.parts, version.dataset_id, version.version)
        digest = await assemble(file, digests, version.part_count, version.digest, store.read_part)
        intact = isinstance(digest, str)
        checked = _faulty(digest) if isinstance(digest, Problem) else await _checked(file, version)
    finally:
        await asyncio.to_thread(scratch.remove)
    state = DatasetState.ERROR if checked.faults else DatasetState.UPLOADED
    late = Problem("", "another version was uploaded meanwhile", "upload it again, with overwrite")
    found = _columns(checked) | ({"digest": digest} if intact else {})
    kept = await asyncio.to_thread(store.finish_check, version, state=state, overtaken=_text(_faulty(late)), **found)
    if kept and not intact:
        await asyncio.to_thread(store.drop_parts, version)
    return kept


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


async def _checked(file: Path, version: DatasetVersion) -> CheckedDataset:
    found = await check_apart(
        f"dataset {version.dataset_id}, version {version.version}",
        "mesocosm.rollouts.dataset_check",
        *(str(file), version.format, version.file_name, version.columns),
        folder=file.parent,
    )
    return _faulty(found) if isinstance(found, Problem) else msgspec.json.decode(found, type=CheckedDataset)


def _faulty(fault: Problem) -> CheckedDataset:
    return CheckedDataset(faults=(fault,), faults_total=1)
