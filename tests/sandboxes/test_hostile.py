"""Programs of strangers try to read, to reach, to fill and to break what is not theirs."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mesocosm.sandboxes import sandboxed_process
from mesocosm.sandboxes.bubblewrap import available
from mesocosm.sandboxes.tree import below, is_ending, parent

if TYPE_CHECKING:
    from tests.sandboxes.conftest import Strangers

pytestmark = pytest.mark.skipif(not available(), reason=available().reason)


async def test_files_of_the_host_are_not_read(strangers: Strangers, tmp_path: Path) -> None:
    data = tmp_path / "mesocosm-data"
    data.mkdir()
    (data / "platform.sqlite").write_text("hashes of passwords")
    places = [
        data / "platform.sqlite",
        Path(__file__),
        Path("/etc/shadow"),
        Path.home() / ".bashrc",
        Path("/etc/hostname"),
    ]
    others = [
        "/proc/1/root/etc/shadow",
        "/proc/kcore",
        "/proc/kmsg",
        "/dev/mem",
        "/sys/kernel/notes",
    ]
    await strangers.achieve_nothing(f"for path in {[*map(str, places), *others]}: attempt(read, path)")


async def test_the_accounts_of_the_host_are_not_known(strangers: Strangers) -> None:
    finished = await strangers.run("print(read('/etc/passwd').decode())")
    assert len(finished.output_tail.splitlines()) == 1
    assert finished.output_tail.startswith("environment:")


async def test_neither_variables_nor_processes_of_the_host_are_seen(
    strangers: Strangers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-canary")
    script = f"""
for place in glob.glob("/proc/[0-9]*"):
    for name in ("environ", "maps", "cgroup", "mountinfo"):
        try:
            print(read(place + "/" + name))
        except OSError:
            pass
for pid in ({os.getpid()}, {os.getppid()}):
    attempt(os.kill, pid, 0)
print(len(glob.glob("/proc/[0-9]*")), "processes")
"""
    finished = await strangers.run(script)
    assert "canary" not in finished.output_tail
    assert "achieved" not in finished.output_tail
    assert int(finished.output_tail.split()[-2]) <= 4


async def test_the_source_cannot_be_changed(strangers: Strangers, source: Path) -> None:
    (source / "manifest.json").write_text("{}")
    await strangers.achieve_nothing(
        f"""
attempt(open, {str(source / "manifest.json")!r}, "w")
attempt(os.remove, "manifest.json")
attempt(os.chmod, "manifest.json", 0o777)
attempt(os.mkdir, "more")
for place in ("/", "/usr", "/etc", "/dev", "/proc/sys/kernel"):
    attempt(open, place + "/mark", "w")
""",
    )


async def test_no_network_is_reached(strangers: Strangers) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as ours,
        socket.create_server(("::1", 0), family=socket.AF_INET6) as six,
    ):
        ours.settimeout(0)
        six.settimeout(0)
        places = [("127.0.0.1", ours.getsockname()[1]), ("192.0.2.1", 80), ("169.254.169.254", 80), ("1.1.1.1", 443)]
        await strangers.achieve_nothing(
            f"""
for place in {places}:
    attempt(socket.create_connection, place, 3)
attempt(socket.create_connection, ("::1", {six.getsockname()[1]}), 3)
attempt(socket.socket().connect, ("0.0.0.0", {places[0][1]}))
attempt(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto, b"x", ("1.1.1.1", 53))
attempt(socket.getaddrinfo, "example.org", 80)
for family in (17, 38, 40):
    attempt(socket.socket, family, socket.SOCK_STREAM)
attempt(socket.socket, socket.AF_INET, socket.SOCK_RAW, 1)
""",
        )
        for listener in (ours, six):
            with pytest.raises(BlockingIOError):
                listener.accept()


async def test_a_neighbour_is_not_reached(strangers: Strangers) -> None:
    listening = "s = socket.create_server(('127.0.0.1', 8000)); print('up', flush=True); s.accept(); print('visited')"
    neighbour = await strangers.serve(listening)
    await strangers.says(neighbour, "up")
    with socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(name := f"\0mesocosm-{os.getpid()}")
        abstract.listen()
        abstract.settimeout(0)
        folder = str(neighbour.socket.parent)
        await strangers.achieve_nothing(
            f"""
