"""Listeners of a server: how many streams one person may open, and who they are while a stream is open."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from mesocosm.server.auth.principal import Principal

MOST_STREAMS = 2_000
MOST_OF_ONE = 50
MOST_OF_ADDRESS = 200
KNOWN_S = 15.0
"""Seconds after which it is asked again who listens: who is signed out or disabled hears no more."""


class Audience:
    """The streams of this server: so many at once, of one person, and of one address where nobody is known."""

    def __init__(self) -> None:
        self._each: Counter[str] = Counter()

    def full(self, who: str, *, known: bool) -> bool:
        """Return whether there is no room for one more of theirs."""
        return self._each.total() >= MOST_STREAMS or self._each[who] >= (MOST_OF_ONE if known else MOST_OF_ADDRESS)

    @contextmanager
    def seat(self, who: str) -> Iterator[None]:
        """Count one more while it lasts."""
        self._each[who] += 1
        try:
            yield
        finally:
            self._each[who] -= 1
            if not self._each[who]:
                del self._each[who]


class Listening:
    """One listener, who is recognised again from time to time."""

    def __init__(self, who: Principal) -> None:
        self.who = who
        self._known_until = time.monotonic() + KNOWN_S

    def stale(self) -> bool:
        """Return whether it is time to recognise them again."""
        return not self.who.anonymous and time.monotonic() > self._known_until

    def still(self, who: Principal) -> bool:
        """Return whether it is still who it was."""
        self._known_until = time.monotonic() + KNOWN_S
        return who == self.who
