"""Folders for sockets and small files of one sandbox; leftovers of killed processes can be found and removed."""

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_PREFIX = "mesocosm-box-"
_YOUNG_S = 60.0
"""Folders younger than this many seconds are never swept: between creation and lock they look abandoned."""


class ScratchFolder:
    """A private folder in the temporary directory, locked while this process uses it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = _locked(self.path)

    def remove(self) -> None:
        """Remove the folder with its content; a second call does nothing."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def sweep() -> int:
    """Remove the folders of this account whose processes have ended; return their number."""
    before, removed = time.time() - _YOUNG_S, 0
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            found = path.lstat()
            if found.st_uid != os.geteuid() or found.st_mtime > before:
                continue
            lock = _locked(path)
            if lock is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(lock)
                removed += not path.exists()
    return removed


def _locked(path: Path) -> int | None:
    """Lock a folder and return its descriptor, or None if another process holds the lock."""
    opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return opened
