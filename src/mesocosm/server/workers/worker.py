"""A worker process: takes builds and runs from the queue of a server, several at a time, until it is stopped.

It holds everything under leases that its heartbeat renews. When a worker dies its leases expire, and another one goes
on where it was. Nothing that finished is played again.
"""

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from mesocosm import __version__
from mesocosm.core.failure import MesocosmError, UsageError
from mesocosm.core.ids import new_id
from mesocosm.sandboxes.attacks import holding
from mesocosm.sandboxes.sandbox import choose
from mesocosm.server import adapters
from mesocosm.server.run_requests.lifecycle import cancel_run, stop_cancelled
from mesocosm.server.run_requests.submission import over_budget
from mesocosm.server.workers.claimed_run import ClaimedRun, StopReason
from mesocosm.server.workers.cleanup import clean
from mesocosm.server.workers.heartbeat import EventLoopWatch, Heartbeat, WorkerLease
from mesocosm.store import this_process
from mesocosm.store.environments import VersionRow
from mesocosm.store.workers import Worker as Row

if TYPE_CHECKING:
    from mesocosm.server.service import Service

POLL_S = 0.5
"""Seconds between looks at the queue."""
REAP_S = 3.0
"""Seconds between checks for dead workers."""
CLEAN_S = 3600.0
RETRY_S = 10.0
"""Seconds to wait after a failure of the store."""
ORPHAN_S = 15.0
"""Seconds that a worker whose server is gone has to return its work to the queue."""

_log = logging.getLogger(__name__)


def run_worker(service: "Service", *, once: bool = False, attached: bool = False) -> None:
    """Work until SIGTERM or SIGINT, with `once` until nothing is left, with `attached` until standard input ends."""

    async def run() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        if attached:
            threading.Thread(target=_stop_when_orphaned, args=(loop, stop), name="orphan watch", daemon=True).start()
        await work(service, once=once, stop=stop, hung=_exit_hung)

    asyncio.run(run())


def _exit_hung() -> None:
    """End a worker whose event loop is blocked; others can play its runs once it is gone."""
    _log.error("this worker ends, because its event loop is blocked; its runs go on in another worker")
    os._exit(1)


