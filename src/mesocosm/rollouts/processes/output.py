"""Output of rollout processes: written to a file, and passed to its row."""

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from mesocosm.core.redact import Redactor
from mesocosm.rollouts.executor import LineLog

FILE_BYTES = 16 * 1024 * 1024
_FULL = b"[the rest is not kept: the log has reached its size limit]\n"


class LogFile:
    """A file for the lines of all processes, up to FILE_BYTES. After a write error no more lines are written."""

    def __init__(self, path: Path | None, redactor: Redactor) -> None:
        self.redactor = redactor
        self._path = path
        self._file: BinaryIO | None = None
        self._room = FILE_BYTES

    def open(self) -> None:
        """Open the file for appending; without success, lines are dropped."""
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("ab", buffering=0)
        except OSError:
            self._file = None

    def write(self, line: str) -> None:
        """Write a line, if there is room."""
        if self._file is None:
            return
        data = f"{line}\n".encode("utf-8", "replace")
        try:
            self._file.write(data if len(data) <= self._room else _FULL)
        except OSError:
            self._room = 0
        self._room -= len(data)
        if self._room < 0:
            self.close()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


class ProcessOutput:
    """Splits the output of one process into lines. `listener` returns the log of the row, if only one is running."""

    def __init__(self, file: LogFile, listener: Callable[[], LineLog | None]) -> None:
        self._file = file
        self._listener = listener
        self._rest = {"stdout": b"", "stderr": b""}

    def write(self, stream: str, data: bytes) -> None:
        """Add bytes that the process wrote."""
        *lines, rest = (self._rest[stream] + data).split(b"\n")
        self._rest[stream] = rest[-65536:]
        log = self._listener()
        for raw in lines:
            self.keep(stream, raw.decode("utf-8", "replace").rstrip("\r"), log)

    def keep(self, stream: str, line: str, log: LineLog | None) -> str:
        """Write a line without secrets to the file and to `log`, and return it."""
        shown = self._file.redactor.text(line)
        self._file.write(shown)
        if log is not None:
            log(stream, shown)
        return shown
