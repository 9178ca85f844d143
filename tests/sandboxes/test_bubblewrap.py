"""Confined programs try to get out."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.sandboxes import bubblewrap
from mesocosm.sandboxes.bubblewrap import Available, BubblewrapSandbox, available, python_folders
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits

if TYPE_CHECKING:
    from mesocosm.sandboxes.process import ForeignProcess

confinable = pytest.mark.skipif(not available(), reason=available().reason)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A private folder that lies where everybody may pass."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


async def ended(sandbox: BubblewrapSandbox, cwd: Path, script: str, **env: str) -> ForeignProcess:
    """Run a script to its end."""
    process = await sandbox.start([sys.executable, "-c", script], cwd=cwd, env=env)
    async with asyncio.timeout(120):
        await process.wait()
    await process.stop(grace=0)
    return process


async def said(sandbox: BubblewrapSandbox, cwd: Path, script: str, **env: str) -> str:
    process = await ended(sandbox, cwd, script, **env)
    return process.stdout_tail(1000) + process.stderr_tail()


@confinable
async def test_a_confined_program_reaches_no_network(work: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        words = await said(
            BubblewrapSandbox(),
            work,
            f"""
import socket
for place in (("127.0.0.1", {port}), ("192.0.2.1", 80)):
    try:
        socket.create_connection(place, 5)
        print("connected")
    except OSError as error:
        print("no:", error)
""",
        )
    assert words.count("no:") == 2
    assert "connected" not in words


@confinable
async def test_a_confined_program_sees_no_files_but_the_shown_ones(work: Path, tmp_path: Path) -> None:
    secret = tmp_path / "results.sqlite"
    secret.write_text("gold")
    script = f"""
import os
home = os.path.expanduser("~root/.profile")
for path in ({str(secret)!r}, "/etc/passwd", "/etc/shadow", {str(Path(__file__))!r}, home):
    try:
        print("read", open(path).read())
    except OSError as error:
        print("no:", type(error).__name__)
"""
    words = await said(BubblewrapSandbox(), work, script)
    assert words.count("no:") == 5
    assert "read" not in words


@confinable
async def test_only_the_writable_folder_and_scratch_space_can_be_written(work: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "earlier").write_text("before")
    script = f"""
import os, sys
places = [{str(work)!r}, "/", "/dev", "/usr", os.path.dirname(os.__file__), sys.prefix, {str(out)!r}, "/tmp"]
for place in places:
    try:
        open(place + "/mark", "w").write("x")
        print("wrote", place)
    except OSError:
        pass
open({str(out / "earlier")!r}, "a").write(" and after")
"""
    words = await said(BubblewrapSandbox(writable=(out,)), work, script)
    assert words.splitlines() == [f"wrote {out}", "wrote /tmp"]
    assert (out / "mark").read_text() == "x"
    assert (out / "earlier").read_text() == "before and after"


@confinable
async def test_only_declared_variables_are_seen(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted")
    script = "import os; print(sorted(set(os.environ) - {'LC_CTYPE', 'PWD'}))"
    words = await said(BubblewrapSandbox(environment={"FLAVOUR": "a"}), work, script, TASTE="b")
    assert words == str(["FLAVOUR", "HOME", "PATH", "PYTHONIOENCODING", "PYTHONUNBUFFERED", "PYTHONUTF8", "TASTE"])


@confinable
async def test_a_fork_bomb_is_stopped_at_the_number_of_processes(work: Path) -> None:
    script = """
import os, time
n = 0
try:
    while n < 500:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        n += 1
except OSError:
    pass
print(n)
"""
    assert int(await said(BubblewrapSandbox(ProgramLimits(processes=20)), work, script)) <= 20


@confinable
async def test_nothing_of_a_confined_tree_stays(work: Path) -> None:
    script = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("daemon", "w").write("up")
        time.sleep(600)
time.sleep(600)
"""
    process = await BubblewrapSandbox(writable=(work,)).start([sys.executable, "-c", script], cwd=work)
    async with asyncio.timeout(120):
        while not (work / "daemon").exists():  # noqa: ASYNC110 -- another process's file has no event
            await asyncio.sleep(0.005)
    assert list(_users_of(work))
    await process.stop(grace=0)
    assert not list(_users_of(work))


