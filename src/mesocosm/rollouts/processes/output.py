"""Output of rollout processes: kept in a file, and reported to their row."""

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from mesocosm.core.redact import Redactor
from mesocosm.rollouts.executor import LineLog

FILE_BYTES = 16 * 1024 * 1024
_FULL = b"[the rest is not kept: the log has reached its size limit]\n"


class LogFile:
    """A file for the lines of all processes, at most FILE_BYTES of them. One that cannot be written is given up."""

    def __init__(self, path: Path | None, redactor: Redactor) -> None:
        self.redactor = redactor
        self._path = path
        self._file: BinaryIO | None = None
        self._room = FILE_BYTES

    def open(self) -> None:
        """Open the file for more lines."""
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("ab", buffering=0)
        except OSError:
            self._file = None

    def write(self, line: str) -> None:
        """Keep a line."""
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
        """Close it."""
        if self._file is not None:
            self._file.close()
            self._file = None


class ProcessOutput:
    """Splits what one process writes into lines. `listener` returns the row that is the only one there, if there is."""

    def __init__(self, file: LogFile, listener: Callable[[], LineLog | None]) -> None:
        self._file = file
        self._listener = listener
        self._rest = {"stdout": b"", "stderr": b""}

    def write(self, stream: str, data: bytes) -> None:
        """Take bytes that the process wrote."""
        *lines, rest = (self._rest[stream] + data).split(b"\n")
        self._rest[stream] = rest[-65536:]
        log = self._listener()
        for raw in lines:
            self.keep(stream, raw.decode("utf-8", "replace").rstrip("\r"), log)

    def keep(self, stream: str, line: str, log: LineLog | None) -> str:
        """Write a line to the file and to `log`; return it without secrets."""
        shown = self._file.redactor.text(line)
        self._file.write(shown)
        if log is not None:
            log(stream, shown)
        return shown
