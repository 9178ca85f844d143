"""Files that were uploaded in parts: put together, and checked in a process of its own."""

import asyncio
import hashlib
import logging
import os
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mesocosm.core.failure import InfrastructureError, Problem, UnknownName, UsageError
from mesocosm.core.secret import without_secrets
from mesocosm.sandboxes.bubblewrap import FilesystemView, confined, hand_over
from mesocosm.sandboxes.isolation import ENVIRONMENT
from mesocosm.sandboxes.program_limits import ProgramLimits
from mesocosm.sandboxes.sandbox import choose
from mesocosm.server.builds.sandbox import runtime_folders
from mesocosm.server.settings import Settings

CHECK_S = 3_600.0
MEMORY_MB = 2_048
MOST_WRITTEN = 16 << 30
"""Maximum size of a file that a check writes, in bytes."""

_log = logging.getLogger(__name__)
_confinable: dict[tuple[str, str], bool] = {}
"""Whether a module can be imported in a kind of sandbox of this machine."""


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


async def check_apart(
    settings: Settings | None, subject: str, module: str, *words: str, folder: Path, writes: bool = False
) -> bytes | Problem:
    """Return what `python -m module words MEMORY_MB` prints, or that its check did not come to an end.

    It runs in the server's sandbox of submitted code, without a network and with no files but those of `folder`, in
    which it may write if it `writes`. The whole folder is given to the account of the sandbox. Without settings, and
    where there is no bubblewrap, it is an ordinary process without our secrets.
    """
    program = (sys.executable, "-P", "-m", module, *words, str(MEMORY_MB))
    environment = without_secrets(os.environ)
    if settings is not None and await _is_confinable(settings, module):
        await asyncio.to_thread(_give, folder)
        program, environment = _confined(program, folder, writes=writes), ENVIRONMENT
    started = await _start(program, environment, folder)
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


async def _is_confinable(settings: Settings, module: str) -> bool:
    """Return whether a module can be imported in the sandbox of this server; it is tried once."""
    try:
        kind = choose(settings.sandbox, settings.unsafe_sandbox)
    except UsageError as error:
        kind, said = "plain", str(error).encode()
    else:
        said = f"the setting `sandbox` is {kind}".encode()
    known = _confinable.get((kind, module))
    if known is None:
        known = False
        if kind == "bubblewrap":
            with tempfile.TemporaryDirectory(prefix="mesocosm-") as name:
                words = (sys.executable, "-P", "-c", f"import {module}")
                _give(Path(name))
                tried = await _start(_confined(words, Path(name), writes=False), ENVIRONMENT, Path(name))
                _, said = await tried.communicate()
                known = tried.returncode == 0
        if not known:
            _log.warning("uploaded files are checked without a sandbox: %s", said.decode(errors="replace")[-1_000:])
        _confinable[kind, module] = known
    return known


def _give(folder: Path) -> None:
    """Give a folder to the account of the sandbox; bubblewrap itself, which has fewer rights than root, enters it."""
    hand_over(folder)
    folder.chmod(0o755)


def _confined(program: Sequence[str], folder: Path, *, writes: bool) -> tuple[str, ...]:
    shown = runtime_folders()
    view = FilesystemView(shown if writes else (*shown, folder), (folder,) if writes else (), folder)
    return tuple(confined(program, view, ProgramLimits(file_bytes=MOST_WRITTEN)))


async def _start(program: Sequence[str], environment: Mapping[str, str], folder: Path) -> Process:
    return await asyncio.create_subprocess_exec(
        *program,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
        cwd=folder,
    )
