"""The output of an external process: its tail in memory, and optionally its start in a file."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

TAIL_BYTES = 64 * 1024
FILE_BYTES = 16 * 1024 * 1024
_FULL = b"\n[the rest is not kept: the log has reached its size limit]\n"


class Log:
    """One output stream. Keeps the last `tail` bytes; with a `path`, also writes the first `limit` bytes to that file.

    `heard` is called with each piece of output. File errors are ignored: a process must not fail because of its log.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        tail: int = TAIL_BYTES,
        limit: int = FILE_BYTES,
        heard: Callable[[bytes], None] | None = None,
    ) -> None:
        self._tail = tail
        self._bytes = bytearray()
        self._cut = False
        self._room = limit
        self._heard = heard
        self._file: BinaryIO | None = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("wb", buffering=0)

    def write(self, data: bytes) -> None:
        """Process received output."""
        if self._heard is not None:
            self._heard(data)
        self.remember(data)
        if self._file is not None:
            self._keep(data)

    def remember(self, data: bytes) -> None:
        """Add output to the tail only, for data that was already reported and stored otherwise."""
        self._bytes += data[-self._tail :]
        self._cut = self._cut or len(data) > self._tail
        # Cutting only occasionally keeps the cost per byte constant.
        if len(self._bytes) > 2 * self._tail:
            del self._bytes[: -self._tail]
            self._cut = True

    def text(self, lines: int = 20) -> str:
        """Return the last lines as text; of a line that was overwritten (a progress bar), only its last state."""
        whole = bytes(self._bytes[-self._tail :])
        found = re.split(r"\r?\n", whole.decode("utf-8", "replace").rstrip("\r\n"))
        if len(found) > 1 and (self._cut or len(self._bytes) > self._tail):
            # The first line is incomplete.
            del found[0]
        return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in found[-lines:]) if lines > 0 else ""

    def close(self) -> None:
        """Close the file; the tail stays readable."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _keep(self, data: bytes) -> None:
        assert self._file is not None
        try:
            self._file.write(data[: self._room])
            self._room -= len(data)
            if self._room < 0:
                self._file.write(_FULL)
                self.close()
        except OSError:
            self.close()