attempt(socket.create_connection, ("127.0.0.1", 8000), 3)
attempt(os.listdir, {folder!r})
for path in ({str(neighbour.socket)!r}, {folder + "/meeting"!r}, {name!r}, "/run/docker.sock"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        attempt(socket.socket(socket.AF_UNIX, kind).connect, path)
for path in glob.glob("{tempfile.gettempdir()}/mesocosm*/*"):
    print("achieved", path)
""",
        )
        with pytest.raises(BlockingIOError):
            abstract.accept()
    assert "visited" not in neighbour.stdout_tail()


async def test_the_socket_of_ones_own_sandbox_is_out_of_reach(strangers: Strangers) -> None:
    sandboxed = await strangers.serve(f"""
places = glob.glob("{tempfile.gettempdir()}/mesocosm*/*")
print(len(places))
for path in places:
    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        attempt(socket.socket(socket.AF_UNIX, kind).connect, path)
    attempt(os.remove, path)
print("done", flush=True)
time.sleep(60)
""")
    said = await strangers.says(sandboxed, "done")
    assert said.startswith("1\n")
    assert "achieved" not in said


async def test_no_rights_are_gained(strangers: Strangers) -> None:
    await strangers.achieve_nothing(
        """
import fcntl
for flags in (0x10000000, 0x20000, 0x40000000, 0x20000000):
    attempt(call, "unshare", flags)
    attempt(call, "syscall", 56, flags | 17, 0, 0, 0, 0)
attempt(call, "mount", b"none", b"/tmp", b"tmpfs", 0, None)
attempt(call, "umount2", b"/proc", 2)
attempt(call, "mount", None, b"/", None, 0x1000 | 32, None)
attempt(os.chroot, "/tmp")
attempt(call, "pivot_root", b"/tmp", b"/tmp")
for change in (os.setuid, os.setgid):
    attempt(change, 0)
attempt(os.setgroups, [0])
attempt(os.mknod, "/tmp/disk", 0o60666, os.makedev(254, 0))
for number in (1, 2):
    attempt(call, "ptrace", 16, number, 0, 0)
attempt(call, "syscall", 319, b"hidden", 0)
attempt(call, "shmget", 0, 1 << 30, 0o1600)
attempt(call, "syscall", 425, 8, 0)
attempt(call, "syscall", 321, 0, 0, 0)
attempt(call, "syscall", 248, b"user", b"a", b"b", 1, -3)
attempt(open, "/dev/tty", "w")
attempt(fcntl.ioctl, 0, 0x5412, b"x")
attempt(fcntl.ioctl, os.open("/dev/ptmx", os.O_RDWR), 0x5412, b"x")
attempt(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(50))
attempt(os.nice, -5)
""",
    )


async def test_raised_limits_stay_where_they_were(strangers: Strangers) -> None:
    await strangers.achieve_nothing(
        """
import resource
for kind in (resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_CPU):
    soft, hard = resource.getrlimit(kind)
    print(kind, soft, hard)
    attempt(resource.setrlimit, kind, (hard + 1, hard + 1))
""",
    )


async def test_the_porter_cannot_be_robbed(strangers: Strangers) -> None:
    # Newer versions of libffi, which ctypes uses, keep a file of their own open.
    sandboxed = await strangers.serve("""
def held(fd):
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return "the list itself"
print("own", sum("libffi" not in held(fd) for fd in os.listdir("/proc/self/fd")))
(number,) = porters()
porter = f"/proc/{number}"
attempt(os.listdir, porter + "/fd")
attempt(read, porter + "/mem")
attempt(read, porter + "/environ")
attempt(call, "ptrace", 16, number, 0, 0)
for fd in range(3, 9):
    attempt(call, "syscall", 438, os.pidfd_open(number), fd, 0)
print("done", flush=True)
time.sleep(60)
""")
    said = await strangers.says(sandboxed, "done")
    assert said.startswith("own 4\nno:")
    assert "achieved" not in said


async def test_a_server_that_kills_its_porter_is_ended_and_told(strangers: Strangers) -> None:
    sandboxed = await strangers.serve("""
for number in porters():
    os.kill(number, signal.SIGKILL)
time.sleep(60)
""")
    assert await strangers.ended(sandboxed) == "ended the process that hands connections over to it"


async def test_a_server_whose_end_is_noticed_late_is_not_said_to_have_killed_its_porter(
    strangers: Strangers, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = asyncio.Event()

    def seen(pid: int) -> bool:
        judged.set()
        return is_ending(pid)

    monkeypatch.setattr(sandboxed_process, "is_ending", seen)
    sandboxed = await strangers.serve("print('ready', flush=True)\ntime.sleep(600)")
    await strangers.says(sandboxed, "ready")
    # Its supervisor, which would report the end.
    os.kill(parent(sandboxed.pid), signal.SIGSTOP)
    os.kill(below(sandboxed.pid)[-1], signal.SIGKILL)
    async with asyncio.timeout(120):
        await judged.wait()
    os.kill(parent(sandboxed.pid), signal.SIGCONT)
    assert await strangers.ended(sandboxed) == ""
    assert sandboxed.returncode == 128 + signal.SIGKILL


async def test_forks_without_end_are_ended_and_told(strangers: Strangers) -> None:
    finished = await strangers.run(
        """
while True:
    try:
        os.fork()
    except OSError:
        pass
""",
    )
    assert finished.how == "limit"
    assert finished.reason.endswith("processes and threads at once, limit 32")


async def test_memory_of_many_processes_is_counted_together(strangers: Strangers) -> None:
    script = "[os.fork() for _ in range(3)]; kept = bytearray(os.urandom(2**20)) * 48; time.sleep(60)"
    finished = await strangers.run(script)
    assert finished.how == "limit"
    assert "MB of memory, limit 256 MB" in finished.reason


async def test_memory_asked_for_at_once_is_refused(strangers: Strangers) -> None:
    await strangers.achieve_nothing("attempt(bytearray, 8 << 30)")


async def test_when_the_machine_has_no_memory_left_strangers_go_first(strangers: Strangers) -> None:
    finished = await strangers.run("print(read('/proc/self/oom_score_adj').decode())")
    assert finished.output_tail.strip() == "1000"


async def test_cpu_time_of_many_processes_is_counted_together(strangers: Strangers) -> None:
    sandbox = replace(strangers.sandbox, allowance=replace(strangers.sandbox.allowance, cpu_seconds=1))
    script = """
while True:
    if os.fork() == 0:
        last = time.process_time() + 0.2
        while time.process_time() < last:
            pass
        os._exit(0)
    os.wait()
"""
    finished = await strangers.run(script, sandbox=sandbox)
    assert (finished.how, finished.reason) == ("limit", "used more than 1 s of CPU time")


async def test_memory_backed_folders_have_a_size(strangers: Strangers) -> None:
    script = """
for folder in ("/tmp", "/dev/shm", "/dev", "."):
    written = 0
    try:
        while True:
            with open(f"{folder}/{written}", "wb") as file:
                file.write(bytes(2**20))
            written += 1
    except OSError as error:
        print(written, errno.errorcode[error.errno])
"""
    finished = await strangers.run(script)
    assert finished.output_tail.splitlines() == ["8 ENOSPC", "8 ENOSPC", "0 EROFS", "0 EROFS"]


async def test_a_flood_of_words_is_ended_and_told(strangers: Strangers) -> None:
    sandboxed = await strangers.serve("while True: os.write(1, b'x' * 65536)")
    assert await strangers.ended(sandboxed) == "wrote more than 64 MB of output at once"
    assert len(sandboxed.stdout_tail(1000)) <= 64 * 1024


async def test_what_ignores_every_signal_and_hides_is_ended(strangers: Strangers) -> None:
    sandboxed = await strangers.serve("""
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 100)
            time.sleep(600)
        os._exit(0)
print("hidden", flush=True)
time.sleep(600)
""")
    await strangers.says(sandboxed, "hidden")
    await sandboxed.stop(grace=0.2)
    assert not below(sandboxed.pid)


async def test_a_daemon_does_not_outlive_its_server(strangers: Strangers) -> None:
    sandboxed = await strangers.serve("""
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
sys.exit(3)
""")
    assert await strangers.ended(sandboxed) == ""
    assert sandboxed.returncode == 3
