"""A running external process and its descendants."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.sandboxes.log import Log

_SUPERVISOR = str(Path(__file__).with_name("supervisor.py"))
# When a process has ended, its last output may still be in the pipe, which a daemon can hold open forever.
_LAST_WORDS = 0.5
_LATE = 10.0


class ForeignProcess:
    """A process tree under its own supervisor. Implements core.ports.Process.

    Its output is read as it arrives, so that it never blocks on a full pipe. The tree is ended by `stop`, and when this
    program ends for any reason.
    """

    def __init__(self, stdout: Log, stderr: Log) -> None:
        self._loop = asyncio.get_running_loop()
        self._stdout = stdout
        self._stderr = stderr
        self._open = 2
        self._pid: asyncio.Future[int] = self._loop.create_future()
        self._returncode: int | None = None
        self._code: int | None = None
        self._ended = asyncio.Event()
        self._over = asyncio.Event()
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._control: asyncio.WriteTransport | None = None
        self._pipes: list[asyncio.ReadTransport] = []

    @property
    def pid(self) -> int:
        """Process id of the leader, which is also its process group and session."""
        return self._pid.result()

    @property
    def returncode(self) -> int | None:
        """Exit code of the leader once it ended, negative for a signal. The tails then hold its last output."""
        return self._returncode

    def stdout_tail(self, lines: int = 20) -> str:
        """Return the last lines that the tree wrote to stdout."""
        return self._stdout.text(lines)

    def stderr_tail(self, lines: int = 20) -> str:
        """Return the last lines that the tree wrote to stderr."""
        return self._stderr.text(lines)

    async def wait(self) -> int:
        """Wait for the leader and return its exit code. Its descendants may live on until `stop`."""
        await self._ended.wait()
        assert self._returncode is not None
        return self._returncode

    async def stop(self, grace: float = 5.0) -> None:
        """Ask the whole tree to end, and kill the rest after `grace` seconds. A further call can shorten the time.

        Cancelling the call does not spare the tree.
        """
        if self._control is not None and not self._over.is_set():
            self._control.write(f"stop {max(grace, 0.0):.3f}\n".encode())
        try:
            async with asyncio.timeout(max(grace, 0.0) + _LATE):
                await self._over.wait()
        except TimeoutError:
            self._kill()
        await self._ended.wait()
        for pipe in self._pipes:
            pipe.close()

    async def start(
        self, command: Sequence[str], cwd: Path, env: Mapping[str, str], pass_fds: Sequence[int] = ()
    ) -> None:
        """Start `command`; call once. Raises OSError."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                # asyncio's own subprocess transports kill their process when garbage-collected. Here that would be the
                # supervisor, which then could not end the rest.
                self._supervisor = subprocess.Popen(  # noqa: ASYNC220, S603
                    [sys.executable, "-I", "-S", _SUPERVISOR, str(theirs.fileno()), *command],
                    cwd=cwd,
                    env=dict(env),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    pass_fds=[theirs.fileno(), *pass_fds],
                    start_new_session=True,
                )
            except BaseException:
                ours.close()
                raise
        self._control, _ = await self._loop.create_unix_connection(
            lambda: _Control(self._heard, self._unsupervised), sock=ours
        )
        try:
            for pipe, log in ((self._supervisor.stdout, self._stdout), (self._supervisor.stderr, self._stderr)):
                transport, _ = await self._loop.connect_read_pipe(partial(_Output, log, self._read), pipe)
                self._pipes.append(transport)
            await self._pid
        except OSError:
            await self._over.wait()
            raise
        except BaseException:
            # The supervisor notices the closed socket and ends everything.
            self._control.close()
            raise

    # Messages from the supervisor

    def _heard(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "exited":
            self._exited(int(rest))
        elif self._pid.done():
            return
        elif word == "started":
            self._pid.set_result(int(rest))
        else:
            self._pid.set_exception(OSError(rest))

    def _unsupervised(self) -> None:
        assert self._supervisor is not None
        self._over.set()
        if not self._pid.done():
            self._pid.set_exception(OSError("its supervisor ended at once"))
        if self._code is None:
            # Killed from outside. Linux kills the leader with it, and its exit code is lost.
            self._kill()
            self._exited(-signal.SIGKILL)
        # The socket closes just before the process ends.
        self._supervisor.wait()

    def _exited(self, code: int) -> None:
        self._code = code
        self._loop.call_later(_LAST_WORDS, self._end)
        self._end_when_read()

    # Output from the pipes

    def _read(self) -> None:
        self._open -= 1
        self._end_when_read()

    def _end_when_read(self) -> None:
        if self._code is not None and not self._open:
            self._end()

    def _end(self) -> None:
        self._returncode = self._code
        self._ended.set()

    def _kill(self) -> None:
        if self._pid.done() and not self._pid.cancelled() and self._pid.exception() is None:
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
        if self._supervisor is not None:
            self._supervisor.kill()


class _Output(asyncio.Protocol):
    """Reads one stream until it ends."""

    def __init__(self, log: Log, read: Callable[[], None]) -> None:
        self._log = log
        self._read = read

    def data_received(self, data: bytes) -> None:
        self._log.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._log.close()
        self._read()


class _Control(asyncio.Protocol):
    """Our end of the supervisor's socket."""

    def __init__(self, heard: Callable[[str], None], closed: Callable[[], None]) -> None:
        self._heard = heard
        self._closed = closed
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._heard(line.decode("utf-8", "replace"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed()


async def start_process(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdout: Log,
    stderr: Log,
    pass_fds: Sequence[int] = (),
) -> ForeignProcess:
    """Start `command` with exactly these variables and inherited file descriptors.

    Raises EpisodeError with cause sandbox_failed.
    """
    _check(command, cwd)
    process = ForeignProcess(stdout, stderr)
    try:
        await process.start(command, cwd, env, pass_fds)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        message = f"{command[0]} cannot be started in {cwd}: {reason}; is it installed and executable?"
        raise EpisodeError(Cause.SANDBOX_FAILED, message, stderr=process.stderr_tail()) from error
    return process


def _check(command: Sequence[str], cwd: Path) -> None:
    if not command:
        raise EpisodeError(Cause.SANDBOX_FAILED, f"nothing to start in {cwd}: the command is empty")
    if not cwd.is_dir():
        raise EpisodeError(Cause.SANDBOX_FAILED, f"{command[0]} cannot be started in {cwd}: no such directory")
