"""One claimed run, from its row to its end: whatever happens inside, the worker goes on."""

import asyncio
import logging
import time
from enum import StrEnum
from typing import TYPE_CHECKING

from mesocosm.core.failure import InfrastructureError, MesocosmError, RunHeld, UnknownName
from mesocosm.core.redact import Redactor
from mesocosm.core.run import Run, RunStatus
from mesocosm.engine import session
from mesocosm.server.run_requests.lifecycle import release_run
from mesocosm.store.hold import SILENCE
from mesocosm.store.run_requests import SUSPECT, RunRequest

if TYPE_CHECKING:
    from mesocosm.server.service import Service

MOST_TRIES = 4
"""A run that ended so many workers, the last ones while nothing was begun beside it, is not given to another one."""
GRACE_S = 5.0
"""Seconds that running episodes have to end when the worker does."""
CANCEL_S = 1.0
HELD_S = 1.0
"""Seconds between tries to take a run that somebody else still seems to work on."""
LATE_S = 30.0
"""How much longer than allowed a run may take until we stop it, in seconds; its own budget comes first."""

_OVER = frozenset({RunStatus.FINISHED, RunStatus.PARTIAL, RunStatus.FAILED})

_log = logging.getLogger(__name__)


class Why(StrEnum):
    """Why a run was stopped from outside."""

    CANCELLED = "cancelled"
    LEAVING = "the worker ends; another one goes on"
    LATE = "the run took longer than a run may take"


class Playing:
    """A claimed run in this worker. Belongs to one event loop."""

    def __init__(self, service: "Service", order: RunRequest, worker_id: str) -> None:
        self.order = order
        self._service = service
        self._worker_id = worker_id
        self._control = session.Control()
        self._why: Why | None = None
        self._done: int | None = None
        self._stopped = asyncio.Event()
        self.moves = False

    @property
    def alone(self) -> bool:
        """Whether it may have ended workers and has not moved on in this one, so that nothing is begun beside it."""
        return self.order.tries > SUSPECT and not self.moves

    def moved(self) -> bool:
        """Return once that an episode has ended in this worker; from then on `moves` says so."""
        if self.moves or self._done is None:
            return False
        run = self._service.run_requests.runs([self.order.run_id]).get(self.order.run_id)
        self.moves = run is not None and run.counts.done > self._done
        return self.moves

    def stop(self, why: Why) -> None:
        """Let it come to an end. Call it on the event loop."""
        self._why = self._why or why
        self._stopped.set()
        grace = GRACE_S if why is Why.LEAVING else CANCEL_S
        if why is Why.CANCELLED and self.order.official:
            # Whoever could cancel episodes that go badly and resume would play them again until they go well.
            grace = self._service.settings.episode_s
        self._control.stop(self._why.value, grace)

    async def play(self) -> None:
        """Play it and write how it ended. Never raises but for a cancellation."""
        run_id = self.order.run_id
        late = asyncio.get_running_loop().call_later(self._service.settings.run_s + LATE_S, self.stop, Why.LATE)
        try:
            if self.order.tries > MOST_TRIES:
                await self._fail(
                    f"{MOST_TRIES} workers ended while they played this run, so no other one tries it; "
                    "run fewer episodes at once, or ask those who run this platform"
                )
                return
            run = await self._resumed()
            if run is None:
                await self._back()
            else:
                await self._settle(run)
        except InfrastructureError as error:
            # Nothing is known of the run; its lease ends, and whoever comes then goes on.
            _log.warning("run %s cannot go on at the moment: %s", run_id, error)
        except MesocosmError as error:
            await self._fail(Redactor().text(str(error)))
        except Exception as error:  # noqa: BLE001 - one run never ends the others
            _log.exception("run %s could not be played", run_id)
            await self._fail(Redactor().text(f"the platform failed: {type(error).__name__}: {error}"))
        finally:
            late.cancel()

    async def _resumed(self) -> Run | None:
        """Return the run after this session; None where it was to stop before it could begin."""
        deadline = time.monotonic() + 2 * SILENCE
        while not self._stopped.is_set():
            try:
                run = await asyncio.to_thread(self._service.store.get_run, self.order.run_id)
                if self._done is None:
                    self._done = run.counts.done
                if run.status in _OVER and not run.counts.owed:
                    # Whoever finished it may have died before it let it go.
                    await asyncio.to_thread(release_run, self._service, run.id)
                    return run
                return await session.resume(self.order.run_id, self._service.store, control=self._control)
            except RunHeld:
                # Whoever had it has just died where nobody can see that, is about to let it go, or stands still. Its
                # lease is ours now.
                if await asyncio.to_thread(self._evict):
                    _log.warning("run %s is taken from a worker that does not move", self.order.run_id)
                elif time.monotonic() > deadline:
                    raise
            try:
                async with asyncio.timeout(HELD_S):
                    await self._stopped.wait()
            except TimeoutError:
                continue
        return None

    def _evict(self) -> bool:
        orders, lease_s = self._service.run_requests, self._service.settings.lease_s
        return self._is_ours(orders.get(self.order.run_id)) and self._service.store.evict(self.order.run_id, lease_s)

    def _is_ours(self, order: RunRequest | None) -> bool:
        return order is not None and order.state == "claimed" and order.claimed_by == self._worker_id

    async def _back(self) -> None:
        """Return it to the queue, unless somebody cancelled it."""
        await asyncio.to_thread(self._service.run_requests.give_back, self.order.run_id, self._worker_id)

    async def _settle(self, run: Run) -> None:
        if run.status in _OVER:
            await self._end("ended", run.error)
        elif run.stop_requested and self._why is None:
            await self._end("cancelled", "somebody asked to stop it")
        elif self._why in {Why.LEAVING, Why.CANCELLED}:
            await self._back()
        else:
            # Out of its budget: what it owes is played only when its owner asks for that.
            await self._end("ended", run.error or "it was stopped")

    async def _end(self, state: str, reason: str) -> None:
        await asyncio.to_thread(self._service.run_requests.end, self.order.run_id, state, reason, self._worker_id)

    async def _fail(self, reason: str) -> None:
        """Write that a run is over without being finished."""

        def work() -> None:
            store = self._service.store
            if not self._is_ours(self._service.run_requests.get(self.order.run_id)):
                return
            try:
                run = store.get_run(self.order.run_id)
            except UnknownName:
                return  # deleted meanwhile
            release_run(self._service, run.id)
            if run.status not in _OVER:
                # One that was stopped before and could not go on is what it was.
                run.status = RunStatus.STOPPED if run.status is RunStatus.STOPPED else RunStatus.FAILED
                run.error, run.ended_at = reason, time.time()
                store.save_run(run)
            self._service.run_requests.end(run.id, "ended", reason, self._worker_id)

        try:
            await asyncio.to_thread(work)
        except InfrastructureError as error:
            _log.warning("how run %s ended could not be written: %s", self.order.run_id, error)
