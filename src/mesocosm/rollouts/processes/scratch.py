"""Files that rollout servers write: artifacts, which are kept, and trajectories, which are removed."""

import os
import shutil
import tempfile
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

NAMED = "mesocosm-rollout-"
"""The names of all such folders begin so."""

LOCK = ".lock"
"""The owner of a folder holds this file's lock as long as it lives."""

BEHIND = 64
"""Servers write a trajectory after their last callback. Remove it this many rows later."""


class ExecutorScratch:
    """A temporary folder for the servers of one executor, and what they leave in the home directory instead.

    `prefix` begins the names of all tries, so that nothing of others is touched.
    """

    def __init__(self, prefix: str, environment: Mapping[str, str]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=NAMED))
        self._lock = _locked(self.folder)
        _sweep(self.folder)
        self._prefix = prefix
        # Servers that do not know the variable for it write here.
        self._home = Path(environment.get("HOME") or Path.home()) / ".osmosis"
        self._over: deque[str] = deque()

    def keep(self, name: str, artifacts: Path) -> None:
        """Move the artifacts of a finished row to where our own SDK would have put them."""
        for root in (self.folder, self._home):
            try:
                files = list((root / name / "artifacts").iterdir())
            except OSError:
                continue
            if files:
                artifacts.mkdir(parents=True, exist_ok=True)
            for file in files:
                with suppress(OSError):
                    shutil.move(file, artifacts / file.name)
        self._over.append(name)
        if len(self._over) > BEHIND:
            self._remove(self._over.popleft())

    def clear(self) -> None:
        """Remove all of it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        with suppress(OSError):
            for left in self._home.glob(f"{self._prefix}*"):
                shutil.rmtree(left, ignore_errors=True)

    def _remove(self, name: str) -> None:
        for root in (self.folder, self._home):
            shutil.rmtree(root / name, ignore_errors=True)


def _locked(folder: Path) -> int | None:
    """Lock a folder; return its descriptor, None if another process holds it or locks are not supported."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        held = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        return None
    return held


def _sweep(own: Path) -> None:
    """Remove what owners left who were killed."""
    for folder in own.parent.glob(f"{NAMED}*"):
        # Without the file, its owner may be about to make it.
        if folder == own or folder.is_symlink() or not (folder / LOCK).exists():
            continue
        held = _locked(folder)
        if held is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(held)
