"""Start adapters of submissions in a sandbox without network or access to this worker, and connect to them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn, cast
from urllib.parse import urlsplit

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.environments.benchmark import IDLE_S, MAX_ANSWER
from mesocosm.http.client import HttpClient, OwnConnection
from mesocosm.http.errors import ConnectFailed
from mesocosm.http.response import Response
from mesocosm.sandboxes.process import ForeignProcess
from mesocosm.sandboxes.sandboxed_process import SandboxedProcess
from mesocosm.server.builds.directory import BuiltVersion
from mesocosm.server.builds.sandbox import adapter_sandbox
from mesocosm.server.settings import Settings


class SocketRouter(HttpClient):
    """An HTTP client for many sandboxed servers: the port of a URL selects the Unix socket of its server.

    Each server of a router has a different port.
    """

    def __init__(self) -> None:
        super().__init__(idle_timeout=IDLE_S, max_response=MAX_ANSWER)
        self._clients: dict[int, HttpClient] = {}

    def add(self, port: int, socket: Path) -> None:
        """Send requests for `port` to `socket`."""
        self._clients[port] = HttpClient(socket=socket, idle_timeout=IDLE_S, max_response=MAX_ANSWER)

    async def drop(self, port: int) -> None:
        """Remove the route of a server that has ended."""
        client = self._clients.pop(port, None)
        if client is not None:
            await client.close()

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] = {},
        body: bytes | None = None,
        timeout: float,  # noqa: ASYNC109 -- as in Client
        resend: bool = True,
        own: OwnConnection | None = None,
    ) -> Response:
        """Send one request to the server at the port of the URL. Raises HttpError."""
        client = self._clients.get(urlsplit(url).port or 0)
        if client is None:
            raise ConnectFailed(method, url, "the environment that listened there has ended")
        return await client.request(method, url, headers=headers, body=body, timeout=timeout, resend=resend, own=own)

    async def close(self) -> None:
        """Close all connections and remove all routes."""
        for port in list(self._clients):
            await self.drop(port)
        await super().close()


class SandboxLauncher:
    """Starts adapters of one built version. Implements environments.launch.ServerPlace.

    They get only the environment variables passed to `start`, none of this worker.
    """

    def __init__(self, settings: Settings, built: BuiltVersion, router: SocketRouter) -> None:
        self._settings = settings
        self._built = built
        self._router = router

    async def start(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None, port: int | None = None
    ) -> ForeignProcess:
        """Start `command`; only this worker can reach its port. Raises EpisodeError with cause sandbox_failed."""
        assert port is not None
        sandbox = adapter_sandbox(self._settings, self._built)
        sandboxed = await sandbox.serve(command, cwd=cwd, port=port, env=dict(env or {}), logs=self._built.logs)
        self._router.add(port, sandboxed.socket)
        return cast(ForeignProcess, _RoutedProcess(sandboxed, port, self._router))


class _RoutedProcess:
    """A sandboxed server as a ForeignProcess: stopping it removes its route, and `stderr_tail` names a broken limit."""

    def __init__(self, sandboxed: SandboxedProcess, port: int, router: SocketRouter) -> None:
        self._sandboxed = sandboxed
        self._port = port
        self._router = router

    @property
    def pid(self) -> int:
        """Process id of the leader."""
        return self._sandboxed.pid

    @property
    def returncode(self) -> int | None:
        """Exit code, negative for a signal; None while it runs."""
        return self._sandboxed.returncode

    def stdout_tail(self, lines: int = 20) -> str:
        """Return the last lines that it wrote to stdout."""
        return self._sandboxed.stdout_tail(lines)

    def stderr_tail(self, lines: int = 20) -> str:
        """Return the last lines that it wrote to stderr, and the limit that ended it if one did."""
        return "\n".join(part for part in (self._sandboxed.stderr_tail(lines), self._sandboxed.reason) if part)

    async def wait(self) -> int:
        """Wait for its end and return its exit code."""
        return await self._sandboxed.wait()

    async def stop(self, grace: float = 5.0) -> None:
        """End the whole process tree."""
        try:
            await self._sandboxed.stop(grace)
        finally:
            await self._router.drop(self._port)


class NoLauncher:
    """The launcher of remote environments, which starts nothing. Implements environments.launch.ServerPlace."""

    async def start(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None, port: int | None = None
    ) -> NoReturn:
        """Raise EpisodeError with cause sandbox_failed."""
        del cwd, env, port
        raise EpisodeError(Cause.SANDBOX_FAILED, f"{command[0]} is not started: the environment runs elsewhere")
