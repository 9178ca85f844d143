"""Start an adapter on a free port, in its own directory, and wait until it responds."""

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from mesocosm.core.failure import Cause, EpisodeError, RunAborted
from mesocosm.environments.sockets import listening_ports
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError
from mesocosm.sandboxes.health import wait_healthy
from mesocosm.sandboxes.port import free_port
from mesocosm.sandboxes.process import ForeignProcess

TAKEN = ("address already in use", "eaddrinuse", "errno 98", "errno 48", "winerror 10048")
TRIES = 3
"""Attempts to start. Another program may take the free port before the adapter does; then another port is tried."""

STRAY_S = 2.0
"""Seconds between checks of the ports that an adapter opened; each check reads the process table."""

LOOK_S = 2.0
EXIT_S = 1.0
"""Seconds to wait for a process to exit after its connection failed."""

LINES = 20
_HINT = "\nAn adapter serves until it is stopped: does it call serve(…) when it is run as a script?"


class ServerPlace(Protocol):
    """A core.ports.Sandbox with processes that can be awaited."""

    async def start(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None, port: int | None = None
    ) -> ForeignProcess:
        """Start `command` in `cwd`; it will listen on `port`. Raise EpisodeError with cause sandbox_failed."""
        ...


class Launched:
    """An adapter started by this process. Implements environments.client.Host."""

    def __init__(self, name: str, process: ForeignProcess, url: str) -> None:
        self.name = name
        self.process = process
        self.url = url

    def stderr(self) -> str:
        """Return the last lines of its stderr, or of its stdout if stderr is empty."""
        return self.process.stderr_tail(LINES) or self.process.stdout_tail(LINES)

    async def exited(self) -> str:
        """Return how it ended, "" if it is still running after EXIT_S seconds."""
        try:
            async with asyncio.timeout(EXIT_S):
                code = await self.process.wait()
        except TimeoutError:
            return ""
        return f"{self.name} was killed by signal {-code}" if code < 0 else f"{self.name} ended with exit code {code}"


async def launch(
    adapter: Path, place: ServerPlace, client: HttpClient, *, python: str = "", seconds: float = 30.0
) -> Launched:
    """Start `adapter --port N` in its directory and return it once GET /health succeeds.

    Raise RunAborted, with the last lines that it wrote, if it cannot be started, exits, listens on another port, or
    does not respond within `seconds`.
    """

    def command(port: int) -> Sequence[str]:
        return [python or sys.executable, adapter.name, "--port", str(port)]

    try:
        return await launch_command(adapter.name, command, adapter.parent, place, client, seconds=seconds)
    except RunAborted as error:
        ends = isinstance(error.__cause__, EndedEarly) and error.__cause__.code == 0
        raise RunAborted(f"{adapter}: {error}{_HINT if ends else ''}") from error


class EndedEarly(EpisodeError):
    """A server did not come up; `code` is the exit code of its process, None if that still ran."""

    def __init__(self, error: EpisodeError, code: int | None) -> None:
        super().__init__(error.cause, str(error), detail=error.detail, stderr=error.stderr)
        self.code = code


async def launch_command(
    name: str,
    command: Callable[[int], Sequence[str]],
    cwd: Path,
    place: ServerPlace,
    client: HttpClient,
    *,
    seconds: float = 30.0,
) -> Launched:
    """Start the command for a free port in `cwd` and return it, called `name`, once GET /health succeeds.

    Raise RunAborted as `launch` does; its cause is EndedEarly if the process was started.
    """
    for left in reversed(range(TRIES)):
        port = free_port()
        try:
            process = await place.start(command(port), cwd=cwd, port=port)
        except EpisodeError as error:
            raise RunAborted(str(error)) from error
        try:
            await _answering(process, port, client, seconds)
        except EpisodeError as error:
            await process.stop()
            if not left or not any(sign in error.stderr.lower() for sign in TAKEN):
                raise RunAborted(str(error)) from EndedEarly(error, process.returncode)
        except BaseException:
            await process.stop()
            raise
        else:
            return Launched(name, process, f"http://127.0.0.1:{port}")
    raise AssertionError("the last try returns or raises")


def quoted(words: str) -> str:
    """Return the last lines of a process as an indented block to append to a message."""
    return "; its last words:\n" + "\n".join(f"  | {line}" for line in words.splitlines()) if words else ""


async def _answering(process: ForeignProcess, port: int, client: HttpClient, seconds: float) -> None:
    """Return once the adapter is healthy on `port`. Raise EpisodeError with cause sandbox_failed."""
    health = asyncio.create_task(wait_healthy(f"http://127.0.0.1:{port}/health", process, seconds, client=client))
    stray = asyncio.create_task(_stray(process, port, client))
    try:
        await asyncio.wait({health, stray}, return_when=asyncio.FIRST_COMPLETED)
        if not health.done():
            words = process.stderr_tail(LINES)
            message = f"answers at port {stray.result()}, not at {port}, which it was given as --port{quoted(words)}"
            raise EpisodeError(Cause.SANDBOX_FAILED, message)
        health.result()
    finally:
        health.cancel()
        stray.cancel()
        await asyncio.gather(health, stray, return_exceptions=True)


async def _stray(process: ForeignProcess, port: int, client: HttpClient) -> int:
    """Wait until the adapter is healthy on a port other than `port`, and return that port."""
    while True:
        await asyncio.sleep(STRAY_S)
        for other in sorted(listening_ports(process.pid) - {port}):
            try:
                response = await client.request("GET", f"http://127.0.0.1:{other}/health", timeout=LOOK_S)
            except HttpError:
                continue
            if response.status == 200:
                return other
