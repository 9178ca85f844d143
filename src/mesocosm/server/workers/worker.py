"""A worker: takes builds and runs from the queue of a platform, several at a time, until it is told to end.

Everything it has is under a lease that a thread of its own renews; a worker that dies leaves rows whose lease ends,
and the next one goes on where it was. Nothing that finished is played again.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from mesocosm import __version__
from mesocosm.core.failure import MesocosmError, UsageError
from mesocosm.core.ids import new_id
from mesocosm.sandboxes.attacks import holding
from mesocosm.sandboxes.enclosure import choose
from mesocosm.server import adapters
from mesocosm.server.run_requests.lifecycle import cancel_run, stop_cancelled
from mesocosm.server.run_requests.submission import over_budget
from mesocosm.server.workers.cleanup import clean
from mesocosm.server.workers.playing import Playing, Why
from mesocosm.server.workers.pulse import Kept, Pulse
from mesocosm.server.workers.standstill import Standstill
from mesocosm.store import this_process
from mesocosm.store.environments import VersionRow
from mesocosm.store.workers import Worker as Row

if TYPE_CHECKING:
    from mesocosm.server.service import Service

POLL_S = 0.5
"""Seconds between looks at the queue."""
BURY_S = 3.0
"""Seconds between looks at whether other workers are still there."""
CLEAN_S = 3600.0
UNSEEN_S = 10.0
"""Seconds without work after a failure of the store."""

_log = logging.getLogger(__name__)


async def work(
    service: "Service",
    *,
    once: bool = False,
    stop: asyncio.Event | None = None,
    hung: Callable[[], object] = lambda: None,
) -> None:
    """Build and play what is queued until `stop` is set; with `once` until nothing is left that could be taken.

    When it stops, what was finished is kept and the rest goes back into the queue. `hung` is called, from another
    thread, when the event loop has stood still for as long as a lease: others may have all that this worker had.
    Raises InfrastructureError where the store cannot be reached at the beginning.
    """
    await _Worker(service, once=once, stop=stop or asyncio.Event(), hung=hung).work()


class _Worker:
    def __init__(self, service: "Service", *, once: bool, stop: asyncio.Event, hung: Callable[[], object]) -> None:
        self.id = new_id()
        self._service = service
        self._once = once
        self._stop = stop
        self._hosts = adapters.Hosts(service)
        self._pulse = Pulse(service, self.id, standstill=Standstill(asyncio.get_running_loop()), hung=hung)
        self._playing: dict[str, Playing] = {}
        self._building: dict[asyncio.Task[None], VersionRow] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._looked = self._cleaned = 0.0

    async def work(self) -> None:
        service, settings = self._service, self._service.settings
        now = time.time()
        row = Row(self.id, this_process(), __version__, settings.runs_at_once, 0, now, now)
        await asyncio.to_thread(service.workers.add, row)
        adapters.use(service, self._hosts)
        service.catalogue.lend_keys()
        self._pulse.start()
        _log.info("worker %s (process %d) is at work", self.id, os.getpid())
        try:
            kind = choose(settings.sandbox, settings.unsafe_sandbox)
        except UsageError as error:
            _log.warning("this worker cannot start submitted environments: %s", error)
        else:
            for words in holding(kind):
                _log.info("sandbox of submitted code: %s", words)
        try:
            await self._rounds()
        finally:
            await self._leave()

    async def _rounds(self) -> None:
        while not self._stop.is_set():
            pause = POLL_S
            try:
                took = await self._take()
                await self._chores()
            except MesocosmError as error:
                _log.warning("nothing can be taken from the queue at the moment: %s", error)
                took, pause = False, UNSEEN_S
            if self._once and not took and not self._tasks:
                return
            if not took:
                await self._wait(pause)

    async def _take(self) -> bool:
        """Take what is there while there is room; return whether there was anything."""
        service, settings = self._service, self._service.settings
        if not await asyncio.to_thread(service.workers.waiting):
            return False
        took = False
        if len(self._building) < settings.builds_at_once:
            version = await asyncio.to_thread(service.environments.claim_build, self.id, settings.lease_s)
            if version is not None:
                self._build(version)
                took = True
        # A run that waits for a server keeps nobody else waiting; but memory is bounded.
        busy = len(self._playing) - min(self._hosts.paused, settings.runs_at_once)
        if busy < settings.runs_at_once and not any(one.alone for one in self._playing.values()):
            claim = partial(service.run_requests.claim, self.id, settings.lease_s, settings.runs_at_once_per_actor)
            moving = all(one.moves for one in self._playing.values())
            order = await asyncio.to_thread(claim, playing=tuple(self._playing), moving=moving)
            if order is not None:
                self._play(Playing(service, order, self.id))
                took = True
        return took

    def _play(self, playing: Playing) -> None:
        order, orders = playing.order, self._service.run_requests
        loop = asyncio.get_running_loop()

        def ours() -> bool:
            found = orders.get(order.run_id)
            return found is not None and found.state == "claimed" and found.claimed_by == self.id

        def renew() -> bool:
            # Runs of one budget that are played side by side each got all that was left of it.
            if reason := over_budget(self._service, order):
                cancel_run(self._service, order, reason)
            if not playing.moved():
                return ours()
            return orders.renew(order.run_id, self.id, self._service.settings.lease_s, moved=True)

        lost = partial(loop.call_soon_threadsafe, playing.stop, Why.CANCELLED)
        self._playing[order.run_id] = playing
        self._pulse.keep(order.run_id, Kept(renew, ours, lost))
        self._pulse.runs = len(self._playing)

        async def whole() -> None:
            try:
                await playing.play()
            finally:
                self._pulse.drop(order.run_id)
                self._playing.pop(order.run_id, None)
                self._pulse.runs = len(self._playing)

        self._begin(whole(), f"run {order.run_id}")

    def _build(self, version: VersionRow) -> None:
        key = (version.environment_id, version.version)
        renew = partial(self._service.environments.renew_build, version, self._service.settings.lease_s)
        loop = asyncio.get_running_loop()

        async def whole() -> None:
            from mesocosm.server.builds.build import build

            try:
                await build(self._service, version, heartbeat=lambda: None)
            except MesocosmError as error:
                _log.warning("version %d of environment %s could not be built: %s", key[1], key[0], error)
            finally:
                self._pulse.drop(key)

        task = self._begin(whole(), f"build of {key[0]}")
        self._building[task] = version
        task.add_done_callback(lambda ended: self._building.pop(ended, None))
        self._pulse.keep(key, Kept(renew, lambda: True, partial(loop.call_soon_threadsafe, task.cancel)))

    def _begin(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("%s failed unexpectedly", task.get_name(), exc_info=error)

    async def _chores(self) -> None:
        """Look after workers that are gone, and now and then clean up."""
        now = time.monotonic()
        settings = self._service.settings
        if now - self._looked > BURY_S or not self._looked:
            self._looked = now
            for dead in await asyncio.to_thread(self._service.workers.bury, settings.lease_s):
                _log.warning("worker %s (%s) is gone; others take what it had", dead.id, dead.holder)
                await asyncio.to_thread(stop_cancelled, self._service)
        if not self._once and (now - self._cleaned > CLEAN_S or not self._cleaned):
            self._cleaned = now
            self._begin(self._clean(), "cleaning up")

    async def _clean(self) -> None:
        try:
            done = await asyncio.to_thread(clean, self._service)
        except MesocosmError as error:
            _log.warning("cleaning up failed, and is tried again in an hour: %s", error)
            return
        if done:
            _log.info("cleaned up: %s", done)

    async def _wait(self, seconds: float) -> None:
        """Return when it is time for another look: soon, or when something ended or this worker is to end."""
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({stopping, *self._tasks}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()

    async def _leave(self) -> None:
        """Let everything come to an end and give back what is not done."""
        for playing in list(self._playing.values()):
            playing.stop(Why.LEAVING)
        builds = dict(self._building)
        for task in builds:
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks))
        try:
            for version in builds.values():
                await asyncio.to_thread(self._service.environments.release_build, version)
            await self._hosts.close()
        finally:
            self._pulse.stop()
            await asyncio.to_thread(self._service.workers.end, self.id)
        _log.info("worker %s has ended", self.id)
