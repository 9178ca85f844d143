"""System calls that no program in a sandbox needs: a filter for seccomp(2) in bubblewrap's format.

It refuses calls that reach outside the sandbox (other processes, namespaces, mounts, keys, less tested parts of the
kernel), and calls that hold memory which per-process counts miss: memfd, System V memory and queues. Allowed sockets
are those of the program's own network and Unix sockets; other families, such as vsock, belong to no network namespace.
"""

import errno
import platform
import struct
from dataclasses import dataclass, field

_ALLOW = 0x7FFF_0000
_KILL = 0x8000_0000
_REFUSE = 0x0005_0000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _MACHINE, _FIRST, _SECOND = 0, 4, 16, 24
_X32 = 0x4000_0000
_NEW_NAMESPACES = 0x7E02_0000
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: inject input into the terminal of the process that started us."""
_FAMILIES = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6, AF_NETLINK."""
# Since Linux 5.1 new calls have the same number on every architecture.
_EVERYWHERE = {
    "io_uring": (425, 426, 427),
    "mounts": (428, 429, 430, 431, 432, 433, 442),
    "pidfd_getfd": (438,),
    "memfd_secret": (447,),
}


@dataclass(frozen=True, slots=True)
class _Machine:
    """Numbers of the system calls of one architecture."""

    audit: int
    socket: int
    ioctl: int
    clone: int
    refused: dict[str, tuple[int, ...]] = field(default_factory=dict)


_MACHINES = {
    "x86_64": _Machine(
        audit=0xC000_003E,
        socket=41,
        ioctl=16,
        clone=56,
        refused={
            "trace": (101, 310, 311, 312),
            "memory": (319, 29, 30, 31, 67, 68),
            "keys": (248, 249, 250),
            "kernel": (323, 321, 298, 103, 172, 173, 246, 320, 175, 313, 176, 167, 168, 169, 163, 179),
            "mounts": (165, 166, 155, 161, 303, 304, 300),
            "namespaces": (272, 308),
        },
    ),
    "aarch64": _Machine(
        audit=0xC000_00B7,
        socket=198,
        ioctl=29,
        clone=220,
        refused={
            "trace": (117, 270, 271, 272),
            "memory": (279, 194, 195, 196, 197, 186),
            "keys": (217, 218, 219),
            "kernel": (282, 280, 241, 116, 104, 294, 105, 273, 106, 224, 225, 142, 89, 60),
            "mounts": (40, 39, 41, 51, 264, 265, 262),
            "namespaces": (97, 268),
        },
    ),
}
_CLONE3 = 435


def syscall_filter(machine: str | None = None) -> bytes | None:
    """Return the filter as an array of struct sock_filter, or None for an unsupported architecture."""
    here = _MACHINES.get(machine or platform.machine())
    if here is None:
        return None
    refused = [number for numbers in (*here.refused.values(), *_EVERYWHERE.values()) for number in numbers]
    lines = [
        _line(_LOAD, _MACHINE),
        _line(_EQUAL, here.audit, 1, 0),
        _line(_RETURN, _KILL),
        _line(_LOAD, _NUMBER),
        # Calls with x32 numbers would pass every rule below.
        _line(_AT_LEAST, _X32, 0, 1),
        _line(_RETURN, _REFUSE | errno.EPERM),
    ]
    for number in refused:
        lines += [_line(_EQUAL, number, 0, 1), _line(_RETURN, _REFUSE | errno.EPERM)]
    # The flags of clone3 are in memory, which a filter cannot read; on ENOSYS C libraries use clone.
    lines += [_line(_EQUAL, _CLONE3, 0, 1), _line(_RETURN, _REFUSE | errno.ENOSYS)]
    lines += _when(here.clone, _FIRST, [_line(_ANY_BIT, _NEW_NAMESPACES, 0, 1), _line(_RETURN, _REFUSE | errno.EPERM)])
    for request in _TERMINAL_INPUT:
        lines += _when(here.ioctl, _SECOND, [_line(_EQUAL, request, 0, 1), _line(_RETURN, _REFUSE | errno.EPERM)])
    known = [_line(_EQUAL, family, len(_FAMILIES) - place, 0) for place, family in enumerate(_FAMILIES)]
    lines += _when(here.socket, _FIRST, [*known, _line(_RETURN, _REFUSE | errno.EAFNOSUPPORT)])
    return b"".join([*lines, _line(_RETURN, _ALLOW)])


def _when(call: int, argument: int, lines: list[bytes]) -> list[bytes]:
    """Return rules on the low half of one call's argument; they expect and leave its number loaded."""
    body = [_line(_LOAD, argument), *lines, _line(_LOAD, _NUMBER)]
    return [_line(_EQUAL, call, 0, len(body)), *body]


def _line(code: int, value: int, jump_if: int = 0, jump_else: int = 0) -> bytes:
    return struct.pack("=HBBI", code, jump_if, jump_else, value)
