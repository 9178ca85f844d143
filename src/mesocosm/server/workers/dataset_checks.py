"""Check an uploaded dataset in a process of its own: its digest, then every row as rollouts read it."""

import asyncio
import hashlib
import logging
import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.failure import InfrastructureError, Problem, UnknownName
from mesocosm.core.secret import without_secrets
from mesocosm.rollouts.dataset_check import CheckedDataset
from mesocosm.sandboxes.scratch import ScratchFolder
from mesocosm.server.service import Service
from mesocosm.store.datasets import DatasetState, DatasetVersion

CHECK_S = 3_600.0
MEMORY_MB = 2_048

_log = logging.getLogger(__name__)


async def check_dataset_version(service: Service, version: DatasetVersion) -> bool:
    """Check a claimed version and store the outcome at once; return False if the claim was lost meanwhile.

    Raises InfrastructureError if the store cannot be reached, or the disk is full: then the lease expires, and a worker
    checks again.
    """
    store = service.store.datasets
    scratch = await asyncio.to_thread(ScratchFolder)
    try:
        file = scratch.path / "data"
        fault = await _assemble(service, version, file)
        intact = fault is None
        checked = await _checked(file, version) if fault is None else _faulty(fault)
    finally:
        await asyncio.to_thread(scratch.remove)
    state = DatasetState.ERROR if checked.faults else DatasetState.UPLOADED
    late = Problem("", "another version was uploaded meanwhile", "upload it again, with overwrite")
    kept = await asyncio.to_thread(
        store.finish_check, version, state=state, overtaken=_text(_faulty(late)), **_columns(checked)
    )
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


async def _assemble(service: Service, version: DatasetVersion, file: Path) -> Problem | None:
    """Write the parts of a version into a file; return what is wrong with it."""
    store = service.store.datasets
    digests = await asyncio.to_thread(store.parts, version.dataset_id, version.version)
    whole = hashlib.sha256()

    def append(digest: str) -> None:
        data = store.read_part(digest)
        whole.update(data)
        with file.open("ab") as target:
            target.write(data)

    try:
        for number in range(1, version.part_count + 1):
            await asyncio.to_thread(append, digests[number])
    except (KeyError, UnknownName):
        return Problem("", "parts of the file are missing", "upload it again")
    except OSError as error:
        raise InfrastructureError(f"{file} cannot be written: {error.strerror}; make room, or set TMPDIR") from error
    if whole.hexdigest() != version.digest:
        words = f"the file has another SHA-256 ({whole.hexdigest()}) than was announced ({version.digest})"
        return Problem("", words, "it changed during the upload; upload it again")
    return None


async def _checked(file: Path, version: DatasetVersion) -> CheckedDataset:
    words = ["-P", "-m", "mesocosm.rollouts.dataset_check", str(file), version.format, version.file_name]
    started = await asyncio.create_subprocess_exec(
        *(sys.executable, *words, version.columns, str(MEMORY_MB)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=without_secrets(os.environ),
        cwd=file.parent,
    )
    try:
        async with asyncio.timeout(CHECK_S):
            out, said = await started.communicate()
    except TimeoutError:
        what = f"could not be checked within {CHECK_S / 60:.0f} minutes"
        return _faulty(Problem("", what, "split it into smaller files"))
    finally:
        if started.returncode is None:
            started.kill()
            await started.wait()
    if started.returncode == 0:
        return msgspec.json.decode(out, type=CheckedDataset)
    _log.error("the check of dataset %s, version %d failed: %s", version.dataset_id, version.version, said[-4_000:])
    fix = "make the file or its rows smaller; if it is small, tell the administrators of the server"
    return _faulty(Problem("", f"its check ended with code {started.returncode}, perhaps for lack of memory", fix))


def _faulty(fault: Problem) -> CheckedDataset:
    return CheckedDataset(faults=(fault,), faults_total=1)
