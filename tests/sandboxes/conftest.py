"""Small Python programs as foreign processes."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import pytest

from mesocosm.sandboxes.plain import PlainSandbox
from mesocosm.sandboxes.process import ForeignProcess
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits
from mesocosm.sandboxes.sandbox import ProgramSandbox
from mesocosm.sandboxes.sandboxed_process import Finished, SandboxedProcess
from mesocosm.sandboxes.tree import below


class Programs:
    """Starts scripts in a directory of their own and stops them with the test."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.sandbox = PlainSandbox()
        self._started: list[ForeignProcess] = []

    async def start(self, script: str, *arguments: str, env: Mapping[str, str] | None = None) -> ForeignProcess:
        """Run a script with Python."""
        return await self.start_in(self.sandbox, sys.executable, "-c", script, *arguments, env=env)

    async def start_in(
        self, sandbox: PlainSandbox, *command: str, env: Mapping[str, str] | None = None
    ) -> ForeignProcess:
        """Run a command in another sandbox."""
        process = await sandbox.start(command, cwd=self.directory, env=env)
        self._started.append(process)
        return process

    async def says(self, process: ForeignProcess, words: str) -> str:
        """Wait until a line with these words is on stdout, and return the rest of that line."""
        # An unbuffered print writes the end of its line on its own, so only whole lines have been said.
        line = re.compile(rf"^{re.escape(words)}(.*)\r?\n", re.MULTILINE)
        async with asyncio.timeout(120):
            while not (found := line.search(process._stdout._bytes.decode("utf-8", "replace"))):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        return found[1].strip()

    async def gone(self, pid: int) -> None:
        """Wait until a process is no more."""
        async with asyncio.timeout(120):
            while alive(pid):  # noqa: ASYNC110 - another process's end has no event
                await asyncio.sleep(0.005)

    async def close(self) -> None:
        """Stop whatever still runs."""
        await asyncio.gather(*(process.stop(grace=0) for process in self._started))


def alive(pid: int) -> bool:
    """Whether a process runs; the dead that nobody collected do not count."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return not Path("/proc/self").exists()
    except OSError:
        return False


@pytest.fixture
async def programs(tmp_path: Path) -> AsyncIterator[Programs]:
    """A starter of scripts."""
    started = Programs(tmp_path)
    yield started
    await started.close()


TRY = """
import ctypes, errno, glob, os, signal, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def attempt(what, *arguments):
    try:
        print("achieved:", what.__name__, arguments, what(*arguments))
    except Exception as error:
        print("no:", type(error).__name__)
def call(name, *arguments):
    if getattr(libc, name)(*arguments) == -1:
        raise OSError(ctypes.get_errno())
def read(path):
    return open(path, "rb").read()
def porters():
    found = [int(path.rpartition("/")[2]) for path in glob.glob("/proc/[0-9]*")]
    return [number for number in found if read(f"/proc/{number}/cmdline").split(b"\\0")[1:3] == [b"-I", b"-S"]]
"""


class Strangers:
    """Runs Python scripts of bad will in sandboxes. Before each stands what helps them to try things."""

    def __init__(self, source: Path) -> None:
        limits = ProgramLimits(cpu_seconds=20, processes=32, file_bytes=64 * MIB, open_files=256, scratch_bytes=8 * MIB)
        self.sandbox = ProgramSandbox(kind="bubblewrap", allowance=limits, most_memory=256 * MIB)
        self._source = source
        self._python = [str(Path(sys.executable).resolve()), "-c"]
        self._started: list[SandboxedProcess] = []

    async def run(self, script: str, *, sandbox: ProgramSandbox | None = None) -> Finished:
        """Run a script to its end."""
        return await (sandbox or self.sandbox).run([*self._python, TRY + script], cwd=self._source, seconds=20)

    async def achieve_nothing(self, script: str) -> None:
        """Run a script whose attempts must all fail."""
        finished = await self.run(script)
        assert finished.how == "ok", finished
        assert "no:" in finished.output_tail
        assert "achieved" not in finished.output_tail

    async def serve(self, script: str) -> SandboxedProcess:
        """Start a script as a server at port 8000."""
        sandboxed = await self.sandbox.serve([*self._python, TRY + script], cwd=self._source, port=8000)
        self._started.append(sandboxed)
        return sandboxed

    async def says(self, sandboxed: SandboxedProcess, words: str) -> str:
        """Wait until a server has said these words, and return all that it said."""
        async with asyncio.timeout(120):
            while words not in sandboxed.stdout_tail(1000):
                assert sandboxed.returncode is None, sandboxed.stderr_tail()
                await asyncio.sleep(0.005)
        return sandboxed.stdout_tail(1000)

    async def ended(self, sandboxed: SandboxedProcess) -> str:
        """Wait until a server is over, and return why it was ended."""
        async with asyncio.timeout(120):
            await sandboxed.wait()
        return sandboxed.reason

    async def close(self) -> None:
        """End whatever still runs."""
        await asyncio.gather(*(sandboxed.stop(grace=0) for sandboxed in self._started))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The folder of a stranger's program."""
    folder = tmp_path / "source"
    folder.mkdir(mode=0o755)
    return folder


@pytest.fixture
def _nothing_left() -> Iterator[None]:
    before = set(below(os.getpid()))
    yield
    assert not set(below(os.getpid())) - before


@pytest.fixture
async def strangers(_nothing_left: None, source: Path) -> AsyncIterator[Strangers]:
    """Runs scripts of bad will, and sees that nothing of them is left."""
    running = Strangers(source)
    yield running
    await running.close()
