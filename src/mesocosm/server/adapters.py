"""Environments of a server as benchmarks of kind `hosted`, and the adapters in which a worker runs them.

A server opens them only to plan runs. A worker runs them: one sandboxed adapter per environment version, shared by all
runs of that worker, and a fixed number of episode slots, shared fairly between runs.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import msgspec

from mesocosm.core.failure import (
    Cause,
    EpisodeError,
    InfrastructureError,
    MesocosmError,
    RunAborted,
    UnknownName,
    UsageError,
)
from mesocosm.core.ports import Benchmark
from mesocosm.core.registry import AGENTS, OptionRoles, declares_options
from mesocosm.core.run import HOSTED, BenchmarkRef
from mesocosm.core.scan_question import SCAN
from mesocosm.core.task import Task
from mesocosm.engine.scan_benchmark import ScanAgent
from mesocosm.environments.adapter import Adapter, AdapterSettings
from mesocosm.environments.benchmark import IDLE_S, MAX_ANSWER, EnvironmentBenchmark, EnvironmentOptions
from mesocosm.environments.client import Host, HttpEnvironment, Timeouts
from mesocosm.environments.manifest import Manifest, load_manifest, served_manifest
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError
from mesocosm.http.target import visible
from mesocosm.server.builds.build import ensure_built
from mesocosm.server.builds.launcher import NoLauncher, SandboxLauncher, SocketRouter
from mesocosm.server.episode_slots import EpisodeSlots, RunSlots
from mesocosm.server.evaluations.hosted_rollout import HostedRollout, open_hosted_rollout
from mesocosm.server.evaluations.hosted_scan import HostedScan, hosted_scan_agent, open_hosted_scan
from mesocosm.server.evaluations.hosted_suite import HostedSuite, open_hosted_suite
from mesocosm.server.service import Service
from mesocosm.server.settings import Settings

REMOTE_S = 15.0
"""Seconds until a remote environment must answer GET /health."""


class HostedOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the kind `hosted`. No option is part of a run's identity; the content digest is.

    `environment` and `version` identify a submitted version that workers start. `env_url` is the URL of a remote
    environment, and `domain` the document of its domain. `rollout` is a rollout with its dataset instead, `suite` a
    built-in benchmark, `scan` a question about the episodes of a run.
    """

    environment: str = ""
    version: int = 0
    env_url: str = ""
    domain: dict[str, Any] | None = None
    rollout: HostedRollout | None = None
    suite: HostedSuite | None = None
    scan: HostedScan | None = None


@dataclass(slots=True)
class _Binding:
    """The service and the adapter pool with which this process opens benchmarks."""

    service: Service | None = None
    pool: "AdapterPool | None" = None


_binding = _Binding()


def bind(service: Service, pool: "AdapterPool | None" = None) -> None:
    """Set the service and the adapter pool for hosted environments in this process.

    Without a pool, as in a server, their info, tasks and digest are known, but they cannot run.
    """
    _binding.service, _binding.pool = service, pool


@declares_options(OptionRoles(local=frozenset({"rollout.run_id", "rollout.user_id", "rollout.options.workers"})))
def open_hosted(ref: BenchmarkRef) -> Benchmark:
    """Return the benchmark of `ref`, with the id of its domain, rollout or benchmark in `source`.

    Raises UsageError for invalid options and outside of servers and workers, UnknownName if the version was deleted.
    """
    service, pool = _binding.service, _binding.pool
    if service is None:
        raise UsageError(
            f"{ref.source!r} is hosted by a server and played by its workers; start the run there "
            "(`mesocosm auth login`, then `mesocosm run create`, `mesocosm run resume` or `mesocosm eval submit`)"
        )
    try:
        options = msgspec.convert(ref.options, HostedOptions)
    except msgspec.ValidationError as error:
        raise UsageError(f"options of benchmark kind {HOSTED!r}: {error}") from error
    if options.rollout is not None:
        return open_hosted_rollout(service, pool, options.rollout)
    if options.suite is not None:
        return open_hosted_suite(service, options.suite)
    if options.scan is not None:
        return open_hosted_scan(service, options.scan)
    if options.environment:
        version = service.store.environments.version(options.environment, options.version)
        if version is None or not version.manifest:
            raise UnknownName(
                f"version {options.version} of environment {options.environment} is not there any more; "
                "run the newest one"
            )
        submitted = SubmittedVersion(options.environment, options.version, version.digest)
        contract = _contract(ref.source, json.loads(version.manifest))
        return HostedBenchmark(contract, submitted, service.settings, pool)
    if not options.env_url or options.domain is None:
        raise UsageError(
            f"domain {ref.source!r} names neither an environment nor its address; options are `environment` and "
            "`version`, or `env_url` and `domain`"
        )
    remote = RemoteEnvironment(options.env_url, private=service.settings.private_env_urls)
    return HostedBenchmark(_contract(ref.source, options.domain), remote, service.settings, pool)


