"""What lies in folders that a program may write."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Used:
    """Bytes on disk, holes left out, and the number of files and folders."""

    bytes: int
    files: int


def used(folders: Sequence[Path], most_bytes: int, most_files: int) -> Used:
    """Return what lies in the folders, links not followed; stops counting where it is too much."""
    size = files = 0
    waiting = [str(folder) for folder in folders]
    while waiting and size <= most_bytes and files <= most_files:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        files += len(entries)
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    size += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
            except OSError:
                continue
    return Used(size, files)
