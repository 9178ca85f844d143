"""The signs of life of a worker: in a thread of its own, whatever its episodes do."""

import logging
import threading
import time
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from mesocosm.core.failure import MesocosmError

if TYPE_CHECKING:
    from mesocosm.platform.service import Service

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
    """Keeps the leases of one worker, and its row."""

    def __init__(self, service: "Service", worker_id: str) -> None:
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
            renewing = time.monotonic() >= due
            if renewing:
                due = time.monotonic() + self._every
            try:
                if renewing:
                    self._service.workers.beat(self._worker_id, self.runs)
                self._look(renewing=renewing)
            except MesocosmError as error:
                # The leases hold a while yet; if the database stays away, others may have what we had.
                _log.warning("a sign of life of this worker could not be written: %s", error)
            if self._over.wait(min(LOOK_S, self._every)):
                return

    def _look(self, *, renewing: bool) -> None:
        with self._lock:
            listed = list(self._kept.items())
        if renewing and (runs := [key for key, _ in listed if isinstance(key, str)]):
            self._service.orders.renew_all(runs, self._worker_id, self._service.settings.lease_s)
        for key, kept in listed:
            if not (kept.renew() if renewing else kept.ours()):
                self.drop(key)
                kept.lost()