@AGENTS.register(SCAN)
def open_scan_agent(options: Mapping[str, Any]) -> ScanAgent:
    """Return the agent of a scan. Raises UsageError outside of servers and workers, and for invalid options."""
    if _binding.service is None:
        raise UsageError("scans on a server are played by its workers; on this machine: mesocosm scan")
    try:
        return hosted_scan_agent(_binding.service, options)
    except msgspec.ValidationError as error:
        raise UsageError(f"options of the agent {SCAN!r}: {error}; it belongs to scans alone") from error


def _contract(domain_id: str, document: dict[str, Any]) -> Manifest:
    """Return the manifest in a document; its adapter file may be missing on this machine."""
    return served_manifest(domain_id, document, domain_id=domain_id)


@dataclass(frozen=True, slots=True)
class SubmittedVersion:
    """A submitted version that a worker starts; `digest` covers everything that can change its behaviour."""

    environment_id: str
    version: int
    digest: str


@dataclass(frozen=True, slots=True)
class RemoteEnvironment:
    """A remote environment; `private` allows addresses in the private network."""

    url: str
    private: bool = False


class HostedBenchmark(EnvironmentBenchmark):
    """An environment of a server, with seeds as tasks. Implements core.ports.Benchmark.

    Its info comes from the document alone, so the server that plans a run and the worker that executes it agree on it.
    All runs of a worker share its episode slots, and all runs of a version share its adapter.
    """

    def __init__(
        self,
        manifest: Manifest,
        source: SubmittedVersion | RemoteEnvironment,
        settings: Settings,
        pool: "AdapterPool | None" = None,
    ) -> None:
        super().__init__(manifest, EnvironmentOptions())
        self.source = source
        self._settings = settings
        self._pool = pool
        if isinstance(source, SubmittedVersion):
            self._info = msgspec.structs.replace(self._info, digest=source.digest)
        self._lease: AdapterLease | None = None
        self._slots: RunSlots | None = None

    async def open(self, notice: Callable[[str], None]) -> None:
        """Lease the adapter of this version, starting it if needed.

        Raises UsageError outside of workers or if the URL is no environment, RunAborted if the adapter cannot be
        started, EpisodeError if a remote environment does not answer.
        """
        if self._pool is None:
            raise UsageError(f"environment {self.manifest.id!r} is played by workers, and this process is not one")
        self._lease = await self._pool.lease(self.manifest, self.source, notice)
        self._slots = self._pool.slots.join()
        self._info = msgspec.structs.replace(self._info, oracle=self._lease.oracle)

    async def environment(self, task: Task, episode_id: str) -> "HostedEnvironment":
        """Wait for a slot and return the environment of one episode.

        Raises RunAborted if the benchmark is not open, or if its adapter keeps exiting.
        """
        lease, slots = self._lease, self._slots
        if lease is None or slots is None:
            raise RunAborted(f"environment {self.manifest.id!r} was not opened, or is closed")
        await slots.acquire()
        try:
            world = HostedEnvironment(
                lease.client,
                await lease.host(),
                episode_id,
                task.seed,
                renewed=lease.host,
                timeouts=Timeouts(self._settings.step_s, self._settings.step_s),
                most_bytes=self._settings.episode_mb * 2**20,
                contract=self._contract,
            )
        except BaseException:
            slots.release()
            raise
        world.slots = slots
        return world

    def pause(self, paused: bool) -> None:
        """Let other runs use the capacity of this run while its model endpoint does not answer."""
        if self._pool is not None and self._slots is not None:
            self._pool.pause(self._slots, paused=paused)

    async def close(self) -> None:
        """Release slots and adapter. The adapter ends after it has been idle for a while."""
        self.pause(False)  # noqa: FBT003
        lease, self._lease = self._lease, None
        slots, self._slots = self._slots, None
        if slots is not None:
            slots.end()
        if lease is not None:
            await lease.release()


