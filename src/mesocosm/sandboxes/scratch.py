"""Folders for sockets and small files of one sandbox, which can be found and removed when their process was killed."""

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_PREFIX = "mesocosm-box-"
_YOUNG_S = 60.0
"""A folder is not locked at the very moment at which it is made."""


class ScratchFolder:
    """A private folder among the temporary ones, locked for as long as this process uses it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = _locked(self.path)

    def remove(self) -> None:
        """Remove it with everything inside; nothing happens the second time."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def sweep() -> int:
    """Remove the folders of this account whose processes have ended; return how many."""
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
    """Lock a folder and return its descriptor, None where another process has it."""
    opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return opened
