"""What nearly every request reads, remembered for a moment: who somebody is, and which teams they are in."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

from mesocosm.store.database import Database

KEPT_S = 2.0
"""How long other servers and the command line may have changed something before it is noticed here."""
MOST = 5_000

Value = TypeVar("Value")


class Briefly:
    """Values read from a database, forgotten after two seconds, and at once when this process writes to it.

    May be used from any thread.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: OrderedDict[Hashable, tuple[int, float, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, read: Callable[[], Value]) -> Value:
        """Return the value of `key`, read where it is not known; a missing one (None) is read each time."""
        written, now = self._database.written, time.time()
        with self._lock:
            known = self._kept.get(key)
        if known is not None and known[0] == written and 0 <= now - known[1] < KEPT_S:
            return cast("Value", known[2])
        value = read()
        if value is not None:
            with self._lock:
                self._kept[key] = (written, now, value)
                self._kept.move_to_end(key)
                while len(self._kept) > MOST:
                    self._kept.popitem(last=False)
        return value
