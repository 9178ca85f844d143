"""One claimed run, from its row in the queue to its end. Whatever happens in it, the worker goes on."""

import asyncio
import logging
import time
from enum import StrEnum
from typing import TYPE_CHECKING

from mesocosm.core.failure import InfrastructureError, MesocosmError, RunLeased, UnknownName
from mesocosm.core.redact import Redactor
from mesocosm.core.run import Run, RunStatus
from mesocosm.engine import session
from mesocosm.server.run_requests.lifecycle import release_run
from mesocosm.store.leases import SILENCE
from mesocosm.store.run_requests import SUSPECT, RunRequest

if TYPE_CHECKING:
    from mesocosm.server.service import Service

MOST_TRIES = 4
"""After this many workers have ended while they played a run, the last ones playing it alone, it fails."""
GRACE_S = 5.0
"""Seconds that running episodes have to end when the worker does."""
CANCEL_S = 1.0
HELD_S = 1.0
"""Seconds between attempts to take a run that another worker still seems to hold."""
LATE_S = 30.0
"""Seconds after its time limit until a run is stopped from outside; its own budget comes first."""

_OVER = frozenset({RunStatus.FINISHED, RunStatus.PARTIAL, RunStatus.FAILED})

_log = logging.getLogger(__name__)


class StopReason(StrEnum):
    """StopReason a run was stopped from outside."""

    CANCELLED = "cancelled"
    LEAVING = "the worker ends; another one goes on"
    LATE = "the run took longer than a run may take"


class ClaimedRun:
    """A claimed run in this worker. Belongs to one event loop."""

    def __init__(self, service: "Service", request: RunRequest, worker_id: str) -> None:
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
        """Whether nothing may start beside it: it may have crashed workers, and has not progressed in this one."""
        return self.request.tries > SUSPECT and not self.progressed

    def progressed_now(self) -> bool:
        """Return True once, when the first episode has ended in this worker; then `progressed` is set."""
        if self.progressed or self._done is None:
            return False
        run = self._service.store.run_requests.runs([self.request.run_id]).get(self.request.run_id)
        self.progressed = run is not None and run.counts.done > self._done
        return self.progressed

    def stop(self, reason: StopReason) -> None:
        """Stop it. Call this on the event loop."""
        self._reason = self._reason or reason
        self._stopped.set()
        grace = GRACE_S if reason is StopReason.LEAVING else CANCEL_S
        if reason is StopReason.CANCELLED and self.request.official:
            # Running episodes finish, or a participant could cancel those that go badly and play them again.
            grace = self._service.settings.episode_s
        self._control.stop(self._reason.value, grace)

    async def play(self) -> None:
        """Play it and record how it ended. Raises nothing but CancelledError."""
        run_id = self.request.run_id
        late = asyncio.get_running_loop().call_later(self._service.settings.run_s + LATE_S, self.stop, StopReason.LATE)
        try:
            if self.request.tries > MOST_TRIES:
                await self._fail(
                    f"{MOST_TRIES} workers ended while they played this run, so no other one tries it; "
                    "run fewer episodes at once, or ask those who run this platform"
                )
                return
            run = await self._resumed()
            if run is None:
                await self._requeue()
            else:
                await self._settle(run)
        except InfrastructureError as error:
            # The state of the run is unknown. Its lease ends, and the next worker goes on.
            _log.warning("run %s cannot go on at the moment: %s", run_id, error)
        except MesocosmError as error:
            await self._fail(Redactor().text(str(error)))
        except Exception as error:  # noqa: BLE001 - one run must not end the others
            _log.exception("run %s could not be played", run_id)
            await self._fail(Redactor().text(f"the platform failed: {type(error).__name__}: {error}"))
        finally:
            late.cancel()

    async def _resumed(self) -> Run | None:
        """Return the run after this session; None where it was stopped before it began."""
        deadline = time.monotonic() + 2 * SILENCE
        while not self._stopped.is_set():
            try:
                run = await asyncio.to_thread(self._service.store.runs.get, self.request.run_id)
                if self._done is None:
                    self._done = run.counts.done
                if run.status in _OVER and not run.counts.owed:
                    # Its worker may have died after finishing it and before releasing it.
                    await asyncio.to_thread(release_run, self._service, run.id)
                    return run
                return await session.resume(self.request.run_id, self._service.store, control=self._control)
            except RunLeased:
                # The worker before has died unseen, is about to release it, or hangs. This one has the lease now.
                if await asyncio.to_thread(self._evict):
                    _log.warning("run %s is taken from a worker that hangs", self.request.run_id)
                elif time.monotonic() > deadline:
                    raise
            try:
                async with asyncio.timeout(HELD_S):
                    await self._stopped.wait()
            except TimeoutError:
                continue
        return None

    def _evict(self) -> bool:
        requests, lease_s = self._service.store.run_requests, self._service.settings.lease_s
        return self._is_held(requests.get(self.request.run_id)) and self._service.store.leases.evict(
            self.request.run_id, lease_s
        )

    def _is_held(self, request: RunRequest | None) -> bool:
        return request is not None and request.state == "claimed" and request.claimed_by == self._worker_id

    async def _requeue(self) -> None:
        """Return it to the queue unless it was cancelled."""
        await asyncio.to_thread(self._service.store.run_requests.give_back, self.request.run_id, self._worker_id)

    async def _settle(self, run: Run) -> None:
        if run.status in _OVER:
            await self._end("ended", run.error)
        elif run.stop_requested and self._reason is None:
            await self._end("cancelled", "somebody asked to stop it")
        elif self._reason in {StopReason.LEAVING, StopReason.CANCELLED}:
            await self._requeue()
        else:
            # Out of budget: its pending episodes are played only when its owner resumes it.
            await self._end("ended", run.error or "it was stopped")

    async def _end(self, state: str, reason: str) -> None:
        await asyncio.to_thread(
            self._service.store.run_requests.end, self.request.run_id, state, reason, self._worker_id
        )

    async def _fail(self, reason: str) -> None:
        """Record that the run is over without being finished."""

        def work() -> None:
            store = self._service.store
            if not self._is_held(self._service.store.run_requests.get(self.request.run_id)):
                return
            try:
                run = store.runs.get(self.request.run_id)
            except UnknownName:
                return  # deleted meanwhile
            release_run(self._service, run.id)
            if run.status not in _OVER:
                # A stopped run that could not be resumed stays stopped.
                run.status = RunStatus.STOPPED if run.status is RunStatus.STOPPED else RunStatus.FAILED
                run.error, run.ended_at = reason, time.time()
                store.runs.save(run)
            self._service.store.run_requests.end(run.id, "ended", reason, self._worker_id)

        try:
            await asyncio.to_thread(work)
        except InfrastructureError as error:
            _log.warning("how run %s ended could not be written: %s", self.request.run_id, error)
