"""The signs of life of a worker: in a thread of its own, whatever its episodes do."""

import logging
import threading
import time
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from mesocosm.core.failure import MesocosmError

if TYPE_CHECKING:
    from mesocosm.server.service import Service
    from mesocosm.server.workers.standstill import Standstill

LOOK_S = 1.0
"""Seconds between looks at whether something was cancelled."""

_log = logging.getLogger(__name__)


class Kept:
    """Something that a worker has under a lease.

    `renew` is called when it is time to lengthen it, and returns whether it is still ours; `ours` only looks; `lost` is
    told once when it is not. The leases of runs are lengthened by then, all of them at once.
    All three are called from the thread of the pulse.
    """

    def __init__(self, renew: Callable[[], bool], ours: Callable[[], bool], lost: Callable[[], object]) -> None:
        self.renew = renew
        self.ours = ours
        self.lost = lost


class Pulse:
    """Keeps the leases of one worker, and its row, for as long as its event loop turns.

    When the loop has stood still for a third of a lease nothing is renewed, so that other workers take what it has.
    After a whole lease `hung` is called, once, from the thread of the pulse.
    """

    def __init__(
        self,
        service: "Service",
        worker_id: str,
        *,
        standstill: "Standstill | None" = None,
        hung: Callable[[], object] = lambda: None,
    ) -> None:
        self._standstill = standstill
        self._hung = hung
        self._told = self._given_up = False
        self._service = service
        self._worker_id = worker_id
        self._every = service.settings.lease_s / 3
        self._kept: dict[Hashable, Kept] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="pulse of a worker", daemon=True)
        self.runs = 0

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, after what is under way."""
        self._over.set()
        self._thread.join()

    def keep(self, key: Hashable, kept: Kept) -> None:
        """Renew this lease from now on."""
        with self._lock:
            self._kept[key] = kept

    def drop(self, key: Hashable) -> None:
        """Renew it no more."""
        with self._lock:
            self._kept.pop(key, None)

    def _beat(self) -> None:
        due = time.monotonic()
        while True:
            turns = self._turns()
            renewing = turns and time.monotonic() >= due
            if renewing:
                due = time.monotonic() + self._every
            try:
                if renewing:
                    lag_s = self._standstill.longest() if self._standstill is not None else None
                    self._service.workers.beat(self._worker_id, self.runs, lag_s)
                self._look(renewing=renewing)
            except MesocosmError as error:
                # The leases hold a while yet; if the database stays away, others may have what we had.
                _log.warning("a sign of life of this worker could not be written: %s", error)
            if self._over.wait(min(LOOK_S, self._every)):
                return

    def _turns(self) -> bool:
        """Return whether the event loop turns; say once where it stands still, and once that it has for too long."""
        still = self._standstill.seconds() if self._standstill is not None else 0.0
        if still < self._every:
            if self._told:
                _log.warning("the event loop of this worker turns again")
            self._told = self._given_up = False
            return True
        assert self._standstill is not None
        if not self._told:
            self._told = True
            words = "the event loop of this worker has stood still for %.0f s, so it renews no lease; it is busy at\n%s"
            _log.error(words, still, self._standstill.where())
        if still >= self._service.settings.lease_s and not self._given_up:
            self._given_up = True
            self._hung()
        return False

    def _look(self, *, renewing: bool) -> None:
        with self._lock:
            listed = list(self._kept.items())
        if renewing and (runs := [key for key, _ in listed if isinstance(key, str)]):
            self._service.run_requests.renew_all(runs, self._worker_id, self._service.settings.lease_s)
        for key, kept in listed:
            if not (kept.renew() if renewing else kept.ours()):
                self.drop(key)
                kept.lost()
