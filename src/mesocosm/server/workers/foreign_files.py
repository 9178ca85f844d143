"""Files that were uploaded in parts: put together, and checked in a process of its own."""

import asyncio
import hashlib
import logging
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from mesocosm.core.failure import InfrastructureError, Problem, UnknownName
from mesocosm.core.secret import without_secrets

CHECK_S = 3_600.0
MEMORY_MB = 2_048

_log = logging.getLogger(__name__)


async def assemble(
    file: Path, digests: Mapping[int, str], count: int, digest: str, read: Callable[[str], bytes]
) -> str | Problem:
    """Write parts 1 to `count`, which `read` returns by their digests, into a file.

    Return its SHA-256, or what is wrong with it; `digest` is what it must be, empty if that was not announced. Raises
    InfrastructureError if the disk is full.
    """
    whole = hashlib.sha256()

    def append(part: str) -> None:
        data = read(part)
        whole.update(data)
        with file.open("ab") as target:
            target.write(data)

    try:
        for number in range(1, count + 1):
            await asyncio.to_thread(append, digests[number])
    except (KeyError, UnknownName):
        return Problem("", "parts of the file are missing", "upload it again")
    except OSError as error:
        raise InfrastructureError(f"{file} cannot be written: {error.strerror}; make room, or set TMPDIR") from error
    found = whole.hexdigest()
    if digest not in ("", found):
        words = f"the file has another SHA-256 ({found}) than was announced ({digest})"
        return Problem("", words, "it changed during the upload; upload it again")
    return found


async def check_apart(subject: str, module: str, *words: str, folder: Path) -> bytes | Problem:
    """Return what `python -m module words MEMORY_MB` prints in `folder`, or that its check did not come to an end."""
    started = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", module, *words, str(MEMORY_MB)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=without_secrets(os.environ),
        cwd=folder,
    )
    try:
        async with asyncio.timeout(CHECK_S):
            out, said = await started.communicate()
    except TimeoutError:
        what = f"could not be checked within {CHECK_S / 60:.0f} minutes"
        return Problem("", what, "split it into smaller files")
    finally:
        if started.returncode is None:
            started.kill()
            await started.wait()
    if started.returncode == 0:
        return out
    _log.error("the check of %s failed: %s", subject, said[-4_000:])
    fix = "make the file or its rows smaller; if it is small, tell the administrators of the server"
    return Problem("", f"its check ended with code {started.returncode}, perhaps for lack of memory", fix)
