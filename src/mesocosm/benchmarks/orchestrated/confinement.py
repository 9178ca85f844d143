"""Run a worker's commands confined: no network, only its own files, limited time and memory."""

import asyncio
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mesocosm.benchmarks.catalogue import BUILTIN
from mesocosm.benchmarks.orchestrated.tool import ToolError
from mesocosm.core.failure import EpisodeError
from mesocosm.sandboxes.bubblewrap import BubblewrapSandbox, python_folders
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits

PYTHON_SECONDS = 20
MOST_CODE = 100_000
_MEMORY = 2048 * MIB
_PROCESSES = 64
_LINES = 400


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command: its exit code, or None if it timed out, and the end of its output."""

    code: int | None
    output: str
    errors: str

    @property
    def text(self) -> str:
        """The result as it is shown to a model."""
        ended = "its time was over, so it was ended" if self.code is None else f"exit code {self.code}"
        return "\n".join(part for part in (self.output.rstrip(), self.errors.rstrip(), f"({ended})") if part)


async def run_confined(
    command: Sequence[str],
    *,
    cwd: Path,
    seconds: float,
    readable: Sequence[Path] = (),
    writable: Sequence[Path] = (),
    env: Mapping[str, str] | None = None,
    lines: int = _LINES,
) -> CommandResult:
    """Run a command and keep the last `lines` of its output.

    The data of built-in benchmarks, which includes answers, is hidden from it.

    Raises EpisodeError if commands cannot be confined on this machine.
    """
    allowance = ProgramLimits(
        cpu_seconds=int(seconds) + 1, memory_bytes=_MEMORY, processes=_PROCESSES, file_bytes=64 * MIB
    )
    sandbox = BubblewrapSandbox(allowance, (*python_folders(), *readable), tuple(writable), hidden=(BUILTIN,))
    process = await sandbox.start(command, cwd=cwd, env=env)
    code: int | None = None
    try:
        async with asyncio.timeout(seconds):
            code = await process.wait()
    except TimeoutError:
        pass
    finally:
        await process.stop(0.0)
    return CommandResult(code, process.stdout_tail(lines), process.stderr_tail(lines))


async def run_python(code: str) -> str:
    """Run a Python program in an empty folder and return its output. Raises ToolError."""
    if len(code) > MOST_CODE:
        raise ToolError(f"the program is longer than {MOST_CODE} characters")
    with tempfile.TemporaryDirectory() as private:
        folder = passable(Path(private) / "work")
        try:
            ran = await run_confined(
                [sys.executable, "-I", "-c", code], cwd=folder, seconds=PYTHON_SECONDS, writable=[folder]
            )
        except (EpisodeError, ValueError) as error:
            raise ToolError(f"the program could not be started: {error}") from error
    return ran.text


def passable(folder: Path) -> Path:
    """Create a folder and return it. Confined programs run under a separate account, which must be able to enter it."""
    folder.mkdir()
    folder.chmod(0o755)
    return folder
