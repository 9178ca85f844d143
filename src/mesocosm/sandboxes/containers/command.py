"""Run one command of a container engine, or of a container, to its end."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping, Sequence

from mesocosm.core.container import CommandEnd
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.sandboxes.tree import below

MOST_OUTPUT = 1024 * 1024
"""Bytes that are kept of each stream: half from its beginning, half from its end."""
_CHUNK = 64 * 1024
_LAST_WORDS_S = 0.3
"""Seconds that are waited for output after the end; what runs on in the background may hold the stream open."""
_LOOK_S = 0.005


class _Stream:
    """Keeps the beginning and the end of a stream."""

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._first = bytearray()
        self._last = bytearray()
        self.dropped = 0

    async def read(self, stream: asyncio.StreamReader) -> None:
        """Read to the end of the stream."""
        while data := await stream.read(_CHUNK):
            room = self._half - len(self._first)
            self._first += data[:room]
            self._last += data[room:]
            if (more := len(self._last) - self._half) > 0:
                self.dropped += more
                del self._last[:more]

    @property
    def data(self) -> bytes:
        return bytes(self._first + self._last)


async def run_command(
    command: Sequence[str],
    *,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    seconds: float | None = None,
    most: int = MOST_OUTPUT,
    pass_fds: Sequence[int] = (),
) -> CommandEnd:
    """Run a command for at most `seconds`, and return how it ended.

    It ends with its own process: what it leaves in the background lives on, also if it holds the output open. At the
    end of that time, or if the call is cancelled, it is killed with all its descendants. `env` replaces our variables.
    Raises EpisodeError with cause sandbox_failed if it cannot be started.
    """
    started = time.monotonic()
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=pipe if stdin else asyncio.subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            env=None if env is None else dict(env),
            start_new_session=True,
            pass_fds=tuple(pass_fds),
        )
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise EpisodeError(Cause.SANDBOX_FAILED, f"{command[0]} cannot be started: {reason}") from error
    assert process.stdout is not None
    assert process.stderr is not None
    streams = _Stream(most), _Stream(most)
    reading = [
        asyncio.ensure_future(kept.read(stream))
        for kept, stream in zip(streams, (process.stdout, process.stderr), strict=True)
    ]
    writing = asyncio.ensure_future(_write(process, stdin))
    late = False
    try:
        async with asyncio.timeout(seconds):
            await _ended(process)
    except TimeoutError:
        late = True
    finally:
        if process.returncode is None:
            _kill(process.pid)
            await _ended(process)
        writing.cancel()
        await asyncio.wait(reading, timeout=_LAST_WORDS_S)
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, writing, return_exceptions=True)
        _close(process)
    code = process.returncode if process.returncode is not None else -signal.SIGKILL
    return CommandEnd(
        128 - code if code < 0 else code,
        streams[0].data,
        streams[1].data,
        time.monotonic() - started,
        late,
        sum(stream.dropped for stream in streams),
    )


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Wait for the process alone: `process.wait` would also wait for everybody who holds its pipes."""
    loop, gone = asyncio.get_running_loop(), asyncio.Event()
    try:
        # Only Linux has it; elsewhere the exit code is looked for.
        watched = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else -1
    except OSError:
        watched = -1
    try:
        if watched >= 0:
            loop.add_reader(watched, gone.set)
            await gone.wait()
        while process.returncode is None:  # noqa: ASYNC110 -- asyncio has no event for it
            await asyncio.sleep(_LOOK_S)
    finally:
        if watched >= 0:
            loop.remove_reader(watched)
            os.close(watched)


async def _write(process: asyncio.subprocess.Process, data: bytes) -> None:
    if process.stdin is None:
        return
    # A program may end without reading its input.
    with contextlib.suppress(ConnectionError):
        process.stdin.write(data)
        await process.stdin.drain()
        process.stdin.close()
        await process.stdin.wait_closed()


def _kill(pid: int) -> None:
    for one in (pid, *below(pid)):
        with contextlib.suppress(OSError):
            os.kill(one, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def _close(process: asyncio.subprocess.Process) -> None:
    # Otherwise the transport waits for whoever holds the pipes, until the loop ends.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
