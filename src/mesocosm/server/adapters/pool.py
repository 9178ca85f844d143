"""The adapters of a worker: one sandboxed process per environment version, shared by all of its runs."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from mesocosm.core.failure import Cause, EpisodeError, InfrastructureError, MesocosmError, RunAborted
from mesocosm.environments.adapter import Adapter, AdapterSettings
from mesocosm.environments.benchmark import IDLE_S, MAX_ANSWER
from mesocosm.environments.client import Host
from mesocosm.environments.manifest import Manifest, load_manifest
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError
from mesocosm.http.target import visible
from mesocosm.server.adapters.benchmark import RemoteEnvironment, SubmittedVersion
from mesocosm.server.adapters.launcher import NoLauncher, SandboxLauncher, SocketRouter
from mesocosm.server.adapters.slots import EpisodeSlots, RunSlots

if TYPE_CHECKING:
    from mesocosm.server.service import Service


REMOTE_S = 15.0
"""Seconds that a remote environment has to answer at all."""


class AdapterPool:
    """The adapters that the runs of this worker play in. Belongs to one event loop; `close` ends every adapter.

    It holds at most as many adapters as runs at once, not counting those of paused runs. An idle one makes room for
    another, and ends by itself after `environment_idle_s`. `slots` are the slots for episodes.
    """

    def __init__(self, service: "Service", *, most: int | None = None) -> None:
        self.slots = EpisodeSlots(service.settings.episodes_at_once)
        self._service = service
        self._most = most or service.settings.runs_at_once
        self._router = SocketRouter()
        self._adapters: dict[tuple[str, int], _SharedAdapter] = {}
        self._changed = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()
        self._paused: set[RunSlots] = set()

    @property
    def paused(self) -> int:
        """How many runs wait for an endpoint that does not answer."""
        return len(self._paused)

    @property
    def size(self) -> int:
        """How many adapters there are."""
        return len(self._adapters)

    def pause(self, run: RunSlots, *, paused: bool) -> None:
        """Lend the slots of a run, and the room of its adapter, to others while it waits for an endpoint."""
        (self._paused.add if paused else self._paused.discard)(run)
        run.pause(paused=paused)
        self._start(self._notify())

    async def lease(
        self, manifest: Manifest, source: SubmittedVersion | RemoteEnvironment, notice: Callable[[str], None]
    ) -> "AdapterLease":
        """Return a lease of the adapter of a version, or of the connection to a remote one.

        Raises RunAborted when it cannot be started, with its output; EpisodeError (environment_unreachable) when it
        cannot be reached; UsageError when what answers is no environment.
        """
        if isinstance(source, RemoteEnvironment):
            return await self._remote(manifest, source, notice)
        shared = await self._join((source.environment_id, source.version))
        try:
            async with shared.lock:
                if shared.adapter is None:
                    await self._open(shared, manifest.id, source, notice)
        except BaseException as error:
            shared.broken = shared.broken or isinstance(error, MesocosmError)
            await self._release(shared)
            raise
        assert shared.adapter is not None
        return AdapterLease(shared.adapter, self._router, shared, self._release)

    async def close(self) -> None:
        """End every adapter, used or not."""
        async with self._changed:
            for shared in list(self._adapters.values()):
                await self._end(shared)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._router.close()

    async def _remote(
        self, manifest: Manifest, remote: RemoteEnvironment, notice: Callable[[str], None]
    ) -> "AdapterLease":
        client = HttpClient(public_only=not remote.private, idle_timeout=IDLE_S, max_response=MAX_ANSWER)
        adapter = Adapter(manifest, AdapterSettings(remote.url, explicit=True), client, NoLauncher())
        try:
            await _check_reachable(client, remote.url)
            await adapter.open(notice)
        except BaseException:
            await client.close()
            raise

        async def closed(_: "_SharedAdapter") -> None:
            try:
                await adapter.close()
            finally:
                await client.close()

        return AdapterLease(adapter, client, _SharedAdapter((remote.url, 0)), closed)

    async def _join(self, key: tuple[str, int]) -> "_SharedAdapter":
        """Return the adapter of a version with one more user; wait while the pool is full of others in use."""
        async with self._changed:
            while True:
                shared = self._adapters.get(key)
                if shared is not None:
                    break
                if len(self._adapters) < self._most + len(self._paused):
                    shared = self._adapters[key] = _SharedAdapter(key)
                    break
                idle = next((other for other in self._adapters.values() if not other.users), None)
                if idle is not None:
                    await self._end(idle)
                else:
                    await self._changed.wait()
            shared.users += 1
            shared.cancel_timer()
            return shared

    async def _open(
        self, shared: "_SharedAdapter", domain_id: str, source: SubmittedVersion, notice: Callable[[str], None]
    ) -> None:
        from mesocosm.server.builds.build import ensure_built

        try:
            built = await ensure_built(self._service, source.environment_id, source.version)
        except InfrastructureError as error:
            # Trying the same run again would not help.
            raise RunAborted(str(error)) from error
        # The run's signature names the digest of the submitted content; other files must not be played under it.
        if built.digest != source.digest:
            raise RunAborted(
                f"version {source.version} of environment {source.environment_id} on this machine is not what was "
                "submitted; submit it again"
            )
        manifest = load_manifest(built.manifest, domain_id=domain_id)
        settings = self._service.settings
        start = AdapterSettings(python=str(built.python), start_timeout=settings.start_s)
        adapter = Adapter(manifest, start, self._router, SandboxLauncher(settings, built, self._router))
        try:
            await adapter.open(notice)
        except BaseException:
            await adapter.close()
            raise
        shared.adapter = adapter

    async def _release(self, shared: "_SharedAdapter") -> None:
        async with self._changed:
            shared.users -= 1
            if not shared.users and self._adapters.get(shared.key) is shared:
                idle = self._service.settings.environment_idle_s
                if shared.broken or shared.adapter is None or not idle:
                    await self._end(shared)
                else:
                    shared.call_later(idle, lambda: self._start(self._end_idle(shared)))
            self._changed.notify_all()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _end_idle(self, shared: "_SharedAdapter") -> None:
        async with self._changed:
            if not shared.users:
                await self._end(shared)
                self._changed.notify_all()

    async def _end(self, shared: "_SharedAdapter") -> None:
        shared.cancel_timer()
        if self._adapters.get(shared.key) is shared:
            del self._adapters[shared.key]
        adapter, shared.adapter = shared.adapter, None
        if adapter is not None:
            with suppress(OSError):
                await adapter.close()


async def _check_reachable(client: HttpClient, url: str) -> None:
    """Raise EpisodeError that says why nothing answers at `url`, also where its address is not allowed."""
    try:
        status = (await client.request("GET", f"{url.rstrip('/')}/health", timeout=REMOTE_S)).status
        why = f"GET /health answered status {status}" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else ""
    except HttpError as error:
        why = error.cause
    if why:
        raise EpisodeError(Cause.ENVIRONMENT_UNREACHABLE, f"the environment at {visible(url)} cannot be reached: {why}")


class _SharedAdapter:
    """The adapter of one environment version in this worker, and how many runs use it."""

    def __init__(self, key: tuple[str, int]) -> None:
        self.key = key
        self.users = 0
        self.adapter: Adapter | None = None
        self.broken = False
        self.lock = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None

    def cancel_timer(self) -> None:
        """Do not end for being idle."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def call_later(self, seconds: float, action: Callable[[], None]) -> None:
        """Call `action` after `seconds` unless `cancel_timer` comes first."""
        self.cancel_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, action)


class AdapterLease:
    """The use of an adapter by one run until it is released. `client` reaches its hosts."""

    def __init__(
        self,
        adapter: Adapter,
        client: HttpClient,
        shared: _SharedAdapter,
        release: Callable[[_SharedAdapter], Awaitable[None]],
    ) -> None:
        self.client = client
        self._adapter = adapter
        self._shared: _SharedAdapter | None = shared
        self._release = release

    @property
    def oracle(self) -> bool:
        """Whether the environment says that it has an oracle."""
        return self._adapter.oracle

    async def host(self) -> Host:
        """Return a living server. Raises RunAborted, with its output, when it ends again and again."""
        try:
            return await self._adapter.host()
        except RunAborted:
            # The next run begins with a new one.
            if self._shared is not None:
                self._shared.broken = True
            raise

    async def release(self) -> None:
        """End the lease."""
        shared, self._shared = self._shared, None
        if shared is not None:
            await self._release(shared)
