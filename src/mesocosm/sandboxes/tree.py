"""The resource usage of a process tree, from /proc."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_PARENT, _FLAGS, _USER, _SYSTEM, _OF_USER, _OF_SYSTEM, _THREADS, _RESIDENT = 1, 6, 11, 12, 13, 14, 17, 21
"""Fields of /proc/PID/stat after the name; see proc(5)."""

_EXITING = 4
"""The flag of a process that runs no code of its own any more: PF_EXITING of Linux."""
_NO_FOLDER = "00:01"
"""The device of shared memory without a file name, as shown in /proc/PID/maps."""
_UNIX_SOCKET = 2 * 212_992
"""Maximum bytes in a Unix socket: Linux's default net.core.wmem_max, doubled for the kernel's bookkeeping."""
_OWN = ("Pss_Anon:", "Pss_File:", "SwapPss:")


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """Bytes of memory, number of processes (threads included), and CPU seconds, including those of ended children."""

    memory: int
    processes: int
    cpu_seconds: float


def parent(pid: int) -> int:
    """Return the parent of a process, or the process itself if it has ended."""
    fields = _fields(pid)
    return int(fields[_PARENT]) if fields else pid


def is_ending(pid: int) -> bool:
    """Return whether a process has ended, or runs no code of its own any more."""
    fields = _fields(pid)
    return not fields or bool(int(fields[_FLAGS]) & _EXITING)


def below(root: int) -> list[int]:
    """Return the processes below `root`."""
    found = _children(root)
    for pid in found:
        found += _children(pid)
    return found


def use(pids: list[int]) -> ResourceUsage:
    """Return the total usage of these processes; memory that they share is counted for each of them."""
    memory = processes = ticks = 0
    for pid in pids:
        if fields := _fields(pid):
            memory += int(fields[_RESIDENT]) * _PAGE
            processes += int(fields[_THREADS])
            ticks += sum(int(fields[place]) for place in (_USER, _SYSTEM, _OF_USER, _OF_SYSTEM))
    return ResourceUsage(memory, processes, ticks / _TICKS)


def more_than(pids: list[int], most: int) -> int:
    """Return the bytes of memory that these processes use if that is more than `most`, else 0.

    Shared memory is counted once. In addition to resident and swapped pages this includes shared memory by its size,
    whether mapped or released with madvise(2), and the buffers of sockets in the program's own network.
    """
    resident, mapped = use(pids).memory, _shared_mappings(pids)
    # The table of TCP connections takes milliseconds to read, whoever has few of them.
    if resident + mapped + _in_sockets(pids, _most_in_tcp) <= most:
        return 0
    beside = mapped + _in_sockets(pids, _in_tcp)
    if resident + beside <= most:
        return 0
    held = sum(map(_proportional, pids)) + beside
    return held if held > most else 0


def _shared_mappings(pids: list[int]) -> int:
    """Return the size of mapped shared memory without a file (anonymous, memfd, System V)."""
    sizes: dict[str, int] = {}
    for pid in pids:
        try:
            with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 -- as below
                for line in file:
                    fields = line.split(None, 5)
                    if fields[1][3] == "s" and fields[3] == _NO_FOLDER:
                        first, last = (int(place, 16) for place in fields[0].split("-"))
                        sizes[fields[4]] = max(sizes.get(fields[4], 0), int(fields[2], 16) + last - first)
        except (OSError, ValueError, IndexError):
            continue
    return sum(sizes.values())


def _in_sockets(pids: list[int], in_tcp: Callable[[int], int]) -> int:
    """Return the bytes in socket buffers of networks other than ours; for Unix sockets their maximum.

    `in_tcp` returns those of the TCP connections in the network of a process.
    """
    seen, total = {_network("self")}, 0
    for pid in pids:
        if (network := _network(pid)) in seen:
            continue
        seen.add(network)
        total += in_tcp(pid) + sum(_queued(pid, table) for table in ("udp", "udp6"))
        total += max(len(_rows(pid, "unix")) - 1, 0) * _UNIX_SOCKET
    return total


def _in_tcp(pid: int) -> int:
    return sum(_queued(pid, table) for table in ("tcp", "tcp6"))


def _most_in_tcp(pid: int) -> int:
    """Return the most bytes that the TCP connections in the network of a process can have in buffers."""
    lines = (row.split() for table in ("sockstat", "sockstat6") for row in _rows(pid, table))
    return sum(int(line[2]) for line in lines if line and line[0] in {"TCP:", "TCP6:"}) * _tcp_socket()


@cache
def _tcp_socket() -> int:
    """Return the most bytes in the buffers of a TCP connection; networks start with the settings of this machine."""
    settings = (Path(f"/proc/sys/net/ipv4/tcp_{name}").read_text(encoding="utf-8") for name in ("rmem", "wmem"))
    return sum(int(line.split()[2]) for line in settings)


def _network(pid: int | str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/net")  # noqa: PTH115 -- halves the time of a check
    except OSError:
        return ""


def _queued(pid: int, table: str) -> int:
    total = 0
    for row in _rows(pid, table)[1:]:
        sent, _, received = row.split()[4].partition(":")
        total += int(sent, 16) + int(received, 16)
    return total


def _rows(pid: int, table: str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/net/{table}").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _proportional(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(_OWN))
    except PermissionError:
        fields = _fields(pid)
        return int(fields[_RESIDENT]) * _PAGE if fields else 0
    except (OSError, ValueError, IndexError):
        return 0


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 -- halves the time of a check
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
