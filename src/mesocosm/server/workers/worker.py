"""A worker process: executes builds, checks, imports and runs from the queue of a server, until it is stopped.

It also submits the runs that schedules owe, and sends the messages about runs that have ended.

It leases everything that it works on, and its heartbeat renews the leases. If a worker dies, its leases expire and
another worker continues. Finished episodes are never run again.
"""

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from enum import StrEnum
from functools import partial
from typing import Any

import msgspec

from mesocosm import __version__
from mesocosm.core.failure import InfrastructureError, MesocosmError, RunLeased, UnknownName, UsageError
from mesocosm.core.ids import new_id
from mesocosm.core.redact import Redactor
from mesocosm.core.run import Run, RunStatus
from mesocosm.engine import session
from mesocosm.sandboxes.attacks import holding
from mesocosm.sandboxes.sandbox import choose
from mesocosm.server import adapters
from mesocosm.server.builds.build import build
from mesocosm.server.builds.commit_status import ATTEMPT_S as STATUS_S
from mesocosm.server.builds.commit_status import send_commit_status
from mesocosm.server.builds.sync import poll, synchronize
from mesocosm.server.evaluations.hosted_scan import keep_answers
from mesocosm.server.notifications.announcements import announce_ended
from mesocosm.server.notifications.delivery import ATTEMPT_S, deliver
from mesocosm.server.run_requests.lifecycle import cancel_run, release_run, stop_cancelled
from mesocosm.server.run_requests.submission import over_budget
from mesocosm.server.schedules.due_runs import submit_due
from mesocosm.server.service import Service
from mesocosm.server.workers.cleanup import clean
from mesocosm.server.workers.dataset_checks import check_dataset_version
from mesocosm.server.workers.heartbeat import EventLoopWatch, Heartbeat, WorkerLease
from mesocosm.server.workers.helping import Helper
from mesocosm.server.workers.run_imports import import_run
from mesocosm.store.commit_statuses import CommitStatus
from mesocosm.store.datasets import DatasetVersion
from mesocosm.store.environments import VersionRow
from mesocosm.store.lease_owner import this_process
from mesocosm.store.leases import SILENCE
from mesocosm.store.notifications import Delivery, Notification
from mesocosm.store.queue import SUSPECT
from mesocosm.store.repositories import Repository, Sync
from mesocosm.store.run_imports import RunImport
from mesocosm.store.run_requests import RunRequest
from mesocosm.store.workers import Worker as Row

POLL_S = 0.5
"""Seconds between polls of the queue in SQLite."""
FALLBACK_S = 2.0
"""Seconds between polls of the queue in PostgreSQL, which wakes workers when there is something to do."""
REAP_S = 3.0
"""Seconds between checks for dead workers."""
INDEX_S = 5.0
"""Seconds between turns of indexing what was said, each a tenth as long."""
CLEAN_S = 3600.0
RETRY_S = 10.0
"""Seconds to wait after an error of the store."""
ORPHAN_S = 15.0
"""Seconds for a worker to return its work to the queue after its server has gone; then it exits."""

MOST_TRIES = 4
"""A run fails after this many workers have died while executing it, the last ones executing nothing else."""
GRACE_S = 5.0
"""Seconds that running episodes have to finish when the worker stops."""
CANCEL_S = 1.0
HELD_S = 1.0
"""Seconds between attempts to take a run that another worker still leases."""
SENDING = 4
"""How many messages a worker sends at once."""
SENDING_LEASE_S = 4 * ATTEMPT_S
TELLING = 4
"""How many statuses of commits a worker sends at once."""
STATUS_LEASE_S = 4 * STATUS_S
LATE_S = 30.0
"""Seconds after its time limit until the worker stops a run, which should have stopped itself before."""

_OVER = frozenset({RunStatus.FINISHED, RunStatus.PARTIAL, RunStatus.FAILED})

_log = logging.getLogger(__name__)


def run_worker(service: Service, *, once: bool = False, attached: bool = False) -> None:
    """Work until SIGTERM or SIGINT; with `once` until the queue is empty, with `attached` until standard input ends."""

    async def run() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        if attached:
            threading.Thread(target=_stop_when_orphaned, args=(loop, stop), name="orphan watch", daemon=True).start()
        await work(service, once=once, stop=stop, hung=_exit_hung)

    asyncio.run(run())


