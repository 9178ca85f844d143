"""Find the ports on which a process listens, to distinguish a slow adapter from one that ignores its port."""

from collections import defaultdict
from pathlib import Path

PROC = Path("/proc")
LISTEN = "0A"


def listening_ports(pid: int) -> frozenset[int]:
    """Return the TCP ports on which a process or any descendant of it listens.

    Read from /proc as described in proc(5); empty if the system has no /proc or denies access.
    """
    sockets = {inode for member in _family(pid) for inode in _sockets(member)}
    if not sockets:
        return frozenset()
    return frozenset(port for inode, port in _listeners(pid) if inode in sockets)


def _family(pid: int) -> list[int]:
    """Return a process and its descendants."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in _entries(PROC):
        if entry.name.isdigit() and (parent := _parent(entry)) is not None:
            children[parent].append(int(entry.name))
    family = [pid]
    for member in family:
        family.extend(children[member])
    return family


def _parent(process: Path) -> int | None:
    """Return the parent of a process, None if unknown. The name, in brackets before it, may contain any character."""
    fields = _text(process / "stat").rpartition(")")[2].split()
    return int(fields[1]) if len(fields) > 1 else None


def _sockets(pid: int) -> list[str]:
    found = []
    for entry in _entries(PROC / str(pid) / "fd"):
        try:
            target = str(entry.readlink())
        except OSError:
            continue
        if target.startswith("socket:["):
            found.append(target[8:-1])
    return found


def _listeners(pid: int) -> list[tuple[str, int]]:
    """Return inode and port of every listening TCP socket in the network namespace of a process."""
    found = []
    for table in ("tcp", "tcp6"):
        for line in _text(PROC / str(pid) / "net" / table).splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == LISTEN:
                found.append((fields[9], int(fields[1].rpartition(":")[2], 16)))
    return found


def _entries(directory: Path) -> list[Path]:
    try:
        return list(directory.iterdir())
    except OSError:
        return []


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