def _users_of(folder: Path) -> Iterator[int]:
    """Yield the processes that work in a folder."""
    for place in Path("/proc").iterdir():
        try:
            if place.name.isdigit() and (place / "cwd").readlink() == folder:
                yield int(place.name)
        except OSError:
            continue


@confinable
async def test_a_confined_program_is_asked_to_end_politely(work: Path) -> None:
    script = """
import signal, sys, time
def bye(*_):
    print("goodbye")
    sys.exit(7)
signal.signal(signal.SIGTERM, bye)
print("ready" + chr(10), end="")
time.sleep(600)
"""
    process = await BubblewrapSandbox().start([sys.executable, "-c", script], cwd=work)
    async with asyncio.timeout(120):
        while "ready" not in process.stdout_tail():  # noqa: ASYNC110 -- its words have no event
            await asyncio.sleep(0.005)
    await process.stop(grace=60)
    assert (process.returncode, process.stdout_tail().splitlines()) == (7, ["ready", "goodbye"])


@confinable
async def test_cpu_time_memory_and_file_size_are_limited(work: Path) -> None:
    allowance = ProgramLimits(cpu_seconds=1, memory_bytes=256 * MIB, file_bytes=MIB, scratch_bytes=2 * MIB)
    sandbox = BubblewrapSandbox(allowance)
    assert "MemoryError" in await said(sandbox, work, "bytearray(100 * 2**30)")
    assert "File too large" in await said(
        sandbox, work, "open('/tmp/a', 'wb').write(bytes(3 * 2**20)); raise SystemExit"
    )
    many = "for n in range(9): open(f'/tmp/{n}', 'wb').write(bytes(2**20))"
    assert "No space left" in await said(sandbox, work, many)
    spinning = await ended(sandbox, work, "while True: pass")
    assert spinning.returncode in {128 + signal.SIGXCPU, 128 + signal.SIGKILL}


@confinable
async def test_a_confined_program_gains_no_rights(work: Path) -> None:
    script = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print("user namespace", libc.unshare(0x10000000))
print("mount", libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
for change in (os.setuid, os.setgid):
    try:
        change(0)
        print(change.__name__, 0)
    except OSError:
        print(change.__name__, -1)
"""
    words = await said(BubblewrapSandbox(), work, script)
    assert words.splitlines() == ["user namespace -1", "mount -1", "setuid -1", "setgid -1"]


@confinable
async def test_readable_folders_are_seen_and_the_exit_code_is_told(work: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "rows").write_text("42")
    sandbox = BubblewrapSandbox(readable=(*python_folders(), data), logs=tmp_path / "logs")
    script = f"import sys; print(open({str(data / 'rows')!r}).read()); sys.exit(3)"
    process = await ended(sandbox, work, script)
    assert (process.returncode, process.stdout_tail()) == (3, "42")
    assert (tmp_path / "logs" / "0001.stdout.log").read_text() == "42\n"


async def test_where_bubblewrap_does_not_work_the_error_says_why(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "available", lambda: Available("bwrap not found"))
    with pytest.raises(EpisodeError, match="true cannot be confined: bwrap not found") as caught:
        await BubblewrapSandbox().start(["true"], cwd=work)
    assert caught.value.cause is Cause.SANDBOX_FAILED


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert available.__wrapped__().reason.startswith("bwrap, prlimit, setpriv, env not found")


@confinable
async def test_a_hidden_folder_looks_empty_and_cannot_be_filled(work: Path, tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    (shown / "hidden").mkdir(parents=True)
    (shown / "hidden/answers.txt").write_text("42")
    (shown / "other.txt").write_text("7")
    folders = (*python_folders(), shown)
    sandbox = BubblewrapSandbox(readable=folders, hidden=(shown / "hidden", tmp_path / "elsewhere"))
    script = f"import os; print(sorted(os.listdir({str(shown)!r})), os.listdir({str(shown / 'hidden')!r}))"
    assert "['hidden', 'other.txt'] []" in await said(sandbox, work, script)
    assert "Error" in await said(sandbox, work, f"open({str(shown / 'hidden/new')!r}, 'w')")


@confinable
@pytest.mark.skipif(not Path("/etc/ssl/certs").is_dir(), reason="this machine keeps no certificates there")
async def test_a_confined_program_reads_the_certificates_of_the_machine(work: Path) -> None:
    words = await said(BubblewrapSandbox(), work, "import os; print(len(os.listdir('/etc/ssl/certs')) > 0)")
    assert words.strip() == "True"
