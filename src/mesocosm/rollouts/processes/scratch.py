"""Files that rollout servers write: artifacts, which are kept, and trajectories, which are removed."""

import os
import shutil
import tempfile
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

NAMED = "mesocosm-rollout-"
"""Prefix of the names of all these folders."""

LOCK = ".lock"
"""The owner of a folder holds a lock on this file while it lives."""

BEHIND = 64
"""Number of rows after which a trajectory is removed: servers write it after their last callback."""


class ExecutorScratch:
    """A temporary folder for the servers of one executor, and their files in the home directory.

    `prefix` begins the names of all attempts, so that files of others are not touched.
    """

    def __init__(self, prefix: str, environment: Mapping[str, str]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=NAMED))
        self._lock = _locked(self.folder)
        _sweep(self.folder)
        self._prefix = prefix
        # Servers that do not know the variable for the folder write here.
        self._home = Path(environment.get("HOME") or Path.home()) / ".osmosis"
        self._over: deque[str] = deque()

    def keep(self, name: str, artifacts: Path) -> None:
        """Move the artifacts of a finished row to the folder that our own SDK uses directly."""
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
        """Remove all files of this executor."""
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
    """Lock a folder and return the descriptor; None if another process has it or locks are not supported."""
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
    """Remove folders whose owners were killed."""
    for folder in own.parent.glob(f"{NAMED}*"):
        # Without a lock file, its owner may be about to create it.
        if folder == own or folder.is_symlink() or not (folder / LOCK).exists():
            continue
        held = _locked(folder)
        if held is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(held)
