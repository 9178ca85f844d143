"""Files that were uploaded in parts: put together, and checked in a process of its own."""

import asyncio
import hashlib
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mesocosm.core.failure import EpisodeError, InfrastructureError, Problem, UnknownName, UsageError
from mesocosm.core.secret import without_secrets
from mesocosm.sandboxes.bubblewrap import hand_over
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits
from mesocosm.sandboxes.sandbox import ProgramSandbox, choose
from mesocosm.sandboxes.sandboxed_process import Finished
from mesocosm.server.builds.sandbox import runtime_folders
from mesocosm.server.settings import Settings

CHECK_S = 3_600.0
TRIAL_S = 120.0
MEMORY_MB = 2_048
MOST_WRITTEN = 16 << 30
"""Maximum size of what a check writes, in bytes."""
_SPARE_MB = 512
"""Memory of a check beside its data, such as that of its libraries: it reports itself that it lacks memory."""

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
    where there is no bubblewrap, it is an ordinary process without our secrets. No process of it is left on return.
    """
    confined = settings is not None and await _is_confinable(settings, module)
    program, out = ("-m", module, *words, str(MEMORY_MB)), bytearray()
    ended = await _run(program, folder, CHECK_S, confined=confined, writes=writes, printed=out.extend)
    if ended.how == "ok":
        return bytes(out)
    if ended.how == "timeout":
        what = f"could not be checked within {CHECK_S / 60:.0f} minutes"
        return Problem("", what, "split it into smaller files")
    what = ended.reason or f"ended with code {ended.code}, perhaps for lack of memory"
    _log.error("the check of %s %s: %s", subject, what, ended.output_tail[-4_000:])
    fix = "make the file or its rows smaller; if it is small, tell the administrators of the server"
    return Problem("", f"its check {what}", fix)


async def _is_confinable(settings: Settings, module: str) -> bool:
    """Return whether a module can be imported in the sandbox of this server; it is tried once.

    Raises InfrastructureError if that takes too long.
    """
    try:
        kind = choose(settings.sandbox, settings.unsafe_sandbox)
    except UsageError as error:
        kind, said = "plain", str(error)
    else:
        said = f"the setting `sandbox` is {kind}"
    known = _confinable.get((kind, module))
    if known is None:
        known = False
        if kind == "bubblewrap":
            known, said = await _is_imported(module)
        if not known:
            _log.warning("uploaded files are checked without a sandbox: %s", said[-1_000:])
        _confinable[kind, module] = known
    return known


async def _is_imported(module: str) -> tuple[bool, str]:
    """Return whether the sandbox imports a module, and what it says. Raises InfrastructureError if it is too slow."""
    with tempfile.TemporaryDirectory(prefix="mesocosm-") as name:
        try:
            tried = await _run(("-c", f"import {module}"), Path(name), TRIAL_S, confined=True)
        except EpisodeError as error:
            return False, str(error)
    if tried.how == "timeout":
        raise InfrastructureError(f"the sandbox did not import {module} within {TRIAL_S:.0f} s; is the machine busy?")
    return tried.how == "ok", tried.reason or tried.output_tail


async def _run(
    words: Sequence[str],
    folder: Path,
    seconds: float,
    *,
    confined: bool,
    writes: bool = False,
    printed: Callable[[bytes], object] | None = None,
) -> Finished:
    """Run our Python in a folder. Raises EpisodeError if it cannot be started."""
    sandbox = ProgramSandbox(
        kind="bubblewrap" if confined else "plain",
        allowance=ProgramLimits(file_bytes=MOST_WRITTEN),
        most_memory=(MEMORY_MB + _SPARE_MB) * MIB,
        readable=(*runtime_folders(), folder),
    )
    if confined:
        await asyncio.to_thread(_give, folder)
    return await sandbox.run(
        (sys.executable, "-P", *words),
        cwd=folder,
        writable=(folder,) if writes else (),
        env=None if confined else without_secrets(os.environ),
        seconds=seconds,
        printed=printed,
        most_bytes=MOST_WRITTEN if writes else None,
    )


def _give(folder: Path) -> None:
    """Give a folder to the account of the sandbox; bubblewrap itself, which has fewer rights than root, enters it."""
    hand_over(folder)
    folder.chmod(0o755)
