"""Answers that were costly to make, kept while there is room."""

import threading
from collections import OrderedDict
from collections.abc import Callable

ROOM = 64 * 2**20
"""Bytes that all answers of one cache may take together."""


class Cache:
    """The answers used latest, by a key that changes whenever the answer would. May be used from any thread."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._used = 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._made: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: str, make: Callable[[], bytes]) -> bytes:
        """Return the answer of `key`, made when it is not kept; who asks for the same meanwhile waits for it."""
        with self._lock:
            turn = self._made.setdefault(key, threading.Lock())
        with turn:
            try:
                kept = self._find(key)
                if kept is None:
                    kept = make()
                    self._keep(key, kept)
                return kept
            finally:
                with self._lock:
                    self._made.pop(key, None)

    def _find(self, key: str) -> bytes | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: str, answer: bytes) -> None:
        with self._lock:
            self._used += len(answer) - len(self._kept.pop(key, b""))
            self._kept[key] = answer
            while self._used > self._room:
                _, oldest = self._kept.popitem(last=False)
                self._used -= len(oldest)
