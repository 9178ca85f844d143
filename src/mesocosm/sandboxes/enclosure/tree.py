"""What a process tree uses, as /proc shows it."""

import os
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_PARENT, _USER, _SYSTEM, _OF_USER, _OF_SYSTEM, _THREADS, _RESIDENT = 1, 11, 12, 13, 14, 17, 21
"""Fields of /proc/PID/stat after the name; see proc(5)."""


@dataclass(frozen=True, slots=True)
class Use:
    """Bytes of memory, processes (threads included), and seconds of CPU time, those of the dead included."""

    memory: int
    processes: int
    cpu_seconds: float


def parent(pid: int) -> int:
    """Return the parent of a process, the process itself when it is gone."""
    fields = _fields(pid)
    return int(fields[_PARENT]) if fields else pid


def below(root: int) -> list[int]:
    """Return the processes below `root`."""
    found = _children(root)
    for pid in found:
        found += _children(pid)
    return found


def use(pids: list[int]) -> Use:
    """Return what these processes use together; memory that they share counts for each of them."""
    memory = processes = ticks = 0
    for pid in pids:
        if fields := _fields(pid):
            memory += int(fields[_RESIDENT]) * _PAGE
            processes += int(fields[_THREADS])
            ticks += sum(int(fields[place]) for place in (_USER, _SYSTEM, _OF_USER, _OF_SYSTEM))
    return Use(memory, processes, ticks / _TICKS)


def shared_out(pids: list[int]) -> int:
    """Return the bytes of memory of these processes, what they share counted once. Takes longer than `use`."""
    return sum(map(_proportional, pids))


def _proportional(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    except PermissionError:
        fields = _fields(pid)
        return int(fields[_RESIDENT]) * _PAGE if fields else 0
    except (OSError, ValueError, IndexError):
        return 0


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 -- a look takes half the time
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:  # noqa: PTH123 -- the same
                found += map(int, file.read().split())
    except OSError:
        pass
    return found


def _fields(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 -- as above
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []
