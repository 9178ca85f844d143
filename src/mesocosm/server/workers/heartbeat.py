"""The heartbeat of a worker: a thread that renews its leases while its event loop responds."""

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable, Hashable

from mesocosm.core.failure import MesocosmError
from mesocosm.server.service import Service

LOOK_S = 1.0
"""Seconds between checks for cancelled runs and builds."""

_log = logging.getLogger(__name__)


class EventLoopWatch:
    """Measures how long an event loop is blocked. Create it on the thread of that loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread = threading.get_ident()
        self._asked: float | None = None
        self._longest = 0.0

    def longest(self) -> float:
        """Return the longest response time of the loop since the last call, in seconds."""
        found, self._longest = max(self._longest, self.seconds()), 0.0
        return found

    def seconds(self) -> float:
        """Return for how long the loop has not responded; if it has, return 0.0 and start the next measurement."""
        asked = self._asked
        if asked is not None:
            return time.monotonic() - asked
        self._asked = time.monotonic()
        try:
            self._loop.call_soon_threadsafe(self._answer)
        except RuntimeError:  # the loop is closed, not blocked
            self._asked = None
        return 0.0

    def stack(self) -> str:
        """Return the current stack of the loop's thread; empty if the thread has ended."""
        frame = sys._current_frames().get(self._thread)  # noqa: SLF001 -- documented, in spite of its name
        return "".join(traceback.format_stack(frame, limit=20)) if frame is not None else ""

    def _answer(self) -> None:
        if self._asked is not None:
            self._longest = max(self._longest, time.monotonic() - self._asked)
        self._asked = None


class WorkerLease:
    """The lease of a run or a build that a worker holds.

    `renew` extends the lease and returns whether it is still held; `held` only checks. `lost` is called once if it is
    no longer held. All are called from the heartbeat thread, which extends the leases of all runs together beforehand.
    """

    def __init__(self, renew: Callable[[], bool], held: Callable[[], bool], lost: Callable[[], object]) -> None:
        self.renew = renew
        self.held = held
        self.lost = lost


class Heartbeat:
    """Renews the leases and the row of one worker while its event loop responds.

    While the loop has been blocked for over a third of a lease, nothing is renewed, so that other workers take over.
    After a whole lease `hung` is called once, from the heartbeat thread.
    """

    def __init__(
        self,
        service: Service,
        worker_id: str,
        *,
        watch: EventLoopWatch | None = None,
        hung: Callable[[], object] = lambda: None,
    ) -> None:
        self._watch = watch
        self._hung = hung
        self._reported = self._given_up = False
        self._service = service
        self._worker_id = worker_id
        self._every = service.settings.lease_s / 3
        self._leases: dict[Hashable, WorkerLease] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat of a worker", daemon=True)
        self.runs = 0
        self.busy: Callable[[], int] = lambda: 0

    def start(self) -> None:
        """Start the heartbeat thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the heartbeat, and wait for its current beat to end."""
        self._over.set()
        self._thread.join()

    def add(self, key: Hashable, lease: WorkerLease) -> None:
        """Renew this lease from now on."""
        with self._lock:
            self._leases[key] = lease

    def remove(self, key: Hashable) -> None:
        """Stop renewing this lease."""
        with self._lock:
            self._leases.pop(key, None)

    def _beat(self) -> None:
        due = time.monotonic()
        while True:
            running = self._loop_runs()
            renewing = running and time.monotonic() >= due
            if renewing:
                due = time.monotonic() + self._every
            try:
                if renewing:
                    lag_s = self._watch.longest() if self._watch is not None else None
                    self._service.store.workers.beat(self._worker_id, self.runs, lag_s, self.busy())
                self._check_leases(renewing=renewing)
            except MesocosmError as error:
                # The leases are still valid for a while. If the database stays unavailable, other workers take over.
                _log.warning("a heartbeat of this worker could not be written: %s", error)
            if self._over.wait(min(LOOK_S, self._every)):
                return

    def _loop_runs(self) -> bool:
        """Return whether the event loop responds. Log once where it is blocked, and call `hung` once."""
        blocked = self._watch.seconds() if self._watch is not None else 0.0
        if blocked < self._every:
            if self._reported:
                _log.warning("the event loop of this worker runs again")
            self._reported = self._given_up = False
            return True
        assert self._watch is not None
        if not self._reported:
            self._reported = True
            words = (
                "the event loop of this worker has been blocked for %.0f s, so it renews no lease; it is busy at\n%s"
            )
            _log.error(words, blocked, self._watch.stack())
        if blocked >= self._service.settings.lease_s and not self._given_up:
            self._given_up = True
            self._hung()
        return False

    def _check_leases(self, *, renewing: bool) -> None:
        with self._lock:
            listed = list(self._leases.items())
        if renewing and (runs := [key for key, _ in listed if isinstance(key, str)]):
            self._service.store.queue.renew_all(runs, self._worker_id, self._service.settings.lease_s)
        for key, lease in listed:
            if not (lease.renew() if renewing else lease.held()):
                self.remove(key)
                lease.lost()
