"""Measure and remove folders that an untrusted program can write to."""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

DEEPEST = 100
"""Maximum depth of folders; recursive tools (copies, backups) fail on deeper trees."""
_BLOCK = 512
_HIDING = frozenset({errno.ENAMETOOLONG, errno.EACCES, errno.ELOOP})


@dataclass(frozen=True, slots=True)
class Used:
    """Bytes on disk, without holes, and the number of files and folders.

    `hidden` is a folder that cannot be read because it is too deep (`DEEPEST`) or its permissions forbid it; empty if
    there is none.
    """

    bytes: int
    files: int
    hidden: str = ""


def used(folders: Sequence[Path], most_bytes: int, most_files: int) -> Used:
    """Measure folders without following links. Stop at the limits, and at a folder that cannot be read."""
    size = files = 0
    waiting = [(str(folder), 0) for folder in folders]
    while waiting and size <= most_bytes and files <= most_files:
        place, depth = waiting.pop()
        if depth > DEEPEST:
            return Used(size, files, place)
        try:
            entries = list(os.scandir(place))
        except OSError as error:
            if error.errno in _HIDING:
                return Used(size, files, place)
            continue
        files += len(entries)
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((entry.path, depth + 1))
                else:
                    size += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
            except OSError as error:
                if error.errno in _HIDING:
                    return Used(size, files, entry.path)
    return Used(size, files)


def unnamed(pids: Iterable[int], folders: Sequence[Path]) -> int:
    """Return the bytes of deleted files on the disks of these folders that the processes still hold open."""
    devices = set()
    for folder in folders:
        with contextlib.suppress(OSError):
            devices.add(folder.stat().st_dev)
    found: dict[tuple[int, int], int] = {}
    for pid in pids:
        with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as opened:
            for entry in opened:
                with contextlib.suppress(OSError):
                    seen = entry.stat()
                    if seen.st_nlink == 0 and seen.st_dev in devices:
                        found[seen.st_dev, seen.st_ino] = seen.st_blocks * _BLOCK
    return sum(found.values())


def free(folders: Sequence[Path]) -> int:
    """Return the free bytes on the fullest disk of these folders."""
    left = [2**63]
    for folder in folders:
        with contextlib.suppress(OSError):
            state = os.statvfs(folder)
            left.append(state.f_bavail * state.f_frsize)
    return min(left)


def settle(folder: Path) -> None:
    """Make a folder safe to read and copy: remove special files such as pipes, and grant the owner access."""
    waiting = [folder]
    while waiting:
        for entry in list(os.scandir(waiting.pop())):
            kind = 0 if entry.is_symlink() else entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISDIR(kind):
                os.chmod(entry.path, stat.S_IMODE(kind) | 0o700)  # noqa: PTH101
                waiting.append(Path(entry.path))
            elif stat.S_ISREG(kind):
                os.chmod(entry.path, stat.S_IMODE(kind) & 0o777 | 0o600)  # noqa: PTH101
            elif kind:
                os.unlink(entry.path)  # noqa: PTH108


def remove(root: Path) -> bool:
    """Remove a folder with all its content, of any depth and permissions; return whether it is gone.

    No program may still write to it. Folders are moved to the top before they are read, because a hostile tree may be
    too long for any path and too deep for recursion.
    """
    with contextlib.suppress(OSError):
        if root.is_symlink() or not root.is_dir():
            root.unlink()
    mark, count = secrets.token_hex(8), 0
    waiting = [str(root)]
    while waiting:
        folder = waiting.pop()
        with contextlib.suppress(OSError):
            os.chmod(folder, 0o700)  # noqa: PTH101
            for entry in list(os.scandir(folder)):
                with contextlib.suppress(OSError):
                    if not entry.is_dir(follow_symlinks=False):
                        os.unlink(entry.path)  # noqa: PTH108
                        continue
                    os.chmod(entry.path, 0o700)  # noqa: PTH101
                    count += 1
                    moved = os.path.join(root, f"{mark}-{count}")  # noqa: PTH118
                    os.rename(entry.path, moved)  # noqa: PTH104
                    waiting.append(moved)
            if folder != str(root):
                os.rmdir(folder)  # noqa: PTH106
    with contextlib.suppress(OSError):
        root.rmdir()
    return not os.path.lexists(root)
