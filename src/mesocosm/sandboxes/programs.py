"""Run short untrusted programs, by default in Python, and return their output and how they ended."""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from mesocosm.core.cancellation import to_the_end
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.sandboxes import cgroup
from mesocosm.sandboxes.bubblewrap import FilesystemView, available, confined
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits
from mesocosm.sandboxes.supervisor import descendants
from mesocosm.sandboxes.tree import more_than

SMALL = ProgramLimits(
    cpu_seconds=10, memory_bytes=1024 * MIB, processes=16, file_bytes=16 * MIB, open_files=64, scratch_bytes=32 * MIB
)
"""Default limits of a short program."""
MOST_SOURCE = 120_000
"""Maximum bytes of a program: Linux accepts no longer argument. Pass more data by stdin."""
_CHUNK = 64 * 1024
_LOOK_SECONDS = 0.1
_LAST_WORDS_S = 5.0
_LIMITS = frozenset((signal.SIGXCPU, signal.SIGKILL, signal.SIGXFSZ))
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/tmp"}  # noqa: S108


class How(StrEnum):
    """How a program ended: exit code 0, another exit code or a signal, out of time, or at a limit of its allowance."""

    OK = "ok"
    FAILED = "failed"
    TIMEOUT = "timeout"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class Ended:
    """A finished program. `code` is its exit code, or 128 + number for a signal; `stderr` is the end of that stream."""

    how: How
    code: int
    stdout: bytes
    stderr: str
    seconds: float


class Programs:
    """Run programs, `parallel` at once (default: one per CPU), confined by bubblewrap unless `unsafe`.

    The limits apply to the memory of each process. All processes of a program together are ended (`limit`) when a
    check, ten times a second, finds more than `most_memory` bytes in use, and by the kernel where it can (`cgroup.py`).
    An unsafe program has these limits, an empty environment and a temporary folder, and otherwise all our rights: that
    is no isolation. A confined one sees the `readable` folders besides the system's, and nothing in the `hidden` ones.
    `command` runs the source that follows as its last word, by default our Python.
    """

    def __init__(
        self,
        allowance: ProgramLimits = SMALL,
        *,
        parallel: int | None = None,
        unsafe: bool = False,
        most_memory: int = 2048 * MIB,
        readable: Sequence[Path] = (),
        hidden: Sequence[Path] = (),
        command: Sequence[str] = (),
    ) -> None:
        self._unsafe = unsafe
        self._most_memory = most_memory
        self._allowance = allowance
        self._turn = asyncio.Semaphore(parallel or len(os.sched_getaffinity(0)))
        installed = Path(sys.base_prefix)
        seen = tuple(dict.fromkeys((installed, installed.resolve(), *readable)))
        view = FilesystemView(seen, hidden=tuple(hidden))
        words = list(command) or [str(Path(sys.executable).resolve()), "-I", "-S", "-B", "-X", "utf8", "-c"]
        self._command = [*allowance.words(), *words] if unsafe else confined(words, view, allowance)

    async def run(self, source: str, *, stdin: bytes = b"", seconds: float = 30.0, most_output: int = MIB) -> Ended:
        """Run `source` without packages for at most `seconds` of wall-clock time.

        More than `most_output` bytes on a stream end it (`limit`). All its processes are gone on return, also when the
        call is cancelled. Raises EpisodeError with cause sandbox_failed if it cannot be started.
        """
        if not self._unsafe and not (works := available()):
            raise EpisodeError(Cause.SANDBOX_FAILED, f"a program cannot be confined: {works.reason}")
        if len(source.encode()) > MOST_SOURCE:
            raise ValueError(f"a program of more than {MOST_SOURCE:,} bytes; pass data by stdin")
        async with self._turn:
            if not self._unsafe:
                limits = cgroup.limits_of(self._allowance, self._most_memory)
                group = await asyncio.to_thread(cgroup.make, limits)
                try:
                    return await self._run(source, stdin, seconds, most_output, None, group)
                finally:
                    if group is not None:
                        await asyncio.shield(asyncio.to_thread(group.remove))
            with tempfile.TemporaryDirectory(prefix="mesocosm-") as folder:
                return await self._run(source, stdin, seconds, most_output, folder)

    async def _run(
        self,
        source: str,
        stdin: bytes,
        seconds: float,
        most_output: int,
        folder: str | None,
        group: cgroup.Cgroup | None = None,
    ) -> Ended:
        started = time.monotonic()
        pipe = asyncio.subprocess.PIPE
        try:
            starting = asyncio.create_subprocess_exec(
                *(group.words() if group is not None else ()),
                *self._command,
                source,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                cwd=folder or "/",
                env=_ENVIRONMENT,
                start_new_session=True,
            )
            process = await _started(starting)
        except OSError as error:
            raise EpisodeError(Cause.SANDBOX_FAILED, f"a program cannot be started: {error}") from error
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        reading = [asyncio.ensure_future(_read(stream, most_output)) for stream in (process.stdout, process.stderr)]
        writing = asyncio.ensure_future(_write(process.stdin, stdin))
        watching = asyncio.ensure_future(self._watch(process.pid))
        how: How | None = None
        try:
            async with asyncio.timeout(seconds):
                await _all(reading, watching)
                await process.wait()
        except TimeoutError:
            how = How.TIMEOUT
        except _TooMuchError:
            how = How.LIMIT
        finally:
            _kill(process)
            writing.cancel()
            watching.cancel()
            # A process that left the group of an unsafe program may hold the pipes open forever.
            await asyncio.wait(reading, timeout=_LAST_WORDS_S)
            for task in reading:
                task.cancel()
            await asyncio.gather(*reading, return_exceptions=True)
            code = await _ended(process)
        code = 128 - code if code < 0 else code
        said = [b"" if task.cancelled() or not task.done() or task.exception() else task.result() for task in reading]
        if group is not None and group.out_of_memory:
            how = How.LIMIT
        ended = how or (How.OK if code == 0 else How.LIMIT if code - 128 in _LIMITS else How.FAILED)
        return Ended(ended, code, said[0], said[1][-4000:].decode("utf-8", "replace"), time.monotonic() - started)

    async def _watch(self, pid: int) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if await asyncio.to_thread(more_than, descendants(pid), self._most_memory):
                raise _TooMuchError


