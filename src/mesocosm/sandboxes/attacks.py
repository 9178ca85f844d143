"""Run attacks against the sandboxes of this machine, and report which succeed.

Each attack is a Python program that prints a line `THROUGH …` for each action that should have been prevented. Programs
that exceed their limits must be ended.
"""

import asyncio
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

from mesocosm.core.failure import EpisodeError, UsageError
from mesocosm.sandboxes import cgroup
from mesocosm.sandboxes.bubblewrap import available, python_folders
from mesocosm.sandboxes.isolation import Kind
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits
from mesocosm.sandboxes.programs import How, Programs
from mesocosm.sandboxes.sandbox import ProgramSandbox, choose
from mesocosm.sandboxes.syscalls import syscall_filter

Place = Literal["graded program", "environment"]
MOST_MEMORY = 256 * MIB
ALLOWANCE = ProgramLimits(
    cpu_seconds=10, memory_bytes=1024 * MIB, processes=32, file_bytes=16 * MIB, open_files=1024, scratch_bytes=32 * MIB
)
SECONDS = 20.0
_MARK = "THROUGH "
_REFUSALS = ("PermissionError", "OSError", "MemoryError", "BlockingIOError")
_PYTHON = str(Path(sys.executable).resolve())
_HELD = f"time.sleep(3); through('held more than {2 * MOST_MEMORY // MIB} MiB')"
_START = """
import ctypes, errno, glob, mmap, os, signal, socket, subprocess, sys, tempfile, time
HOST, PORT, SECRET, VALUE = {host}, {port}, {secret!r}, {value!r}
MOST = {most}
libc = ctypes.CDLL(None, use_errno=True)
def through(what): print("THROUGH", what, flush=True)
def works(what, call, *words):
    try: found = call(*words)
    except Exception: return
    if found != -1 and found is not False: through(what)
"""

ATTACKS: dict[str, str] = {
    "network": """
for place in (("127.0.0.1", PORT), ("1.1.1.1", 53), ("169.254.169.254", 80)):
    works(f"a connection to {place[0]}", socket.create_connection, place, 2)
works("a name was resolved", socket.getaddrinfo, "example.com", 80)
""",
    "files": """
for place in (SECRET, f"/proc/1/root{SECRET}", f"/proc/self/root{SECRET}", f"/proc/{HOST}/root{SECRET}"):
    works(f"read {place}", lambda: open(place).read())
works("read /etc/shadow", lambda: open("/etc/shadow").read())
for place in ("/usr/bin/intruder", sys.prefix + "/intruder", os.path.dirname(SECRET) + "/intruder", "/etc/intruder"):
    works(f"wrote {place}", lambda: open(place, "w").close())
""",
    "symbolic and hard links": """
os.chdir(tempfile.mkdtemp())
os.symlink(SECRET, "link"); os.symlink(os.path.dirname(SECRET), "folder"); os.symlink("/proc/1/root", "root")
for place in ("link", "folder/" + os.path.basename(SECRET), "root" + SECRET):
    works(f"read through the link {place}", lambda: open(place).read())
works("a hard link to a file of the host", os.link, SECRET, "hard")
""",
    "variables of the environment": """
if VALUE in "".join(os.environ.values()): through("a secret variable was handed on")
for place in glob.glob("/proc/*/environ"):
    try:
        if VALUE.encode() in open(place, "rb").read(): through(f"a secret variable in {place}")
    except OSError: pass
""",
    "processes of others": """
for place in glob.glob("/proc/[0-9]*/cmdline"):
    try:
        if VALUE.encode() in open(place, "rb").read().replace(b"\\0", b" "): continue
    except OSError: continue
works(f"a signal to process {HOST} of the host", os.kill, HOST, 0)
works(f"memory of process {HOST} of the host", lambda: open(f"/proc/{HOST}/mem", "rb").close())
""",
    "ptrace and other calls": """
child = os.fork()
if child == 0: time.sleep(30); os._exit(0)
for name, call in {
    "ptrace of an own child": lambda: libc.ptrace(16, child, 0, 0),
    "a new user namespace": lambda: libc.unshare(0x10000000),
    "a mount": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
    "setuid to root": lambda: libc.setuid(0) if os.getuid() else -1,
    "the kernel's keyring": lambda: libc.syscall(250, 0, -3, 1) if os.uname().machine == "x86_64" else -1,
    "io_uring": lambda: libc.syscall(425, 1, ctypes.create_string_buffer(256)),
}.items(): works(name, call)
os.kill(child, signal.SIGKILL)
""",
    "limits raised": """
import resource
for name in ("RLIMIT_AS", "RLIMIT_DATA", "RLIMIT_NPROC", "RLIMIT_CPU", "RLIMIT_NOFILE"):
    kind = getattr(resource, name); hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY: works(f"raised {name}", lambda: resource.setrlimit(kind, (hard + 1, hard + 1)))
""",
    "fork bomb": """
made = 0
for _ in range(2000):
    try:
        if os.fork() == 0: time.sleep(30); os._exit(0)
        made += 1
    except OSError: break
if made > 200: through(f"{made} processes")
time.sleep(1)
""",
    "memory of many processes": f"""
for _ in range(3): os.fork()
kept = bytearray(os.urandom(2**20)) * (2 * MOST // 8 // 2**20)
{_HELD}
""",
    "shared memory given back with madvise": f"""
kept = []
for _ in range(2 * MOST // 2**25):
    piece = mmap.mmap(-1, 2**25)
    for at in range(0, len(piece), 4096): piece[at] = 1
    piece.madvise(mmap.MADV_DONTNEED); kept.append(piece)
{_HELD}
""",
    "files without a folder (memfd)": f"""
kept = []
for _ in range(2 * MOST // 2**23):
    kept.append(os.memfd_create("held")); os.write(kept[-1], bytes(2**23))
{_HELD}
""",
    "System V shared memory": """
works("a segment of shared memory", libc.shmget, 0, 1 << 20, 0o1600)
""",
    "memory-backed folders": """
for folder in ("/tmp", "/dev/shm", "/dev", "/run", "/"):
    size = 0
    try:
        while size < 2 * MOST:
            with open(f"{folder}/{size}", "wb") as file: file.write(bytes(2**20))
            size += 2**20
    except OSError: pass
    if size >= MOST: through(f"{size >> 20} MiB in {folder}")
""",
    "buffers of sockets": """
kept, held = [], 0
try:
    for _ in range(8):
        if os.fork() == 0: break
    while held < MOST:
        one, other = socket.socketpair(); one.setblocking(False); kept += [one, other]
        try:
            while True: held += one.send(bytes(65536))
        except BlockingIOError: pass
except OSError: pass
time.sleep(3)
if held * 8 >= 2 * MOST: through(f"held about {held * 8 >> 20} MiB in sockets")
""",
    "flood of output": """
for _ in range(4096): os.write(1, b"x" * 65536)
through("256 MiB of output were read")
""",
    "computing without end": """
while time.process_time() < 15: pass
through("15 s of processor time")
""",
    "waiting without end": f"time.sleep({SECONDS * 3}); through('ran three times its time')",
}
"""Programs by the name of what they try."""


