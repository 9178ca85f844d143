"""One cache for everything that the server keeps in memory for a while."""

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
    """The values used last, each for its time. Safe for all threads.

    It keeps at most `entries` values, each for `seconds`, and `room` bytes where they are bytes. None is never kept.
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
        """Return the value of `key`; None without one, or where its time is over and it is not of this version."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            if self._clock() >= entry.until and (version is None or version != entry.version):
                return None
            self._entries.move_to_end(key)
            return entry.value

    def keep(self, key: Hashable, value: Value, *, version: Any = None, seconds: float | None = None) -> None:
        """Keep a value for `seconds`; of a `version` that stays the same it is kept for longer."""
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
        """Return the value of `key`, made where none is kept; other threads that ask for it meanwhile wait.

        `lasts` returns for how many seconds a value is kept that took some seconds to make. Raises what `make` raises.
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
        """Drop the value of `key`: what it was made from has changed."""
        with self._lock:
            self._drop(key)

    def _drop(self, key: Hashable) -> None:
        entry = self._entries.pop(key, None)
        self._used -= 0 if entry is None else entry.size


def a_while(cost: float) -> float:
    """Return for how many seconds an answer is kept that took `cost` seconds: cheap ones are made anew."""
    return 5.0 if cost > 0.02 else 0.0