def _exit_hung() -> None:
    """End a worker whose event loop is blocked, so that others can take its runs."""
    _log.error("this worker ends because its event loop is blocked; other workers continue its runs")
    os._exit(1)


def _stop_when_orphaned(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Stop the worker when standard input ends: it is a pipe that the server keeps open while it lives."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    # The worker may have ended already, with its loop closed.
    try:
        loop.call_soon_threadsafe(stop.set)
    except RuntimeError:
        return
    # A worker that hangs would keep its work forever.
    threading.Event().wait(ORPHAN_S)
    os._exit(1)


async def work(
    service: Service,
    *,
    once: bool = False,
    stop: asyncio.Event | None = None,
    hung: Callable[[], object] = lambda: None,
) -> None:
    """Execute queued builds and runs until `stop` is set; with `once` until the queue is empty.

    On stopping, finished work is kept and the rest returns to the queue. `hung` is called from another thread if the
    event loop has been blocked for the length of a lease: other workers may have taken over by then. Raises
    InfrastructureError if the store cannot be reached at the start.
    """
    await _Worker(service, once=once, stop=stop or asyncio.Event(), hung=hung).work()


class StopReason(StrEnum):
    """Why the worker stops a run."""

    CANCELLED = "cancelled"
    LEAVING = "the worker ends; another one continues the run"
    LATE = "the run exceeded its time limit"


class ClaimedRun:
    """A run that this worker has claimed, until it ends or returns to the queue. Belongs to one event loop."""

    def __init__(self, service: Service, request: RunRequest, worker_id: str) -> None:
        self.request = request
        self._service = service
        self._worker_id = worker_id
        self._control = session.Control()
        self._reason: StopReason | None = None
        self._done: int | None = None
        self._stopped = asyncio.Event()
        self.progressed = False

    @property
    def alone(self) -> bool:
        """Whether it must run alone: it may have crashed workers, and none of its episodes has ended in this one."""
        return self.request.tries > SUSPECT and not self.progressed

    def held(self) -> bool:
        """Return whether this worker still has the claim."""
        request = self._service.store.run_requests.get(self.request.run_id)
        return request is not None and request.state == "claimed" and request.claimed_by == self._worker_id

    def renew(self) -> bool:
        """Return whether this worker still has the claim; with it, store that the first episode has ended here.

        Cancels a run whose budget is used up: each of several runs that share one started with all that was left of it.
        """
        service, run_id = self._service, self.request.run_id
        if reason := over_budget(service, self.request):
            cancel_run(service, self.request, reason)
        if not self.progressed and self._done is not None:
            run = service.store.run_requests.runs([run_id]).get(run_id)
            self.progressed = run is not None and run.counts.done > self._done
            if self.progressed:
                return service.store.queue.renew(run_id, self._worker_id, service.settings.lease_s, moved=True)
        return self.held()

    def stop(self, reason: StopReason) -> None:
        """Stop the run. Call this on the event loop."""
        self._reason = self._reason or reason
        self._stopped.set()
        grace = GRACE_S if reason is StopReason.LEAVING else CANCEL_S
        if reason is StopReason.CANCELLED and self.request.official:
            # Let running episodes finish, or a participant could cancel bad ones and run them again.
            grace = self._service.settings.episode_s
        self._control.stop(self._reason.value, grace)

    async def play(self) -> None:
        """Execute the run and record its outcome. Raises CancelledError only."""
        run_id, began = self.request.run_id, time.time()
        late = asyncio.get_running_loop().call_later(self._service.settings.run_s + LATE_S, self.stop, StopReason.LATE)
        try:
            if self.request.tries > MOST_TRIES:
                await self._fail(
                    f"{MOST_TRIES} workers ended while playing this run, so it is not tried again; "
                    "run fewer episodes at once, or ask an administrator of this server"
                )
                return
            run = await self._resumed()
            if run is None or not await self._kept(run):
                await self._requeue()
            else:
                await self._settle(run)
        except InfrastructureError as error:
            # The state of the run is unknown. Its lease expires, and the next worker continues it.
            _log.warning("run %s cannot continue at the moment: %s", run_id, error)
        except MesocosmError as error:
            await self._fail(Redactor().text(str(error)))
        except Exception as error:  # noqa: BLE001 - one run must not end the others
            _log.exception("run %s could not be played", run_id)
            await self._fail(Redactor().text(f"the server failed: {type(error).__name__}: {error}"))
        finally:
            late.cancel()
        await self._drop_secrets(began)

    async def _drop_secrets(self, before: float) -> None:
        """Delete the values of secrets that the run came with if it has ended. Later ones are for its next session."""
        store, run_id = self._service.store, self.request.run_id
        try:
            request = await asyncio.to_thread(store.run_requests.get, run_id)
            if request is None or not request.open:
                await asyncio.to_thread(store.workspace_secrets.drop_of_run, run_id, before)
        except MesocosmError as error:
            _log.warning("secrets of run %s are deleted later: %s", run_id, error)

    async def _resumed(self) -> Run | None:
        """Run the pending episodes and return the run; None if it was stopped before it started."""
        deadline = time.monotonic() + 2 * SILENCE
        while not self._stopped.is_set():
            try:
                run = await asyncio.to_thread(self._service.store.runs.get, self.request.run_id)
                if self._done is None:
                    self._done = run.counts.done
                if run.status in _OVER and not run.counts.pending:
                    # Its previous worker may have died after finishing the run and before releasing it.
                    await asyncio.to_thread(release_run, self._service, run.id)
                    return run
                await asyncio.to_thread(self._service.assign_model_keys)
                options = session.SessionOptions(executor="local" if self.alone else self._service.settings.executor)
                return await session.resume(
                    self.request.run_id, self._service.store, control=self._control, settings=options
                )
            except RunLeased:
                # This worker has claimed the request, but the previous one has died unnoticed, is about to release the
                # run, or hangs.
                if await asyncio.to_thread(self._evict):
                    _log.warning("run %s is taken over from a worker that hangs", self.request.run_id)
                elif time.monotonic() > deadline:
                    raise
            try:
                async with asyncio.timeout(HELD_S):
                    await self._stopped.wait()
            except TimeoutError:
                continue
        return None

    async def _kept(self, run: Run) -> bool:
        """Store the answers of a scan with the run that it read; return False if this worker has to leave before."""
        if self.request.kind != "scan" or (self._reason is StopReason.LEAVING and run.counts.pending):
            return True
        while True:
            try:
                await asyncio.to_thread(keep_answers, self._service.store, run)
            except RunLeased as error:
                _log.info("the answers of scan %s wait: %s", run.id, error)
            else:
                return True
            try:
                async with asyncio.timeout(HELD_S):
                    await self._stopped.wait()
            except TimeoutError:
                continue
            return False

    def _evict(self) -> bool:
        return self.held() and self._service.store.leases.evict(self.request.run_id, self._service.settings.lease_s)

    async def _requeue(self) -> None:
        """Return the run to the queue unless it was cancelled."""
        await asyncio.to_thread(self._service.store.queue.give_back, self.request.run_id, self._worker_id)

    async def _settle(self, run: Run) -> None:
        if run.status in _OVER:
            await self._end("ended", run.error)
        elif run.stop_requested and self._reason is None:
            await self._end("cancelled", "a stop was requested")
        elif self._reason in {StopReason.LEAVING, StopReason.CANCELLED}:
            await self._requeue()
        else:
            # Out of budget or time: its pending episodes run only when its owner resumes it.
            await self._end("ended", run.error or "it was stopped")

    async def _end(self, state: str, reason: str) -> None:
        await asyncio.to_thread(self._service.store.queue.end, self.request.run_id, state, reason, self._worker_id)

    async def _fail(self, reason: str) -> None:
        """Record that the run failed, if this worker still holds it."""

        def work() -> None:
            store = self._service.store
            if not self.held():
                return
            try:
                run = store.runs.get(self.request.run_id)
            except UnknownName:
                return  # deleted meanwhile
            release_run(self._service, run.id)
            if run.status not in _OVER:
                # Keep the status of a stopped run that could not be resumed.
                run.status = RunStatus.STOPPED if run.status is RunStatus.STOPPED else RunStatus.FAILED
                run.error, run.ended_at = reason, time.time()
                store.runs.save(run)
            store.queue.end(run.id, "ended", reason, self._worker_id)

        try:
            await asyncio.to_thread(work)
        except InfrastructureError as error:
            _log.warning("the end of run %s could not be stored: %s", self.request.run_id, error)


class _Worker:
    def __init__(self, service: Service, *, once: bool, stop: asyncio.Event, hung: Callable[[], object]) -> None:
        self.id = new_id()
        self._service = service
        self._once = once
        self._stop = stop
        self._pool = adapters.AdapterPool(service)
        self._heartbeat = Heartbeat(service, self.id, watch=EventLoopWatch(asyncio.get_running_loop()), hung=hung)
        self._playing: dict[str, ClaimedRun] = {}
        self._building: dict[asyncio.Task[None], VersionRow] = {}
        self._checking: dict[asyncio.Task[None], DatasetVersion] = {}
        self._importing: dict[asyncio.Task[None], RunImport] = {}
        self._syncing: set[asyncio.Task[None]] = set()
        self._sending: set[asyncio.Task[None]] = set()
        self._telling: set[asyncio.Task[None]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._polling: asyncio.Task[None] | None = None
        self._submitting: asyncio.Task[None] | None = None
        self._indexing: asyncio.Task[None] | None = None
        self._looked = self._cleaned = self._indexed = 0.0
        self._bell = service.store.seats.bell()
        self._poll_s = FALLBACK_S if service.store.database.postgres else POLL_S
        self._helper = Helper(service, f"worker {self.id}")
        self._helping: asyncio.Task[None] | None = None

    async def work(self) -> None:
        service, settings = self._service, self._service.settings
        now = time.time()
        row = Row(self.id, this_process(), __version__, settings.runs_at_once, 0, now, now)
        row = msgspec.structs.replace(row, slots=settings.episodes_at_once)
        self._heartbeat.busy = lambda: self._pool.slots.busy
        await asyncio.to_thread(service.store.workers.add, row)
        adapters.bind(service, self._pool)
        await asyncio.to_thread(service.assign_model_keys)
        self._heartbeat.start()
        _log.info("worker %s (process %d) has started", self.id, os.getpid())
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
            pause = self._poll_s
            try:
                took = await self._take()
                took = await self._chores() or took
                if not took:
                    took = await self._help()
            except MesocosmError as error:
                _log.warning("the queue cannot be read at the moment: %s", error)
                took, pause = False, RETRY_S
            if self._once and not took and not self._tasks:
                return
            if not took:
                await self._wait(pause)

    async def _take(self) -> bool:
        """Claim at most one sync, build, check, import, message and run if there is capacity.

        Return whether any was claimed.
        """
        service, settings = self._service, self._service.settings
        if not await asyncio.to_thread(service.store.workers.waiting):
            return False
        took = False
        if len(self._building) < settings.builds_at_once:
            version = await asyncio.to_thread(service.store.environments.claim_build, self.id, settings.lease_s)
            if version is not None:
                self._build(version)
                took = True
        if len(self._syncing) < settings.builds_at_once:
            sync = await asyncio.to_thread(service.store.syncs.claim, self.id, settings.lease_s)
            if sync is not None:
                self._sync(sync)
                took = True
        if not self._checking:
            dataset = await asyncio.to_thread(service.store.datasets.claim_check, self.id, settings.lease_s)
            if dataset is not None:
                self._check(dataset)
                took = True
        if not self._importing:
            pushed = await asyncio.to_thread(service.store.run_imports.claim, self.id, settings.lease_s)
            if pushed is not None:
                self._import(pushed)
                took = True
        took = await self._take_message() or took
        took = await self._take_status() or took
        # A run paused for its endpoint does not count, up to a limit, because memory is bounded.
        busy = len(self._playing) - min(self._pool.paused, settings.runs_at_once)
        if busy < settings.runs_at_once and not any(one.alone for one in self._playing.values()):
            request = await asyncio.to_thread(
                service.store.queue.claim,
                self.id,
                settings.lease_s,
                settings.runs_at_once_per_actor,
                playing=tuple(self._playing),
                moving=all(one.progressed for one in self._playing.values()),
            )
            if request is not None:
                self._play(ClaimedRun(service, request, self.id))
                took = True
        return took

    async def _help(self) -> bool:
        """Help a run of another worker if this one has nothing to do; return whether it began to."""
        idle = not (self._playing or self._building or self._helper.busy or self._once)
        if not idle or not self._service.settings.executor.startswith("queue"):
            return False
        if (seat := await self._helper.take()) is None:
            return False

        async def run() -> None:
            try:
                await self._helper.play(seat)
            except MesocosmError as error:
                _log.warning("this worker helps run %s no more: %s", seat.run_id, error)

        self._helping = self._begin(run(), f"help with run {seat.run_id}")
        return True

    async def _take_message(self) -> bool:
        if len(self._sending) >= SENDING:
            return False
        claimed = await asyncio.to_thread(self._service.store.deliveries.claim, self.id, SENDING_LEASE_S)
        if claimed is not None:
            self._send(*claimed)
        return claimed is not None

    async def _take_status(self) -> bool:
        if len(self._telling) >= TELLING:
            return False
        status = await asyncio.to_thread(self._service.store.commit_statuses.claim, self.id, STATUS_LEASE_S)
        if status is not None:
            self._tell(status)
        return status is not None

    def _play(self, playing: ClaimedRun) -> None:
        run_id = playing.request.run_id
        lost = partial(asyncio.get_running_loop().call_soon_threadsafe, playing.stop, StopReason.CANCELLED)
        self._playing[run_id] = playing
        # Whole runs come before help.
        self._helper.leave()
        self._heartbeat.add(run_id, WorkerLease(playing.renew, playing.held, lost))
        self._heartbeat.runs = len(self._playing)

        async def run() -> None:
            try:
                await playing.play()
            finally:
                self._heartbeat.remove(run_id)
                self._playing.pop(run_id, None)
                self._heartbeat.runs = len(self._playing)
            await self._announce()

        self._begin(run(), f"run {run_id}")

    def _build(self, version: VersionRow) -> None:
        key = (version.environment_id, version.version)
        renew = partial(self._service.store.environments.renew_build, version, self._service.settings.lease_s)
        loop = asyncio.get_running_loop()

        async def run() -> None:
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

    def _check(self, version: DatasetVersion) -> None:
        key = (version.dataset_id, version.version)
        renew = partial(self._service.store.datasets.renew_check, version, self._service.settings.lease_s)
        loop = asyncio.get_running_loop()

        async def run() -> None:
            try:
                await check_dataset_version(self._service, version)
            except MesocosmError as error:
                _log.warning("version %d of dataset %s could not be checked: %s", key[1], key[0], error)
            finally:
                self._heartbeat.remove(key)

        task = self._begin(run(), f"check of dataset {key[0]}")
        self._checking[task] = version
        task.add_done_callback(lambda ended: self._checking.pop(ended, None))
        self._heartbeat.add(key, WorkerLease(renew, lambda: True, partial(loop.call_soon_threadsafe, task.cancel)))

    def _import(self, pushed: RunImport) -> None:
        key = ("import", pushed.id)
        renew = partial(self._service.store.run_imports.renew, pushed, self._service.settings.lease_s)
        loop = asyncio.get_running_loop()

        async def run() -> None:
            try:
                await import_run(self._service, pushed)
            except MesocosmError as error:
                _log.warning("import %s could not be stored: %s", pushed.id, error)
            finally:
                self._heartbeat.remove(key)

        task = self._begin(run(), f"import {pushed.id}")
        self._importing[task] = pushed
        task.add_done_callback(lambda ended: self._importing.pop(ended, None))
        self._heartbeat.add(key, WorkerLease(renew, lambda: True, partial(loop.call_soon_threadsafe, task.cancel)))

    def _sync(self, sync: Sync) -> None:
        key = ("sync", sync.repository_id, sync.number)
        renew = partial(self._service.store.syncs.renew, sync, self._service.settings.lease_s)
        loop = asyncio.get_running_loop()

        async def run() -> None:
            try:
                await synchronize(self._service, sync)
            except MesocosmError as error:
                _log.warning("sync %d of repository %s could not be stored: %s", sync.number, key[1], error)
            finally:
                self._heartbeat.remove(key)

        task = self._begin(run(), f"sync of {sync.repository_id}")
        self._syncing.add(task)
        task.add_done_callback(self._syncing.discard)
        self._heartbeat.add(key, WorkerLease(renew, lambda: True, partial(loop.call_soon_threadsafe, task.cancel)))

    def _send(self, message: Delivery, notification: Notification) -> None:
        async def run() -> None:
            try:
                await deliver(self._service, message, notification)
            except MesocosmError as error:
                _log.warning("how message %s went could not be stored: %s", message.id, error)

        task = self._begin(run(), f"message {message.id}")
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _announce(self) -> bool:
        """Queue messages about runs that have ended; return whether any has."""
        try:
            return await asyncio.to_thread(announce_ended, self._service) > 0
        except MesocosmError as error:
            _log.warning("runs that have ended cannot be announced at the moment: %s", error)
            return False

    def _tell(self, status: CommitStatus) -> None:
        async def run() -> None:
            try:
                await send_commit_status(self._service, status)
            except MesocosmError as error:
                _log.warning("the status of the commit of run %s could not be stored: %s", status.run_id, error)

        task = self._begin(run(), f"commit status of run {status.run_id}")
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    def _begin(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("%s failed unexpectedly", task.get_name(), exc_info=error)

    async def _chores(self) -> bool:
        """Reap dead workers every `REAP_S` seconds, and clean up every `CLEAN_S` seconds.

        Return whether there is something to take because of it.
        """
        now, announced = time.monotonic(), False
        settings = self._service.settings
        if now - self._looked > REAP_S or not self._looked:
            self._looked = now
            for dead in await asyncio.to_thread(self._service.store.workers.reap_dead, settings.lease_s):
                _log.warning("worker %s (%s) is gone; other workers take over its work", dead.id, dead.holder)
                await asyncio.to_thread(stop_cancelled, self._service)
            # Those whose worker died before it could, and those that were cancelled while they waited.
            announced = await self._announce()
            if not self._once and self._submitting is None:
                self._submitting = self._begin(self._submit_due(), "submitting scheduled runs")
            if not self._once and settings.git_poll_s and self._polling is None:
                due = await asyncio.to_thread(self._service.store.repositories.due, settings.git_poll_s)
                if due is not None:
                    self._polling = self._begin(self._poll(due), f"poll of {due.identity}")
        if not self._once and self._indexing is None and now - self._indexed > INDEX_S:
            self._indexing = self._begin(self._index(), "indexing what was said")
        if not self._once and (now - self._cleaned > CLEAN_S or not self._cleaned):
            self._cleaned = now
            self._begin(self._clean(), "cleaning up")
        return announced

    async def _poll(self, repository: Repository) -> None:
        try:
            await poll(self._service, repository)
        except MesocosmError as error:
            _log.warning("repository %s could not be asked for new commits: %s", repository.id, error)
        finally:
            self._polling = None

    async def _submit_due(self) -> None:
        try:
            await asyncio.to_thread(submit_due, self._service, self.id)
        except MesocosmError as error:
            _log.warning("scheduled runs cannot be submitted at the moment: %s", error)
        finally:
            self._submitting = None

    async def _index(self) -> None:
        """Index what was said in episodes for a while; others of this process need time too."""
        try:
            await asyncio.to_thread(self._service.store.search.index.update, end=time.monotonic() + INDEX_S / 10)
        except MesocosmError as error:
            _log.warning("what was said in episodes cannot be indexed at the moment: %s", error)
        finally:
            self._indexed, self._indexing = time.monotonic(), None

    async def _clean(self) -> None:
        try:
            done = await asyncio.to_thread(clean, self._service)
        except MesocosmError as error:
            _log.warning("cleanup failed, and is tried again in an hour: %s", error)
            return
        if done:
            _log.info("cleaned up: %s", done)

    async def _wait(self, seconds: float) -> None:
        """Wait for `seconds`, or until a task ends, a bell rings or this worker is stopped."""
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await self._bell.first(seconds, stopping, *self._tasks)
        finally:
            stopping.cancel()

    async def _leave(self) -> None:
        """Stop all work and return unfinished work to the queue."""
        for playing in list(self._playing.values()):
            playing.stop(StopReason.LEAVING)
        builds, checks, pushed = dict(self._building), dict(self._checking), dict(self._importing)
        for task in (
            *builds,
            *checks,
            *pushed,
            *self._syncing,
            *self._sending,
            *self._telling,
            *filter(None, [self._polling]),
        ):
            task.cancel()
        self._helper.leave()
        if self._helping is not None:
            asyncio.get_running_loop().call_later(GRACE_S, self._helping.cancel)
        if self._tasks:
            await asyncio.wait(set(self._tasks))
        self._bell.close()
        try:
            for version in builds.values():
                await asyncio.to_thread(self._service.store.environments.release_build, version)
            for check in checks.values():
                await asyncio.to_thread(self._service.store.datasets.release_check, check)
            for one in pushed.values():
                await asyncio.to_thread(self._service.store.run_imports.release, one)
            await self._pool.close()
        finally:
            self._heartbeat.stop()
            await asyncio.to_thread(self._service.store.workers.end, self.id)
        _log.info("worker %s has ended", self.id)
