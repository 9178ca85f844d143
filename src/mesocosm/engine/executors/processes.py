"""The executor `processes:N`: N worker processes of this machine, each with a socket to the session."""

import asyncio
import ctypes
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mesocosm.core.failure import InfrastructureError, UsageError
from mesocosm.core.ports import ExecutorSession
from mesocosm.engine.executors.dispatch import Dispatcher
from mesocosm.engine.executors.links import LinkLost

END_S = 5.0
"""Seconds for a worker to end after its connection was closed; then it is killed."""

_START = f"import sys; sys.path[:] = sys.argv[2:]; from {__name__} import main; main()"
"""What this process can import, a worker can; programs that the worker starts do not inherit that."""

_LENGTH = struct.Struct("<I")
_PR_SET_PDEATHSIG = 1


def open_processes(address: str) -> Callable[[ExecutorSession], Dispatcher]:
    """Return the executor with `address` processes, or one for each core. Raises UsageError."""
    number = processes(address)
    return lambda session: Dispatcher(session, Processes(number))


def processes(address: str) -> int:
    """Return the number of processes that `address` names: its number, or the cores of this process if it is empty."""
    if not address:
        return cores()
    if not address.isdigit() or int(address) < 1:
        raise UsageError(f"processes:{address}: say how many processes, as in processes:4, or leave the number out")
    return int(address)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Processes:
    """Starts worker processes. Implements engine.executors.links.WorkerSource."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.what = "process" if most == 1 else "processes"
        self._path = [Path(place).absolute() for place in sys.path]

    async def connect(self) -> "ProcessLink":
        """Start a worker. Raises InfrastructureError."""
        ours, theirs = socket.socketpair()
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-c", _START, str(theirs.fileno()), *map(str, self._path)),
                stdin=asyncio.subprocess.DEVNULL,
                # What episodes print must not mix with results on our stdout.
                stdout=sys.stderr.fileno() if _has_stderr() else asyncio.subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                # Interrupts of a terminal are for the session, which lets running episodes end.
                start_new_session=True,
            )
            reader, writer = await asyncio.open_unix_connection(sock=ours)
        except BaseException as error:
            # A worker that has started ends when its connection closes.
            ours.close()
            if isinstance(error, OSError):
                raise InfrastructureError(f"no worker process can be started: {error}") from error
            raise
        finally:
            theirs.close()
        return ProcessLink(process, reader, writer)

    async def close(self) -> None:
        """Do nothing: workers end with their links."""


class ProcessLink:
    """A worker process. Implements engine.executors.links.Link."""

    def __init__(
        self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.name = f"process {process.pid}"
        self._process = process
        self._reader = reader
        self._writer = writer

    def send(self, data: bytes) -> None:
        """Send a message."""
        self._writer.write(_LENGTH.pack(len(data)) + data)

    async def receive(self) -> bytes:
        """Return the next message. Raises LinkLost with how the process ended."""
        try:
            return await _receive(self._reader)
        except (OSError, asyncio.IncompleteReadError):
            raise LinkLost(await self._end()) from None

    async def _end(self) -> str:
        """Return how the process ended."""
        try:
            code = await asyncio.wait_for(self._process.wait(), END_S)
        except TimeoutError:
            return "it closed its connection"
        if code >= 0:
            return f"it ended with exit code {code}"
        with suppress(ValueError):
            return f"it was ended by {signal.Signals(-code).name}"
        return f"it was ended by signal {-code}"

    async def close(self) -> None:
        """End the process, which ends by itself when its connection closes."""
        with suppress(OSError):
            self._writer.close()
        try:
            await asyncio.wait_for(self._process.wait(), END_S)
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()


class SocketLink:
    """The worker's end of a socket. Implements engine.executors.links.WorkerLink."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def receive(self) -> bytes:
        """Return the next message. Raises LinkLost."""
        try:
            return await _receive(self._reader)
        except (OSError, asyncio.IncompleteReadError) as error:
            raise LinkLost("the session is gone") from error

    async def send(self, data: bytes) -> None:
        """Send a message, and wait until there is room for another. Raises LinkLost."""
        self._writer.write(_LENGTH.pack(len(data)) + data)
        try:
            await self._writer.drain()
        except OSError as error:
            raise LinkLost("the session is gone") from error


async def _receive(reader: asyncio.StreamReader) -> bytes:
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    return await reader.readexactly(length)


def _has_stderr() -> bool:
    try:
        return sys.stderr.fileno() >= 0
    except (AttributeError, OSError, ValueError):
        return False


async def _serve(number: int) -> None:
    from mesocosm.engine.executors.worker import serve

    reader, writer = await asyncio.open_unix_connection(sock=socket.socket(fileno=number))
    await serve(SocketLink(reader, writer))


def main() -> None:
    """Play episodes for the session at the other end of the socket that the first argument names."""
    if sys.platform == "linux":
        # An episode that never returns to the event loop would not see that the session is gone.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    asyncio.run(_serve(int(sys.argv[1])))
    # Threads of foreign code must not keep the process.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
