"""The filter of system calls, run as the kernel would."""

import errno
import struct

import pytest

from mesocosm.sandboxes.syscalls import syscall_filter

X86, ARM = 0xC000_003E, 0xC000_00B7
ALLOWED, KILLED = 0x7FFF_0000, 0x8000_0000


def judged(machine: str, audit: int, number: int, *arguments: int) -> int:
    """Run the filter over one call and return its verdict."""
    program = syscall_filter(machine)
    assert program is not None
    call = struct.pack("=IIQ6Q", number, audit, 0, *arguments, *([0] * (6 - len(arguments))))
    lines = list(struct.iter_unpack("=HBBI", program))
    loaded = place = 0
    while True:
        code, jump_if, jump_else, value = lines[place]
        place += 1
        match code:
            case 0x20:
                (loaded,) = struct.unpack_from("=I", call, value)
            case 0x06:
                return int(value)
            case _:
                holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code]
                place += jump_if if holds else jump_else


def refused(number: int) -> int:
    return 0x0005_0000 | number


@pytest.mark.parametrize(
    ("machine", "audit", "ptrace", "write", "clone", "ioctl", "socket"),
    [("x86_64", X86, 101, 1, 56, 16, 41), ("aarch64", ARM, 117, 64, 220, 29, 198)],
)
def test_what_reaches_beside_the_walls_is_refused_and_the_rest_allowed(
    machine: str, audit: int, ptrace: int, write: int, clone: int, ioctl: int, socket: int
) -> None:
    def verdict(number: int, *arguments: int) -> int:
        return judged(machine, audit, number, *arguments)

    assert verdict(write, 1) == ALLOWED
    assert verdict(ptrace, 16, 1) == verdict(425) == verdict(438) == refused(errno.EPERM)
    assert verdict(435) == refused(errno.ENOSYS)
    assert [verdict(clone, flags) for flags in (0x11, 0x3D0F00)] == [ALLOWED, ALLOWED]
    assert verdict(clone, 0x1000_0011) == refused(errno.EPERM)
    assert verdict(ioctl, 0, 0x5401) == ALLOWED
    assert verdict(ioctl, 0, 0x5412) == verdict(ioctl, 0, 1 << 32 | 0x5412) == refused(errno.EPERM)
    assert [verdict(socket, family) for family in (1, 2, 10, 16)] == [ALLOWED] * 4
    assert [verdict(socket, family) for family in (0, 3, 17, 38, 40)] == [refused(errno.EAFNOSUPPORT)] * 5


def test_calls_of_other_architectures_end_the_program() -> None:
    assert judged("x86_64", 0x4000_0003, 1) == KILLED
    assert judged("x86_64", X86, 0x4000_0000 | 101) == refused(errno.EPERM)


def test_a_machine_without_numbers_has_no_filter() -> None:
    assert syscall_filter("riscv64") is None
