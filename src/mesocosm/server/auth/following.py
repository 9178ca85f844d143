"""Limits of open streams: in total, per person, and per address."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

MOST_STREAMS = 2_000
MOST_OF_ONE = 50
MOST_OF_ADDRESS = 200


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
