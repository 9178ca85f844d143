"""Capture the output of users' code and attribute it to the row that printed it. Standard library only."""

import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TextIO, cast

LineSink = Callable[[str, str], None]
"""Called with `stdout` or `stderr` and a line without its line break."""


class RowOutput:
    """Splits the output of one row's code into lines. `name` identifies the row."""

    def __init__(self, name: str, sink: LineSink) -> None:
        self.name = name
        self._sink: LineSink | None = sink
        self._begun = {"stdout": "", "stderr": ""}

    def write(self, stream: str, text: str) -> None:
        """Add text of a stream."""
        *whole, self._begun[stream] = (self._begun[stream] + text).split("\n")
        if self._sink is not None:
            for line in whole:
                self._sink(stream, line)

    def end(self) -> None:
        """Pass on unfinished lines, and drop later output."""
        sink, self._sink = self._sink, None
        for stream, begun in self._begun.items():
            if begun and sink is not None:
                sink(stream, begun)


current_output: ContextVar[RowOutput | None] = ContextVar("current_output", default=None)
"""The output of the row that the running code belongs to; None outside of rows."""


class RowStream:
    """Replaces sys.stdout or sys.stderr: output of a row goes to its RowOutput, other output to `stream`."""

    def __init__(self, name: str, stream: TextIO) -> None:
        self._name = name
        self._stream = stream
        self.buffer = _RowBytes(name, stream)

    def write(self, text: str) -> int:
        """Write text."""
        output = current_output.get()
        if output is None:
            return self._stream.write(text)
        output.write(self._name, text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write each of several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _RowBytes:
    """Replaces the `buffer` of a stream."""

    def __init__(self, name: str, stream: TextIO) -> None:
        self._name = name
        self._stream = stream

    def write(self, data: Any) -> int:
        output = current_output.get()
        if output is None:
            return self._stream.buffer.write(data)
        found = bytes(data)
        output.write(self._name, found.decode("utf-8", "replace"))
        return len(found)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream.buffer, name)


class OutputCapture:
    """Attributes the output of this process to rows while at least one user needs it."""

    def __init__(self) -> None:
        self._users = 0
        self._streams: list[tuple[str, TextIO, TextIO]] = []

    def begin(self) -> None:
        """Start attributing output to rows. Output outside of rows still goes to the original streams."""
        self._users += 1
        if self._users == 1:
            for name in ("stdout", "stderr"):
                before: TextIO = getattr(sys, name)
                ours = cast(TextIO, RowStream(name, before))
                self._streams.append((name, before, ours))
                setattr(sys, name, ours)

    def end(self) -> None:
        """Restore the streams after the last user, except those that other code has replaced meanwhile."""
        self._users -= 1
        if not self._users:
            for name, before, ours in self._streams:
                if getattr(sys, name) is ours:
                    setattr(sys, name, before)
            self._streams.clear()


capture = OutputCapture()
