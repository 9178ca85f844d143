"""The adapters of a worker: one enclosed process for each environment version, shared by all of its runs."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from mesocosm.core.failure import Cause, EpisodeError, InfrastructureError, MesocosmError, RunAborted
from mesocosm.environments.adapter import Adapter
from mesocosm.environments.adapter import Settings as Start
from mesocosm.environments.benchmark import IDLE_S, MAX_ANSWER
from mesocosm.environments.client import Host
from mesocosm.environments.manifest import Manifest, load_manifest
from mesocosm.http.client import Client
from mesocosm.http.errors import HttpError
from mesocosm.http.target import visible
from mesocosm.server.adapters.benchmark import Remote, Sandboxed
from mesocosm.server.adapters.lines import Lines
from mesocosm.server.adapters.place import Enclosing, Nowhere
from mesocosm.server.adapters.share import Member, Share

if TYPE_CHECKING:
    from mesocosm.server.service import Service


REMOTE_S = 15.0
"""Seconds that an environment elsewhere has to answer at all."""


class Hosts:
    """What runs of this worker play in. Belongs to one event loop; `close` ends every adapter.

    At most as many adapters as runs live at once, those of paused runs not counted; one that nobody uses makes room
    for another, and ends by itself after `environment_idle_s`. `share` are the slots for episodes.
    """

    def __init__(self, service: "Service", *, most: int | None = None) -> None:
        self.share = Share(service.settings.episodes_at_once)
        self._service = service
        self._most = most or service.settings.runs_at_once
        self._lines = Lines()
        self._stages: dict[tuple[str, int], _Stage] = {}
        self._changed = asyncio.Condition()
        self._ending: set[asyncio.Task[None]] = set()
        self._paused: set[Member] = set()

    @property
    def paused(self) -> int:
        """How many runs wait for an endpoint that does not answer."""
        return len(self._paused)

    def pause(self, member: Member, *, paused: bool) -> None:
        """Lend to others what a run has while it waits for an endpoint: its slots, and the room for its adapter."""
        (self._paused.add if paused else self._paused.discard)(member)
        member.pause(paused=paused)
        self._begin(self._notify())

    @property
    def living(self) -> int:
        """How many adapters there are."""
        return len(self._stages)

    async def lend(self, manifest: Manifest, place: Sandboxed | Remote, notice: Callable[[str], None]) -> "Lent":
        """Return the adapter of a version, or the way to a remote one, that `give_back` ends.

        Raises RunAborted when it cannot be started, with the author's words; EpisodeError (environment_unreachable)
        when it cannot be reached; UsageError when what answers is no environment.
        """
        if isinstance(place, Remote):
            return await self._remote(manifest, place, notice)
        stage = await self._taken((place.environment_id, place.version))
        try:
            async with stage.lock:
                if stage.adapter is None:
                    await self._open(stage, manifest.id, place, notice)
        except BaseException as error:
            stage.broken = stage.broken or isinstance(error, MesocosmError)
            await self._give_back(stage)
            raise
        assert stage.adapter is not None
        return Lent(stage.adapter, self._lines, stage, self._give_back)

    async def close(self) -> None:
        """End every adapter, used or not."""
        async with self._changed:
            for stage in list(self._stages.values()):
                await self._end(stage)
        for task in list(self._ending):
            task.cancel()
        await asyncio.gather(*self._ending, return_exceptions=True)
        await self._lines.close()

    async def _remote(self, manifest: Manifest, place: Remote, notice: Callable[[str], None]) -> "Lent":
        client = Client(public_only=not place.private, idle_timeout=IDLE_S, max_response=MAX_ANSWER)
        adapter = Adapter(manifest, Start(place.url, explicit=True), client, Nowhere())
        try:
            await _reached(client, place.url)
            await adapter.open(notice)
        except BaseException:
            await client.close()
            raise

        async def closed(_: "_Stage") -> None:
            try:
                await adapter.close()
            finally:
                await client.close()

        return Lent(adapter, client, _Stage((place.url, 0)), closed)

    async def _taken(self, key: tuple[str, int]) -> "_Stage":
        """Return the stage of a version with one more user, waiting where there are too many of others."""
        async with self._changed:
            while True:
                stage = self._stages.get(key)
                if stage is not None:
                    break
                if len(self._stages) < self._most + len(self._paused):
                    stage = self._stages[key] = _Stage(key)
                    break
                idle = next((other for other in self._stages.values() if not other.users), None)
                if idle is not None:
                    await self._end(idle)
                else:
                    await self._changed.wait()
            stage.users += 1
            stage.stay()
            return stage

    async def _open(self, stage: "_Stage", domain_id: str, place: Sandboxed, notice: Callable[[str], None]) -> None:
        from mesocosm.server.builds.build import built

        try:
            there = await built(self._service, place.environment_id, place.version)
        except InfrastructureError as error:
            # Trying the same run again would not help.
            raise RunAborted(str(error)) from error
        # What is played is what was built: the version says which content that is.
        if there.digest != place.digest:
            raise RunAborted(
                f"version {place.version} of environment {place.environment_id} on this machine is not what was "
                "submitted; submit it again"
            )
        manifest = load_manifest(there.manifest, domain_id=domain_id)
        start = Start(python=str(there.python), start_timeout=self._service.settings.start_s)
        adapter = Adapter(manifest, start, self._lines, Enclosing(self._service.settings, there, self._lines))
        try:
            await adapter.open(notice)
        except BaseException:
            await adapter.close()
            raise
        stage.adapter = adapter

    async def _give_back(self, stage: "_Stage") -> None:
        async with self._changed:
            stage.users -= 1
            if not stage.users and self._stages.get(stage.key) is stage:
                idle = self._service.settings.environment_idle_s
                if stage.broken or stage.adapter is None or not idle:
                    await self._end(stage)
                else:
                    stage.leave_after(idle, self._idle)
            self._changed.notify_all()

    def _idle(self, stage: "_Stage") -> None:
        self._begin(self._end_idle(stage))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _end_idle(self, stage: "_Stage") -> None:
        async with self._changed:
            if not stage.users:
                await self._end(stage)
                self._changed.notify_all()

    async def _end(self, stage: "_Stage") -> None:
        stage.stay()
        if self._stages.get(stage.key) is stage:
            del self._stages[stage.key]
        adapter, stage.adapter = stage.adapter, None
        if adapter is not None:
            with suppress(OSError):
                await adapter.close()


async def _reached(client: Client, url: str) -> None:
    """Raise EpisodeError that says why nothing answers at `url`, be it that its address may not be asked."""
    try:
        status = (await client.request("GET", f"{url.rstrip('/')}/health", timeout=REMOTE_S)).status
        why = f"GET /health answered status {status}" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else ""
    except HttpError as error:
        why = error.cause
    if why:
        raise EpisodeError(Cause.ENVIRONMENT_UNREACHABLE, f"the environment at {visible(url)} cannot be reached: {why}")


class _Stage:
    """One environment version in this worker, and how many use it."""

    def __init__(self, key: tuple[str, int]) -> None:
        self.key = key
        self.users = 0
        self.adapter: Adapter | None = None
        self.broken = False
        self.lock = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None

    def stay(self) -> None:
        """Do not end for being idle."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def leave_after(self, seconds: float, left: Callable[["_Stage"], None]) -> None:
        """Call `left` after so many seconds, unless somebody comes."""
        self.stay()
        self._timer = asyncio.get_running_loop().call_later(seconds, left, self)


class Lent:
    """An adapter for one run, until it is given back. `client` reaches its hosts."""

    def __init__(
        self, adapter: Adapter, client: Client, stage: _Stage, back: Callable[[_Stage], Awaitable[None]]
    ) -> None:
        self.client = client
        self._adapter = adapter
        self._stage: _Stage | None = stage
        self._back = back

    @property
    def oracle(self) -> bool:
        """Whether the environment said that it has an oracle."""
        return self._adapter.oracle

    async def host(self) -> Host:
        """Return a server that lives. Raises RunAborted, with the author's words, when it ends again and again."""
        try:
            return await self._adapter.host()
        except RunAborted:
            # The next run begins with a new one.
            if self._stage is not None:
                self._stage.broken = True
            raise

    async def give_back(self) -> None:
        """Use it no more."""
        stage, self._stage = self._stage, None
        if stage is not None:
            await self._back(stage)
