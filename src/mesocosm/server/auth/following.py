"""Listeners of streams: limits per person and address, and recognising them again while a stream is open."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from mesocosm.server.auth.principal import Principal

MOST_STREAMS = 2_000
MOST_OF_ONE = 50
MOST_OF_ADDRESS = 200
KNOWN_S = 15.0
"""Seconds after which a listener is recognised again: the stream of a disabled or signed-out user ends."""


class Audience:
    """Counts the open streams: in total, per person, and per address for anonymous callers."""

    def __init__(self) -> None:
        self._each: Counter[str] = Counter()

    def full(self, who: str, *, known: bool) -> bool:
        """Return whether the limit for another stream is reached."""
        return self._each.total() >= MOST_STREAMS or self._each[who] >= (MOST_OF_ONE if known else MOST_OF_ADDRESS)

    @contextmanager
    def seat(self, who: str) -> Iterator[None]:
        """Count one more stream inside this context."""
        self._each[who] += 1
        try:
            yield
        finally:
            self._each[who] -= 1
            if not self._each[who]:
                del self._each[who]


class Listening:
    """One listener, recognised again from time to time."""

    def __init__(self, who: Principal) -> None:
        self.who = who
        self._known_until = time.monotonic() + KNOWN_S

    def stale(self) -> bool:
        """Return whether it is time to recognise them again."""
        return not self.who.anonymous and time.monotonic() > self._known_until

    def still(self, who: Principal) -> bool:
        """Return whether the caller is still the same."""
        self._known_until = time.monotonic() + KNOWN_S
        return who == self.who
