"""The in-memory cache of the server: LRU with expiry."""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class _Entry(Generic[Value]):
    value: Value
    version: Any
    until: float
    size: int


class Cache(Generic[Value]):
    """An LRU cache with expiry. Thread-safe.

    It contains at most `entries` values, each for `seconds`; values of type bytes have at most `room` bytes together.
    None is never cached by `get`.
    """

    def __init__(
        self,
        entries: int = 1_000,
        *,
        seconds: float = math.inf,
        room: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = entries
        self._seconds = seconds
        self._room = room
        self._clock = clock
        self._entries: OrderedDict[Hashable, _Entry[Value]] = OrderedDict()
        self._used = 0
        self._turns: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def find(self, key: Hashable, version: Any = None) -> Value | None:
        """Return the value of `key`; None if it is missing, or expired unless it has the given `version`."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            if self._clock() >= entry.until and (version is None or version != entry.version):
                return None
            self._entries.move_to_end(key)
            return entry.value

    def keep(self, key: Hashable, value: Value, *, version: Any = None, seconds: float | None = None) -> None:
        """Store a value for `seconds`. `find` with the same `version` returns it even after that."""
        until = self._clock() + (self._seconds if seconds is None else seconds)
        size = len(value) if isinstance(value, bytes) else 0
        with self._lock:
            self._drop(key)
            self._entries[key] = _Entry(value, version, until, size)
            self._used += size
            while len(self._entries) > self._most or self._used > self._room:
                self._drop(next(iter(self._entries)))

    def get(
        self,
        key: Hashable,
        make: Callable[[], Value],
        *,
        version: Any = None,
        lasts: Callable[[float], float] | None = None,
    ) -> Value:
        """Return the value of `key`; if it is missing, call `make` and store it. Other threads wait for the result.

        `lasts` maps the seconds that `make` took to the seconds to store the value. Errors of `make` propagate.
        """
        found = self.find(key, version)
        if found is not None:
            return found
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:
            try:
                found = self.find(key, version)
                if found is not None:
                    return found
                began = self._clock()
                made = make()
                seconds = self._seconds if lasts is None else lasts(self._clock() - began)
                if made is not None and (seconds > 0 or version is not None):
                    self.keep(key, made, version=version, seconds=seconds)
                return made
            finally:
                with self._lock:
                    self._turns.pop(key, None)

    def forget(self, key: Hashable) -> None:
        """Remove the value of `key`, if there is one."""
        with self._lock:
            self._drop(key)

    def _drop(self, key: Hashable) -> None:
        entry = self._entries.pop(key, None)
        self._used -= 0 if entry is None else entry.size


def a_while(cost: float) -> float:
    """Return for how many seconds to cache a value that took `cost` seconds; 0 for cheap ones. For `Cache.get`."""
    return 5.0 if cost > 0.02 else 0.0
