"""Memory that no count of resident pages shows, held by graded programs and by environments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mesocosm.sandboxes.bubblewrap import available
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits
from mesocosm.sandboxes.programs import How, Programs

if TYPE_CHECKING:
    from tests.sandboxes.conftest import Strangers

pytestmark = pytest.mark.skipif(not available(), reason=available().reason)

MADVISE = """
import mmap, time
kept = []
for _ in range(12):
    piece = mmap.mmap(-1, 32 << 20)
    for at in range(0, len(piece), 4096): piece[at] = 1
    piece.madvise(mmap.MADV_DONTNEED)
    kept.append(piece)
time.sleep(60)
"""
SOCKETS = """
import socket, time, os
kept = []
try:
    while True:
        pair = socket.socketpair()
        pair[0].setblocking(False)
        kept.append(pair)
        try:
            while True: pair[0].send(bytes(65536))
        except BlockingIOError: pass
except OSError: pass
try:
    for _ in range(6): os.fork()
except BlockingIOError: pass
time.sleep(60)
"""
CONNECTIONS = """
import socket, sys, time
listening, kept = socket.create_server(("127.0.0.1", 0), backlog=64), []
for _ in range(40):
    kept += [socket.create_connection(listening.getsockname()), listening.accept()[0]]
    kept[-2].setblocking(False)
    try:
        while sys.argv[1:] == ["full"]: kept[-2].send(bytes(65536))
    except BlockingIOError: pass
time.sleep(0.5 if len(sys.argv) == 1 else 60)
"""
REFUSED = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def refused(result): return result == -1 and ctypes.get_errno() == errno.EPERM
try:
    os.memfd_create("held")
    print("memfd")
except PermissionError: pass
for name, call in {
    "shmget": lambda: libc.shmget(0, 1 << 20, 0o1600),
    "ptrace": lambda: libc.ptrace(16, os.getppid(), 0, 0),
    "unshare": lambda: libc.unshare(0x10000000),
    "keyctl": lambda: libc.syscall(250, 0, -3, 1),
}.items():
    if not refused(call()): print(name)
"""


async def test_shared_memory_that_was_given_back_with_madvise_counts_for_a_graded_program() -> None:
    runner = Programs(ProgramLimits(memory_bytes=1024 * MIB, processes=8), most_memory=256 * MIB)
    assert (await runner.run(MADVISE)).how is How.LIMIT


async def test_it_counts_for_an_environment_too(strangers: Strangers) -> None:
    finished = await strangers.run(MADVISE)
    assert (finished.how, "MB of memory, limit 256 MB" in finished.reason) == ("limit", True)


async def test_what_waits_in_sockets_counts() -> None:
    runner = Programs(ProgramLimits(memory_bytes=1024 * MIB, processes=8, open_files=1024), most_memory=64 * MIB)
    assert (await runner.run(SOCKETS)).how is How.LIMIT


@pytest.mark.parametrize(("first", "how"), [("import sys; sys.argv.append('full')", How.LIMIT), ("", How.OK)])
async def test_connections_count_by_what_waits_in_them(first: str, how: How) -> None:
    runner = Programs(ProgramLimits(memory_bytes=1024 * MIB, processes=8, open_files=1024), most_memory=64 * MIB)
    ended = await runner.run(first + CONNECTIONS)
    assert ended.how is how, ended.stderr


async def test_a_graded_program_has_the_filter_of_system_calls() -> None:
    ended = await Programs().run(REFUSED)
    assert (ended.how, ended.stdout) == (How.OK, b""), ended.stderr
