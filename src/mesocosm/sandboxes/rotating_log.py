"""The last part of a program's output, in files of limited size."""

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from mesocosm.sandboxes.log import Log


class RotatingLog(Log):
    """A log that is rotated at half of `limit` bytes (to NAME.1, one generation), so that the latest output is kept.

    An existing file is appended to. File errors are ignored.
    """

    def __init__(self, path: Path, *, limit: int, heard: Callable[[bytes], None] | None = None) -> None:
        super().__init__(heard=heard)
        self._path = path
        self._half = max(limit // 2, 1)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._ring: BinaryIO | None = path.open("ab", buffering=0)
        self._size = path.stat().st_size

    def write(self, data: bytes) -> None:
        """Process received output."""
        super().write(data)
        if self._ring is None:
            return
        try:
            if self._size and self._size + len(data) > self._half:
                self._ring.close()
                self._path.replace(self._path.with_name(f"{self._path.name}.1"))
                self._ring = self._path.open("wb", buffering=0)
                self._size = 0
            self._ring.write(data[-self._half :])
            self._size += min(len(data), self._half)
        except OSError:
            self.close()

    def close(self) -> None:
        """Close the file; the tail stays readable."""
        if self._ring is not None:
            self._ring.close()
            self._ring = None