def _stop_when_orphaned(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Stop when standard input ends: it is a pipe that the server holds for as long as it lives."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    # The worker may be ending already, and its loop closed.
    try:
        loop.call_soon_threadsafe(stop.set)
    except RuntimeError:
        return
    # A worker that hangs would hold its work for ever.
    threading.Event().wait(ORPHAN_S)
    os._exit(1)


async def work(
    service: "Service",
    *,
    once: bool = False,
    stop: asyncio.Event | None = None,
    hung: Callable[[], object] = lambda: None,
) -> None:
    """Build and play what is queued until `stop` is set; with `once` until nothing is left to take.

    When it stops, finished work is kept and the rest returns to the queue. `hung` is called from another thread when
    the event loop has been blocked for as long as a lease: other workers may have taken over everything by then.
    Raises InfrastructureError where the store cannot be reached at the beginning.
    """
    await _Worker(service, once=once, stop=stop or asyncio.Event(), hung=hung).work()


class _Worker:
    def __init__(self, service: "Service", *, once: bool, stop: asyncio.Event, hung: Callable[[], object]) -> None:
        self.id = new_id()
        self._service = service
        self._once = once
        self._stop = stop
        self._pool = adapters.AdapterPool(service)
        self._heartbeat = Heartbeat(service, self.id, watch=EventLoopWatch(asyncio.get_running_loop()), hung=hung)
        self._playing: dict[str, ClaimedRun] = {}
        self._building: dict[asyncio.Task[None], VersionRow] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._looked = self._cleaned = 0.0

    async def work(self) -> None:
        service, settings = self._service, self._service.settings
        now = time.time()
        row = Row(self.id, this_process(), __version__, settings.runs_at_once, 0, now, now)
        await asyncio.to_thread(service.store.workers.add, row)
        adapters.bind(service, self._pool)
        service.catalogue.lend_keys()
        self._heartbeat.start()
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
                took, pause = False, RETRY_S
            if self._once and not took and not self._tasks:
                return
            if not took:
                await self._wait(pause)

    async def _take(self) -> bool:
        """Claim one build and one run while there is room; return whether there was any."""
        service, settings = self._service, self._service.settings
        if not await asyncio.to_thread(service.store.workers.waiting):
            return False
        took = False
        if len(self._building) < settings.builds_at_once:
            version = await asyncio.to_thread(service.store.environments.claim_build, self.id, settings.lease_s)
            if version is not None:
                self._build(version)
                took = True
        # A run that waits for its endpoint keeps no other waiting; but memory is bounded.
        busy = len(self._playing) - min(self._pool.paused, settings.runs_at_once)
        if busy < settings.runs_at_once and not any(one.alone for one in self._playing.values()):
            claim = partial(
                service.store.run_requests.claim, self.id, settings.lease_s, settings.runs_at_once_per_actor
            )
            moving = all(one.progressed for one in self._playing.values())
            request = await asyncio.to_thread(claim, playing=tuple(self._playing), moving=moving)
            if request is not None:
                self._play(ClaimedRun(service, request, self.id))
                took = True
        return took

    def _play(self, playing: ClaimedRun) -> None:
        request, requests = playing.request, self._service.store.run_requests
        loop = asyncio.get_running_loop()

        def held() -> bool:
            found = requests.get(request.run_id)
            return found is not None and found.state == "claimed" and found.claimed_by == self.id

        def renew() -> bool:
            # Each of several runs of one budget started with all that was left of it.
            if reason := over_budget(self._service, request):
                cancel_run(self._service, request, reason)
            if not playing.progressed_now():
                return held()
            return requests.renew(request.run_id, self.id, self._service.settings.lease_s, moved=True)

        lost = partial(loop.call_soon_threadsafe, playing.stop, StopReason.CANCELLED)
        self._playing[request.run_id] = playing
        self._heartbeat.add(request.run_id, WorkerLease(renew, held, lost))
        self._heartbeat.runs = len(self._playing)

        async def run() -> None:
            try:
                await playing.play()
            finally:
                self._heartbeat.remove(request.run_id)
                self._playing.pop(request.run_id, None)
                self._heartbeat.runs = len(self._playing)

        self._begin(run(), f"run {request.run_id}")

    def _build(self, version: VersionRow) -> None:
        key = (version.environment_id, version.version)
        renew = partial(self._service.store.environments.renew_build, version, self._service.settings.lease_s)
        loop = asyncio.get_running_loop()

        async def run() -> None:
            from mesocosm.server.builds.build import build

            try:
                await build(self._service, version)
            except MesocosmError as error:
                _log.warning("version %d of environment %s could not be built: %s", key[1], key[0], error)
            finally:
                self._heartbeat.remove(key)

        task = self._begin(run(), f"build of {key[0]}")
        self._building[task] = version
        task.add_done_callback(lambda ended: self._building.pop(ended, None))
        self._heartbeat.add(key, WorkerLease(renew, lambda: True, partial(loop.call_soon_threadsafe, task.cancel)))

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
        """Reap dead workers, and clean up from time to time."""
        now = time.monotonic()
        settings = self._service.settings
        if now - self._looked > REAP_S or not self._looked:
            self._looked = now
            for dead in await asyncio.to_thread(self._service.store.workers.reap_dead, settings.lease_s):
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
        """Wait for the next look at the queue: after `seconds`, or when some work ended or this worker is stopped."""
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({stopping, *self._tasks}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()

    async def _leave(self) -> None:
        """Stop all work and return what is not done to the queue."""
        for playing in list(self._playing.values()):
            playing.stop(StopReason.LEAVING)
        builds = dict(self._building)
        for task in builds:
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks))
        try:
            for version in builds.values():
                await asyncio.to_thread(self._service.store.environments.release_build, version)
            await self._pool.close()
        finally:
            self._heartbeat.stop()
            await asyncio.to_thread(self._service.store.workers.end, self.id)
        _log.info("worker %s has ended", self.id)