class HostedEnvironment(HttpEnvironment):
    """The environment of one episode, which holds one of `slots` until it is closed."""

    __slots__ = ("slots",)

    slots: RunSlots | None

    async def close(self) -> None:
        """End the episode and release its slot."""
        slots, self.slots = self.slots, None
        try:
            await super().close()
        finally:
            if slots is not None:
                slots.release()


class AdapterPool:
    """The adapters of this worker. Belongs to one event loop; `close` ends every adapter.

    It contains at most `most` adapters (default: the setting `runs_at_once`), plus one per paused run. An idle adapter
    ends after `environment_idle_s`, or earlier if another one needs its place. `slots` are the episode slots.
    """

    def __init__(self, service: Service, *, most: int | None = None) -> None:
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
        """Number of runs that are paused because their model endpoint does not answer."""
        return len(self._paused)

    @property
    def size(self) -> int:
        """Number of adapters."""
        return len(self._adapters)

    def pause(self, run: RunSlots, *, paused: bool) -> None:
        """Let other runs use the slots and the adapter place of a run while it is paused."""
        (self._paused.add if paused else self._paused.discard)(run)
        run.pause(paused=paused)
        self._start(self._notify())

    async def lease(
        self, manifest: Manifest, source: SubmittedVersion | RemoteEnvironment, notice: Callable[[str], None]
    ) -> "AdapterLease":
        """Return a lease of the adapter of a version, or of the connection to a remote environment.

        Raises RunAborted with the adapter's output if it cannot be started; EpisodeError (environment_unreachable) if
        it cannot be reached; UsageError if the server at the URL is no environment.
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
        """End every adapter, even if it is in use."""
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
        """Return the adapter of a version and count one more user; wait while the pool is full of used adapters."""
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
        try:
            built = await ensure_built(self._service, source.environment_id, source.version)
        except InfrastructureError as error:
            # Abort the run: retrying it would not help.
            raise RunAborted(str(error)) from error
        # The run's signature contains the digest of the submitted content, so other files must not run under it.
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
    """Raise EpisodeError if /health at `url` cannot be reached, its address is not allowed, or it answers 5xx."""
    try:
        status = (await client.request("GET", f"{url.rstrip('/')}/health", timeout=REMOTE_S)).status
        why = f"GET /health answered status {status}" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else ""
    except HttpError as error:
        why = error.cause
    if why:
        raise EpisodeError(Cause.ENVIRONMENT_UNREACHABLE, f"the environment at {visible(url)} cannot be reached: {why}")


class _SharedAdapter:
    """The adapter of one environment version in this worker, and the number of runs that use it."""

    def __init__(self, key: tuple[str, int]) -> None:
        self.key = key
        self.users = 0
        self.adapter: Adapter | None = None
        self.broken = False
        self.lock = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None

    def cancel_timer(self) -> None:
        """Cancel the timer that ends an idle adapter."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def call_later(self, seconds: float, action: Callable[[], None]) -> None:
        """Call `action` after `seconds`, unless `cancel_timer` is called first."""
        self.cancel_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, action)


class AdapterLease:
    """The use of an adapter by one run until it is released. `client` connects to its hosts."""

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
        """Whether the environment reports an oracle."""
        return self._adapter.oracle

    async def host(self) -> Host:
        """Return a running server. Raises RunAborted with its output if it keeps exiting."""
        try:
            return await self._adapter.host()
        except RunAborted:
            # The pool ends a broken adapter, so the next run starts a new one.
            if self._shared is not None:
                self._shared.broken = True
            raise

    async def release(self) -> None:
        """End the lease. Safe to call again."""
        shared, self._shared = self._shared, None
        if shared is not None:
            await self._release(shared)
