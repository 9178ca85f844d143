"""What users' code prints, kept apart from what we print ourselves."""

import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TextIO, cast

Taker = Callable[[str, str], None]
"""Takes text that was written: `stdout` or `stderr`, the text."""

taker: ContextVar[Taker | None] = ContextVar("taker", default=None)
"""Who takes what this code prints; None: nobody, it is our own."""


class Lines:
    """Puts text together to lines and hands on each whole one."""

    def __init__(self, take: Taker) -> None:
        self.open = True
        self._take = take
        self._begun = {"stdout": "", "stderr": ""}

    def write(self, stream: str, text: str) -> None:
        """Take more text of a stream."""
        *whole, self._begun[stream] = (self._begun[stream] + text).split("\n")
        for line in whole:
            self._take(stream, line)

    def end(self, take: Taker) -> None:
        """Give what has begun to `take`; what is written from here on belongs to nobody."""
        self.open = False
        for stream, begun in self._begun.items():
            if begun:
                take(stream, begun)


class Routed:
    """Stands in for sys.stdout or sys.stderr: text of users' code goes to its taker, else to the stream as before.

    What threads of users' code print to stdout goes to stderr, for stdout is the command's own.
    """

    def __init__(self, name: str, stream: TextIO, errors: TextIO) -> None:
        self._name = name
        self._stream = stream
        self._errors = errors
        self._own = {threading.get_ident(), threading.main_thread().ident}
        self.buffer = RoutedBytes(self)

    def write(self, text: str) -> int:
        """Write text to whom it belongs."""
        take = taker.get()
        if take is not None:
            take(self._name, text)
        elif threading.get_ident() in self._own:
            self._stream.write(text)
        else:
            self._errors.write(text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def foreign(self) -> bool:
        """Whether what is written at this moment is users' code's."""
        return taker.get() is not None or threading.get_ident() not in self._own

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class RoutedBytes:
    """Stands in for sys.stdout.buffer or sys.stderr.buffer: bytes of users' code go where their text goes."""

    def __init__(self, routed: Routed) -> None:
        self._routed = routed

    def write(self, data: Any) -> int:
        """Write bytes to whom they belong."""
        if not self._routed.foreign():
            return int(self._beneath().write(data))
        found = bytes(data)
        self._routed.write(found.decode("utf-8", "replace"))
        return len(found)

    def _beneath(self) -> Any:
        return self._routed.__getattr__("buffer")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._beneath(), name)


class Routing:
    """Routes stdout and stderr of this process as long as somebody needs it."""

    def __init__(self) -> None:
        self._needed = 0
        self._before: tuple[TextIO, TextIO] | None = None
        self._routed: tuple[Routed, Routed] | None = None

    def begin(self) -> None:
        """Start routing, or note that one more needs it."""
        self._needed += 1
        if self._needed > 1:
            return
        out, err = self._before = sys.stdout, sys.stderr
        self._routed = Routed("stdout", out, err), Routed("stderr", err, err)
        sys.stdout, sys.stderr = cast(TextIO, self._routed[0]), cast(TextIO, self._routed[1])

    def end(self) -> None:
        """Stop when nobody needs it any more; a stream that somebody else replaced meanwhile is left alone."""
        self._needed -= 1
        if self._needed or self._before is None or self._routed is None:
            return
        if sys.stdout is cast(TextIO, self._routed[0]):
            sys.stdout = self._before[0]
        if sys.stderr is cast(TextIO, self._routed[1]):
            sys.stderr = self._before[1]


routing = Routing()


def to_stderr(_stream: str, text: str) -> None:
    """Take text that belongs to no row."""
    errors = routing._before[1] if routing._before is not None else sys.stderr  # noqa: SLF001
    errors.write(text)