class _TooMuchError(Exception):
    """A stream exceeds `most_output`, or the memory of all processes exceeds its limit."""


async def _started(starting: Coroutine[Any, Any, asyncio.subprocess.Process]) -> asyncio.subprocess.Process:
    """Return the started process. On cancellation, wait for the start and kill the process, so that nothing is left."""
    start = asyncio.ensure_future(starting)
    try:
        return await to_the_end(start)
    except asyncio.CancelledError:
        if start.exception() is None:
            process = start.result()
            _kill(process)
            await _ended(process)
        raise


async def _ended(process: asyncio.subprocess.Process) -> int:
    """Return the exit code of a killed process.

    asyncio reports it only after the pipes are closed, and does not notice the end of a full pipe that is no longer
    read. So the pipes are drained first; if another process holds them open, the exit code is polled instead.
    """
    streams = [stream for stream in (process.stdout, process.stderr) if stream is not None]
    discarding = [asyncio.ensure_future(_discard(stream)) for stream in streams]
    try:
        async with asyncio.timeout(_LAST_WORDS_S):
            await asyncio.gather(*discarding)
            return await process.wait()
    except TimeoutError:
        while process.returncode is None:  # noqa: ASYNC110 -- asyncio has no event for it
            await asyncio.sleep(_LOOK_SECONDS)
        return process.returncode
    finally:
        for task in discarding:
            task.cancel()
        await asyncio.gather(*discarding, return_exceptions=True)


async def _discard(stream: asyncio.StreamReader) -> None:
    while await stream.read(_CHUNK):
        pass


async def _all(reading: Sequence["asyncio.Future[bytes]"], watching: "asyncio.Future[None]") -> None:
    """Wait until all streams are read, or until one of them or the watch raises."""
    pending: set[asyncio.Future[Any]] = {*reading, watching}
    while not all(task.done() for task in reading):
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()


async def _read(stream: asyncio.StreamReader, most: int) -> bytes:
    said = bytearray()
    while data := await stream.read(_CHUNK):
        said += data
        if len(said) > most:
            raise _TooMuchError
    return bytes(said)


async def _write(stream: asyncio.StreamWriter, data: bytes) -> None:
    # A program may ignore its input.
    with contextlib.suppress(ConnectionError):
        stream.write(data)
        await stream.drain()
        stream.close()
        await stream.wait_closed()


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill all its processes. Bubblewrap takes its namespace along; an unsafe program is its own process group.

    If bubblewrap is killed before the first process of its namespace is bound to it, that process would survive. So
    bubblewrap is stopped first, and its descendants are killed.
    """
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGSTOP)
        for pid in descendants(process.pid):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        os.killpg(process.pid, signal.SIGKILL)
