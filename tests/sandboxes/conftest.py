"""Small Python programs as foreign processes."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from mesocosm.sandboxes.plain import PlainSandbox
from mesocosm.sandboxes.process import ForeignProcess


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
        async with asyncio.timeout(20):
            while not (found := line.search(process._stdout._bytes.decode("utf-8", "replace"))):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        return found[1].strip()

    async def gone(self, pid: int) -> None:
        """Wait until a process is no more."""
        async with asyncio.timeout(20):
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
