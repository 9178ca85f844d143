"""Answers that were costly, kept for some seconds."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")

CHEAP_S = 0.02
"""What takes no longer is made anew for everybody."""

KEPT_S = 5.0
"""How long what was costly is kept."""

MOST = 20
"""Answers that are kept at once."""


class Lately(Generic[Answer]):
    """The latest answers by key: a costly one may be `kept` seconds old. May be used from any thread."""

    def __init__(
        self, kept: float = KEPT_S, cheap: float = CHEAP_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._kept = kept
        self._cheap = cheap
        self._clock = clock
        self._answers: OrderedDict[str, tuple[float, Answer]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str, make: Callable[[], Answer]) -> Answer:
        """Return the answer of `key`, made when none is kept; who asks meanwhile waits for it."""
        with self._lock:
            known = self._answers.get(key)
            if known is not None and self._clock() < known[0]:
                return known[1]
            began = self._clock()
            answer = make()
            now = self._clock()
            self._answers.pop(key, None)
            if now - began > self._cheap:
                self._answers[key] = (now + self._kept, answer)
                while len(self._answers) > MOST:
                    self._answers.popitem(last=False)
            return answer

    def forget(self, key: str) -> None:
        """Keep the answer of `key` no longer: what it was made from has changed."""
        with self._lock:
            self._answers.pop(key, None)