class Tried(NamedTuple):
    """An attack, the kind of program that ran it, and what succeeded."""

    attack: str
    place: Place
    through: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Host:
    """What the attacks look for: a secret in a file and in a variable, and a server on this machine."""

    port: int
    secret: Path
    value: str

    def source(self, attack: str) -> str:
        words = _START.format(
            host=os.getpid(), port=self.port, secret=str(self.secret), value=self.value, most=MOST_MEMORY
        )
        return words + attack


async def play() -> list[Tried]:
    """Run every attack in each sandbox of this machine. Raises UsageError if no sandbox works here."""
    works = available()
    if not works:
        raise UsageError(f"nothing can be confined here, so nothing is run: {works.reason}")
    tried: list[Tried] = []
    with _host() as host:
        for name, attack in ATTACKS.items():
            source = host.source(attack)
            both = await asyncio.gather(_graded(source), _environment(source))
            tried += [Tried(name, place, found) for place, found in zip(_PLACES, both, strict=True)]
    return tried


_PLACES: tuple[Place, Place] = ("graded program", "environment")


def holding(kind: Kind = "bubblewrap") -> list[str]:
    """Describe which isolation this kind of sandbox provides on this machine, and which is missing."""
    if kind == "plain":
        return ["nothing: the sandbox `plain` gives foreign programs all rights of this process"]
    if kind == "docker":
        return ["a container without a network, with limits of memory, processes and time (docker)"]
    works = available()
    if not works:
        return [f"nothing can be confined here: {works.reason}"]
    said = ["own namespaces of network, processes, files and users (bubblewrap)"]
    calls = "a filter of system calls" if syscall_filter() is not None else "NO filter of system calls for this machine"
    said.append(calls)
    said.append("processes, open files, file sizes and processor time by limits of each process (setrlimit)")
    if held := cgroup.enforced():
        said.append(f"{', '.join(held)} of each program as a whole by the kernel (control groups)")
        return said
    said.append(f"NO limits of control groups: {cgroup.why_not()}")
    said.append(
        "memory counted ten times a second (resident, swapped, shared, in sockets), so that a program can pass its "
        "limit for a tenth of a second; protect the machine as a whole with MemoryMax= on the unit of the worker"
    )
    return said


@contextmanager
def _host() -> Iterator[_Host]:
    value, name = secrets.token_hex(16), "MESOCOSM_DOCTOR_SECRET"
    with socket.create_server(("127.0.0.1", 0)) as server, _folder() as folder:
        secret = folder / "secret"
        secret.write_text(value, encoding="utf-8")
        os.environ[name] = value
        try:
            yield _Host(server.getsockname()[1], secret, value)
        finally:
            del os.environ[name]


@contextmanager
def _folder() -> Iterator[Path]:
    """Create a folder that every account may read, so that only the sandbox protects it."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


async def _graded(source: str) -> tuple[str, ...]:
    programs = Programs(ALLOWANCE, most_memory=MOST_MEMORY)
    try:
        ended = await programs.run(source, seconds=SECONDS)
    except EpisodeError as error:
        return (f"it could not be tried: {error}",)
    return _through(ended.stdout.decode("utf-8", "replace"), ended.stderr if ended.how is How.FAILED else "")


async def _environment(source: str) -> tuple[str, ...]:
    allowance = replace(ALLOWANCE, memory_bytes=None)
    sandbox = ProgramSandbox(
        kind=choose("auto", unsafe=False), allowance=allowance, most_memory=MOST_MEMORY, readable=python_folders()[:1]
    )
    with _folder() as folder:
        try:
            finished = await sandbox.run([_PYTHON, "-I", "-S", "-c", source], cwd=folder, seconds=SECONDS)
        except EpisodeError as error:
            return (f"it could not be tried: {error}",)
    said = finished.output_tail
    return _through(said, said if finished.how == "failed" else "")


def _through(said: str, failed: str) -> tuple[str, ...]:
    """Return what succeeded. An attack that ended in a refusal was stopped; any other failure is reported."""
    lines = [line[len(_MARK) :][:200] for line in said.splitlines() if line.startswith(_MARK)]
    last = failed.strip().rpartition("\n")[2]
    if last and not last.startswith(_REFUSALS):
        lines.append(f"it could not be tried: {last[:200]}")
    return tuple(dict.fromkeys(lines))
