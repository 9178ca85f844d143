"""Environments of a server as benchmarks, kind `hosted`: facts everywhere, episodes where there are adapters."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from mesocosm.core.episode import Episode
from mesocosm.core.failure import RunAborted, UnknownName, UsageError
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Observation, Step
from mesocosm.core.run import HOSTED, BenchmarkRef, Selection
from mesocosm.core.score import Score
from mesocosm.core.space import Space
from mesocosm.core.task import Task
from mesocosm.environments.benchmark import EnvironmentBenchmark, EnvironmentOptions
from mesocosm.environments.client import HttpEnvironment, Timeouts
from mesocosm.environments.contract import Contract
from mesocosm.environments.manifest import Manifest, served_manifest
from mesocosm.server.adapters.slots import RunSlots
from mesocosm.server.settings import Settings

if TYPE_CHECKING:
    from mesocosm.server.adapters.pool import AdapterLease, AdapterPool
    from mesocosm.server.service import Service


class HostedOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the kind `hosted`. None is part of a run's identity; the content digest is.

    `environment` and `version` name a submission that this server starts itself. `env_url` is the address of an
    environment that runs elsewhere, and `domain` the document of its domain.
    """

    environment: str = ""
    version: int = 0
    env_url: str = ""
    domain: dict[str, Any] | None = None


@dataclass(slots=True)
class _Binding:
    """The server and the adapters that this process opens benchmarks with."""

    service: "Service | None" = None
    pool: "AdapterPool | None" = None


_binding = _Binding()


def bind(service: "Service", pool: "AdapterPool | None" = None) -> None:
    """Open hosted environments of `service` in this process, played with the adapters of `pool`.

    Without a pool, as in a server, their facts, tasks and digest are known, and they cannot be played.
    """
    _binding.service, _binding.pool = service, pool


def open_hosted(ref: BenchmarkRef) -> "HostedBenchmark":
    """Return the environment that `ref` names: `source` is the id of its domain.

    Raises UsageError for invalid options and outside of servers and workers, UnknownName where the version is gone.
    """
    service, pool = _binding.service, _binding.pool
    if service is None:
        raise UsageError(
            f"domain {ref.source!r} is hosted by a platform, whose workers alone play it; ask that platform for the "
            "run (`mesocosm auth login`, then `mesocosm run create` or `mesocosm run resume`)"
        )
    try:
        options = msgspec.convert(ref.options, HostedOptions)
    except msgspec.ValidationError as error:
        raise UsageError(f"options of benchmark kind {HOSTED!r}: {error}") from error
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


def _contract(domain_id: str, document: dict[str, Any]) -> Manifest:
    """Return the manifest in a document; the file of its adapter need not be on this machine."""
    return served_manifest(domain_id, document, domain_id=domain_id)


@dataclass(frozen=True, slots=True)
class SubmittedVersion:
    """A submission that a worker starts; `digest` covers everything that can change its behaviour."""

    environment_id: str
    version: int
    digest: str


@dataclass(frozen=True, slots=True)
class RemoteEnvironment:
    """An environment that runs elsewhere; `private` allows addresses of the private network."""

    url: str
    private: bool = False


class HostedBenchmark:
    """An environment of a server, with seeds as tasks. Implements core.ports.Benchmark.

    Its facts come from the document alone, so the server that plans a run and the worker that plays it agree on them.
    Episodes of all runs of a worker share its slots, and runs of one version share its adapter.
    """

    def __init__(
        self,
        manifest: Manifest,
        source: SubmittedVersion | RemoteEnvironment,
        settings: Settings,
        pool: "AdapterPool | None" = None,
    ) -> None:
        self.manifest = manifest
        self.source = source
        self._settings = settings
        self._pool = pool
        self._contract = EnvironmentBenchmark(manifest, EnvironmentOptions())
        digest = source.digest if isinstance(source, SubmittedVersion) else self._contract.info.digest
        self._info = msgspec.structs.replace(self._contract.info, digest=digest)
        self._lease: AdapterLease | None = None
        self._slots: RunSlots | None = None

    @property
    def info(self) -> BenchmarkInfo:
        """Facts of the document; `oracle` is known once the environment has answered."""
        return self._info

    @property
    def action_space(self) -> Space:
        """The declared space of actions."""
        return self._contract.action_space

    @property
    def observation_space(self) -> Space:
        """The declared space of observations."""
        return self._contract.observation_space

    def count(self, selection: Selection) -> int:
        """Return how many seeds `selection` picks."""
        return self._contract.count(selection)

    def tasks(self, selection: Selection) -> Iterator[Task]:
        """Yield a task for each seed."""
        return self._contract.tasks(selection)

    async def open(self, notice: Callable[[str], None]) -> None:
        """Lease the adapter of this version, starting it if needed.

        Raises UsageError, RunAborted, and EpisodeError when an environment at an address does not answer.
        """
        if self._pool is None:
            raise UsageError(f"environment {self.manifest.id!r} is played by workers, and this process is not one")
        self._lease = await self._pool.lease(self.manifest, self.source, notice)
        self._slots = self._pool.slots.join()
        self._info = msgspec.structs.replace(self._info, oracle=self._lease.oracle)

    async def environment(self, task: Task, episode_id: str) -> "HostedEnvironment":
        """Wait for a slot and return the environment of one episode. Raises RunAborted when it is gone for good."""
        lease, slots = self._lease, self._slots
        if lease is None or slots is None:
            raise RunAborted(f"environment {self.manifest.id!r} was not opened, or is closed")
        await slots.acquire()
        try:
            world = HttpEnvironment(
                lease.client,
                await lease.host(),
                episode_id,
                task.seed,
                renewed=lease.host,
                timeouts=Timeouts(self._settings.step_s, self._settings.step_s),
                most_bytes=self._settings.episode_mb * 2**20,
                contract=Contract(self.manifest.vow.observation_space, self.manifest.vow.action_space),
            )
        except BaseException:
            slots.release()
            raise
        return HostedEnvironment(world, slots)

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return the value of every metric that the manifest defines."""
        return await self._contract.grade(task, episode)

    def pause(self, paused: bool) -> None:
        """Lend slots and adapter to other runs while the endpoint of this one does not answer."""
        if self._pool is not None and self._slots is not None:
            self._pool.pause(self._slots, paused=paused)

    async def close(self) -> None:
        """Release the adapter, which ends once it has been idle for a while."""
        self.pause(False)  # noqa: FBT003
        lease, self._lease = self._lease, None
        slots, self._slots = self._slots, None
        if slots is not None:
            slots.end()
        if lease is not None:
            await lease.release()


class HostedEnvironment:
    """The environment of one episode, which holds a slot until it is closed. Implements core.ports.Environment."""

    __slots__ = ("_slots", "_world")

    def __init__(self, world: HttpEnvironment, slots: RunSlots) -> None:
        self._world = world
        self._slots: RunSlots | None = slots

    async def reset(self) -> Observation:
        """Start the episode."""
        return await self._world.reset()

    async def step(self, action: Any) -> Step:
        """Send one action, any JSON value."""
        return await self._world.step(action)

    async def oracle(self) -> Any:
        """Return the environment's own best action. Raises EpisodeError when it offers none."""
        return await self._world.oracle()

    async def close(self) -> None:
        """End the episode and release its slot."""
        slots, self._slots = self._slots, None
        try:
            await self._world.close()
        finally:
            if slots is not None:
                slots.release()
