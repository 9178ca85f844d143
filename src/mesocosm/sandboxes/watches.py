"""Watch a program's resource usage, and report when it exceeds a limit."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from mesocosm.sandboxes.disk import DEEPEST, free, unnamed, used
from mesocosm.sandboxes.process import ForeignProcess
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits
from mesocosm.sandboxes.tree import below, more_than, use

LOOK_S = 0.1
DISK_S = 0.5
LEAST_FREE = 256 * MIB
"""Free bytes that programs must leave on a disk."""
_OURS = 4
"""Number of our own processes in a sandbox: those of bubblewrap, and the port forwarder."""

Watch = Coroutine[Any, Any, str]
"""Returns a sentence about the limit that was exceeded."""


async def guard(process: ForeignProcess, watches: Sequence[Watch], tell: Callable[[str], None]) -> None:
    """Wait until the program ends. If a watch returns first, pass its sentence to `tell` and end the program.

    All processes of the program are gone on return.
    """
    ended = asyncio.ensure_future(process.wait())
    watching = [asyncio.ensure_future(watch) for watch in watches]
    try:
        done, _ = await asyncio.wait({ended, *watching}, return_when=asyncio.FIRST_COMPLETED)
        if ended not in done:
            tell(next(task.result() for task in watching if task.done()))
    finally:
        ended.cancel()
        for task in watching:
            task.cancel()
        await asyncio.gather(ended, *watching, return_exceptions=True)
        await process.stop(grace=0)


async def memory_and_processes(root: int, most_memory: int, allowance: ProgramLimits) -> str:
    """Check all processes below `root` ten times a second; return which limit was exceeded."""
    most_processes = allowance.processes
    while True:
        pids = below(root)
        now = use(pids)
        # First, because the memory of very many processes takes long to add up.
        if most_processes is not None and now.processes - _OURS > most_processes:
            return f"{now.processes - _OURS} processes and threads at once, limit {most_processes}"
        if memory := more_than(pids, most_memory):
            return f"used {_mb(memory)} MB of memory, limit {_mb(most_memory)} MB"
        if allowance.cpu_seconds is not None and now.cpu_seconds > allowance.cpu_seconds:
            return f"used more than {allowance.cpu_seconds} s of CPU time"
        await asyncio.sleep(LOOK_S)


async def disk(root: int, folders: Sequence[Path], most_bytes: int, most_files: int) -> str:
    """Check the folders, and deleted files that processes below `root` hold open, twice a second."""
    while True:
        if found := await asyncio.to_thread(too_much, folders, most_bytes, most_files, root):
            return found
        await asyncio.sleep(DISK_S)


def too_much(folders: Sequence[Path], most_bytes: int, most_files: int, root: int | None = None) -> str:
    """Return which disk limit was exceeded, or an empty string. Leave out `root` if no process is left."""
    found = used(folders, most_bytes, most_files)
    held = unnamed(below(root), folders) if root is not None else 0
    if found.hidden:
        return f"made a folder that is closed, or lies more than {DEEPEST} folders deep"
    if found.bytes + held > most_bytes:
        return f"wrote more than {_mb(most_bytes)} MB to disk"
    if found.files > most_files:
        return f"made more than {most_files:,} files"
    # All programs on this machine share the disk, so check it regardless of this program's own use.
    if root is not None and free(folders) < LEAST_FREE:
        return f"was ended because the disk of this machine has less than {_mb(LEAST_FREE)} MB left"
    return ""


class Flood:
    """Detects excessive output: more than `burst` bytes at once, and then `rate` bytes per second."""

    def __init__(self, burst: int = 64 * MIB, rate: int = MIB) -> None:
        self._loop = asyncio.get_running_loop()
        self._burst = burst
        self._rate = rate
        self._left = float(burst)
        self._at = self._loop.time()
        self._over = self._loop.create_future()

    def hear(self, data: bytes) -> None:
        """Count written bytes."""
        now = self._loop.time()
        self._left = min(self._left + (now - self._at) * self._rate, self._burst) - len(data)
        self._at = now
        if self._left < 0 and not self._over.done():
            self._over.set_result(f"wrote more than {_mb(self._burst)} MB of output at once")

    async def over(self) -> str:
        """Wait until the limit is exceeded, and return a sentence about it."""
        return await asyncio.shield(self._over)


async def too_long(seconds: float) -> str:
    """Wait `seconds`, and return that the time is up."""
    await asyncio.sleep(seconds)
    return f"did not end within {seconds:g} s"


def _mb(size: int) -> str:
    return f"{size / MIB:,.0f}"
