"""A hosted environment as a benchmark: facts everywhere, episodes where there are hosts."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from mesocosm.core.episode import Episode
from mesocosm.core.failure import RunAborted, UsageError
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Observation, Step
from mesocosm.core.run import Selection
from mesocosm.core.score import Score
from mesocosm.core.space import Space
from mesocosm.core.task import Task
from mesocosm.environments.benchmark import EnvironmentBenchmark, Options
from mesocosm.environments.client import HttpEnvironment, Timeouts
from mesocosm.environments.contract import Contract
from mesocosm.environments.manifest import Manifest
from mesocosm.server.adapters.share import Member
from mesocosm.server.settings import Settings

if TYPE_CHECKING:
    from mesocosm.server.adapters.hosts import Hosts, Lent


@dataclass(frozen=True, slots=True)
class Sandboxed:
    """A submission that we start ourselves; `digest` is that of everything that can change its behaviour."""

    environment_id: str
    version: int
    digest: str


@dataclass(frozen=True, slots=True)
class Remote:
    """An environment that runs elsewhere; with `private` also at an address inside our network."""

    url: str
    private: bool = False


class HostedBenchmark:
    """An environment of a platform, with seeds as tasks. Implements core.ports.Benchmark.

    Its facts come from the document alone, so a server that plans a run and a worker that plays it agree on them.
    Episodes of all runs of a worker share its slots, and runs of one version share its adapter.
    """

    def __init__(
        self, manifest: Manifest, place: Sandboxed | Remote, settings: Settings, hosts: "Hosts | None" = None
    ) -> None:
        self.manifest = manifest
        self.place = place
        self._settings = settings
        self._hosts = hosts
        self._contract = EnvironmentBenchmark(manifest, Options())
        digest = place.digest if isinstance(place, Sandboxed) else self._contract.info.digest
        self._info = msgspec.structs.replace(self._contract.info, digest=digest)
        self._lent: Lent | None = None
        self._member: Member | None = None

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
        """Take part in the adapter of this version, starting it where nobody did.

        Raises UsageError, RunAborted, and EpisodeError when an environment at an address does not answer.
        """
        if self._hosts is None:
            raise UsageError(f"environment {self.manifest.id!r} is played by workers; this process is none")
        self._lent = await self._hosts.lend(self.manifest, self.place, notice)
        self._member = self._hosts.share.member()
        self._info = msgspec.structs.replace(self._info, oracle=self._lent.oracle)

    async def environment(self, task: Task, episode_id: str) -> "HostedEnvironment":
        """Return the world of one episode once there is a slot for it. Raises RunAborted when it is gone for good."""
        lent, member = self._lent, self._member
        if lent is None or member is None:
            raise RunAborted(f"environment {self.manifest.id!r} was not opened, or is closed")
        await member.enter()
        try:
            world = HttpEnvironment(
                lent.client,
                await lent.host(),
                episode_id,
                task.seed,
                renewed=lent.host,
                timeouts=Timeouts(self._settings.step_s, self._settings.step_s),
                most_bytes=self._settings.episode_mb * 2**20,
                contract=Contract(self.manifest.vow.observation_space, self.manifest.vow.action_space),
            )
        except BaseException:
            member.leave()
            raise
        return HostedEnvironment(world, member)

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return the value of every metric that the manifest defines."""
        return await self._contract.grade(task, episode)

    def pause(self, paused: bool) -> None:
        """Lend slots and adapter to other runs while an endpoint of this one does not answer."""
        if self._hosts is not None and self._member is not None:
            self._hosts.pause(self._member, paused=paused)

    async def close(self) -> None:
        """Give the adapter back; it ends when nobody has used it for a while."""
        self.pause(False)  # noqa: FBT003
        lent, self._lent = self._lent, None
        member, self._member = self._member, None
        if member is not None:
            member.end()
        if lent is not None:
            await lent.give_back()


class HostedEnvironment:
    """The world of one episode, and the slot that it takes until it is closed. Implements core.ports.Environment."""

    __slots__ = ("_member", "_world")

    def __init__(self, world: HttpEnvironment, member: Member) -> None:
        self._world = world
        self._member: Member | None = member

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
        """Say that the episode is over, and give the slot back."""
        member, self._member = self._member, None
        try:
            await self._world.close()
        finally:
            if member is not None:
                member.leave()
