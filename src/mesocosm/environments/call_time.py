"""How long a call to an environment takes."""

import time


class CallTime:
    """The seconds of a call so far, or until its end."""

    __slots__ = ("_ended", "_started")

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._ended = 0.0

    def end(self) -> None:
        """Measure no further."""
        self._ended = time.monotonic()

    @property
    def elapsed(self) -> float:
        """The seconds."""
        return (self._ended or time.monotonic()) - self._started
