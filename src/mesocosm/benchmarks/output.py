"""The output of a program: reported line by line and written to a file, both bounded and with secrets redacted."""

import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mesocosm.core.redact import Redactor
from mesocosm.sandboxes.log import FILE_BYTES, Log

FIRST_LINES = 500
LAST_LINES = 200
LINE_CHARACTERS = 2_000
_PART_BYTES = 64 * 1024
"""A longer line is processed in parts."""


class Output:
    """Both streams of one program. The files are `stdout.log` and `stderr.log` in `folder`."""

    def __init__(self, folder: Path, tell: Callable[[str, str], None], redactor: Redactor) -> None:
        self.heard_at = time.monotonic()
        self._streams = {
            name: _Stream(folder / f"{name}.log", partial(tell, name), redactor) for name in ("stdout", "stderr")
        }

    def hear(self, stream: str, data: bytes) -> None:
        """Process received bytes."""
        self.heard_at = time.monotonic()
        self._streams[stream].take(data)

    def close(self) -> None:
        """Report and write what remains, then close the files."""
        for stream in self._streams.values():
            stream.close()


class _Stream:
    """Reports the first and the last lines; counts the lines between."""

    def __init__(self, path: Path, tell: Callable[[str], None], redactor: Redactor) -> None:
        self._file = Log(path, tail=1, limit=FILE_BYTES)
        self._tell = tell
        self._redactor = redactor
        self._rest = bytearray()
        self._shown = 0
        self._left_out = 0
        self._last: deque[str] = deque(maxlen=LAST_LINES)

    def take(self, data: bytes) -> None:
        self._rest += data
        if b"\n" in data:
            whole, _, rest = bytes(self._rest).rpartition(b"\n")
            self._rest = bytearray(rest)
            for line in whole.split(b"\n"):
                self._line(line)
        while len(self._rest) > _PART_BYTES:
            self._line(bytes(self._rest[:_PART_BYTES]))
            del self._rest[:_PART_BYTES]

    def close(self) -> None:
        if self._rest:
            self._line(bytes(self._rest))
            self._rest.clear()
        if self._left_out:
            self._tell(f"… {self._left_out} lines are left out here; the file has them, up to its limit …")
        for line in self._last:
            self._tell(line)
        self._last.clear()
        self._left_out = 0
        self._file.close()

    def _line(self, raw: bytes) -> None:
        clean = self._redactor.text(raw.decode("utf-8", "replace"))
        self._file.write(f"{clean}\n".encode())
        shown = clean.rstrip("\r").rpartition("\r")[2]
        if len(shown) > LINE_CHARACTERS:
            shown = f"{shown[:LINE_CHARACTERS]} … ({len(shown) - LINE_CHARACTERS} more characters)"
        if self._shown < FIRST_LINES:
            self._shown += 1
            self._tell(shown)
            return
        self._left_out += len(self._last) == LAST_LINES
        self._last.append(shown)
