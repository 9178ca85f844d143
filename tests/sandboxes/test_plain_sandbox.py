"""Foreign processes: what they get, what is kept of them, and that nothing of them stays."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.ports import Process
from mesocosm.sandboxes.plain import PlainSandbox

if TYPE_CHECKING:
    from tests.sandboxes.conftest import Programs

STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(600)"
)
DAEMON = """
import os, signal, subprocess, sys, time
code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
if os.fork() == 0:
    os.setsid()
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    child.stdout.readline()
    print(f"daemon {child.pid}", flush=True)
    os._exit(0)
os.wait()
"""


def parent(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("PPid:")))


# Starting


async def test_output_and_exit_code_are_kept(programs: Programs) -> None:
    process = await programs.start("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert await process.wait() == 3
    assert process.returncode == 3
    assert (process.stdout_tail(), process.stderr_tail()) == ("out", "err")


async def test_a_process_is_what_the_port_asks_for(programs: Programs) -> None:
    assert isinstance(await programs.start("pass"), Process)


async def test_it_runs_in_its_directory_with_declared_variables(programs: Programs) -> None:
    process = await programs.start("import os; print(os.getcwd(), os.environ['KNOB'])", env={"KNOB": "a b"})
    await process.wait()
    assert process.stdout_tail() == f"{programs.directory.resolve()} a b"


async def test_it_is_the_leader_of_its_own_session(programs: Programs) -> None:
    process = await programs.start("import os; print(os.getpid(), os.getsid(0), os.getpgrp())")
    await process.wait()
    assert process.stdout_tail() == f"{process.pid} {process.pid} {process.pid}"


async def test_it_gets_no_input_and_none_of_our_files(programs: Programs) -> None:
    process = await programs.start("import os, sys; print(repr(sys.stdin.read()), sorted(os.listdir('/dev/fd'))[:3])")
    await process.wait()
    assert process.stdout_tail() == "'' ['0', '1', '2']"
    process = await programs.start("import os; print(len(os.listdir('/dev/fd')))")
    await process.wait()
    assert int(process.stdout_tail()) <= 4


async def test_credentials_of_ours_are_not_handed_on_unless_declared(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary")
    monkeypatch.setenv("SOME_DATABASE_URL", "postgresql://user:canary@host/db")
    monkeypatch.setenv("SOME_FLAG", "kept")
    script = "import json, os; print(json.dumps(dict(os.environ)))"
    for env in ({}, {"SOME_API_KEY": "declared"}):
        process = await programs.start_in(PlainSandbox(), sys.executable, "-c", script, env=env)
        await process.wait()
        seen = json.loads(process.stdout_tail())
        assert "canary" not in process.stdout_tail()
        assert seen["SOME_FLAG"] == "kept"
        assert seen.get("SOME_API_KEY") == env.get("SOME_API_KEY")


async def test_only_the_environment_of_the_sandbox_is_seen_when_it_has_one(programs: Programs) -> None:
    sandbox = PlainSandbox(environment={"ONLY": "this"})
    script = "import os; print(sorted(name for name in os.environ if not name.startswith(('PYTHON', 'LC_'))))"
    process = await programs.start_in(sandbox, sys.executable, "-c", script)
    await process.wait()
    assert process.stdout_tail() == "['ONLY']"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_any_character_can_be_printed_without_a_console(programs: Programs, stream: str) -> None:
    script = f"import sys; print('naïve ☃ 🎲', file=sys.{stream}); assert sys.flags.utf8_mode"
    process = await programs.start(script, env={"LC_ALL": "C"})
    assert await process.wait() == 0
    assert "naïve ☃ 🎲" in (process.stdout_tail(), process.stderr_tail())


async def test_bytes_that_are_no_text_are_shown_as_such(programs: Programs) -> None:
    process = await programs.start(r"import os; os.write(1, b'a\xff\xfeb\n')")
    await process.wait()
    assert process.stdout_tail() == "a\ufffd\ufffdb"


async def test_what_is_printed_is_there_while_it_runs(programs: Programs) -> None:
    process = await programs.start("import time; print('first line'); time.sleep(600)")
    assert await programs.says(process, "first") == "line"
    assert process.returncode is None


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["no-such-program-anywhere"], "no-such-program-anywhere cannot be started in .*No such file"),
        (["/etc/passwd"], "/etc/passwd cannot be started in .*Permission denied"),
        ([], "the command is empty"),
        (["a\0b"], "cannot be started"),
    ],
)
async def test_what_cannot_be_started_is_named(tmp_path: Path, command: list[str], told: str) -> None:
    with pytest.raises(EpisodeError, match=told) as failed:
        await PlainSandbox().start(command, cwd=tmp_path)
    assert failed.value.cause is Cause.SANDBOX_FAILED


async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(EpisodeError, match="absent: no such directory"):
        await PlainSandbox().start(["true"], cwd=tmp_path / "absent")


# Output


async def test_a_flood_of_output_neither_blocks_it_nor_fills_memory(programs: Programs) -> None:
    script = """
import sys, threading
def flood(stream):
    for number in range(40000):
        print(f"{number:06} " + "x" * 200, file=stream)
threads = [threading.Thread(target=flood, args=(stream,)) for stream in (sys.stdout, sys.stderr)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
"""
    process = await programs.start(script)
    async with asyncio.timeout(60):
        assert await process.wait() == 0
    for tail in (process.stdout_tail, process.stderr_tail):
        assert [line[:6] for line in tail(3).splitlines()] == ["039997", "039998", "039999"]
        assert len(tail(10**6)) <= 64 * 1024


async def test_the_whole_output_is_kept_in_files_up_to_a_limit(programs: Programs, tmp_path: Path) -> None:
    sandbox = PlainSandbox(logs=tmp_path / "logs", log_bytes=1000)
    script = "import sys; print('x' * 5000); print('few words', file=sys.stderr)"
    for _ in range(2):
        await (await programs.start_in(sandbox, sys.executable, "-c", script)).wait()
    kept = {path.name: path.read_text() for path in (tmp_path / "logs").iterdir()}
    assert sorted(kept) == ["0001.stderr.log", "0001.stdout.log", "0002.stderr.log", "0002.stdout.log"]
    assert kept["0001.stderr.log"] == "few words\n"
    assert kept["0001.stdout.log"].startswith("x" * 1000 + "\n[")
    assert len(kept["0001.stdout.log"]) < 1100


# Ending


async def test_stop_asks_politely_first(programs: Programs) -> None:
    script = """
import signal, sys, time
def bye(*_):
    print("goodbye"); sys.exit(7)
signal.signal(signal.SIGTERM, bye)
print("ready")
time.sleep(600)
"""
    process = await programs.start(script)
    await programs.says(process, "ready")
    await process.stop()
    assert process.returncode == 7
    assert process.stdout_tail().splitlines() == ["ready", "goodbye"]


async def test_stop_asks_only_once(programs: Programs) -> None:
    script = """
import signal, time
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
print("ready")
while not asked:
    time.sleep(0.01)
time.sleep(0.3)
print("asked", len(asked))
"""
    process = await programs.start(script)
    await programs.says(process, "ready")
    await process.stop()
    assert process.stdout_tail().splitlines()[-1] == "asked 1"


async def test_what_ignores_the_request_is_killed(programs: Programs) -> None:
    process = await programs.start(STUBBORN)
    await programs.says(process, "ready")
    await process.stop(grace=0.1)
    assert process.returncode == -signal.SIGKILL


async def test_a_second_stop_hurries_the_first(programs: Programs) -> None:
    process = await programs.start(STUBBORN)
    await programs.says(process, "ready")
    patient = asyncio.create_task(process.stop(grace=600))
    await asyncio.sleep(0)
    async with asyncio.timeout(20):
        await process.stop(grace=0)
        await patient
    assert process.returncode == -signal.SIGKILL


async def test_stop_after_the_end_changes_nothing(programs: Programs) -> None:
    process = await programs.start("print('done')")
    await process.wait()
    await process.stop()
    await process.stop()
    assert (process.returncode, process.stdout_tail()) == (0, "done")


async def test_a_cancelled_stop_still_stops(programs: Programs) -> None:
    process = await programs.start(STUBBORN)
    await programs.says(process, "ready")
    stop = asyncio.create_task(process.stop(grace=0.05))
    await asyncio.sleep(0)
    stop.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await stop
    await programs.gone(process.pid)


async def test_children_are_stopped_with_it(programs: Programs) -> None:
    script = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {STUBBORN!r}], stdout=subprocess.PIPE)
child.stdout.readline()
print(f"child {{child.pid}}")
child.wait()
"""
    process = await programs.start(script)
    child = int(await programs.says(process, "child"))
    await process.stop(grace=0.1)
    await programs.gone(child)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can find what left the process group")
async def test_a_daemon_with_its_own_session_is_stopped_even_when_its_parents_are_gone(programs: Programs) -> None:
    process = await programs.start(DAEMON)
    daemon = int(await programs.says(process, "daemon"))
    assert await process.wait() == 0
    os.kill(daemon, 0)
    await process.stop(grace=0.1)
    await programs.gone(daemon)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can find what left the process group")
async def test_children_born_while_the_tree_is_killed_are_killed_too(programs: Programs) -> None:
    # A chain: each forks one and waits. The alarm ends it should the sandbox not.
    script = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready")
for number in range(2000):
    signal.alarm(20)
    if os.fork():
        time.sleep(600)
    os.setsid()
    print(os.getpid())
    time.sleep(0.002)
"""
    process = await programs.start(script)
    await programs.says(process, "ready")
    await process.stop(grace=0.05)
    born = [int(line) for line in process.stdout_tail(3000).splitlines()[1:]]
    assert born
    for pid in born:
        await programs.gone(pid)


OWNER = """
import asyncio, os, signal, sys
from pathlib import Path
from mesocosm.sandboxes.plain import PlainSandbox

async def main():
    process = await PlainSandbox().start([sys.executable, "-c", sys.argv[1]], cwd=Path("."))
    while "daemon" not in process.stdout_tail():
        await asyncio.sleep(0.01)
    print(process.pid, process.stdout_tail().split()[-1], flush=True)
    {end}

asyncio.run(main())
"""
FAMILY = DAEMON.replace("os.wait()", "os.wait(); signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can find what left the process group")
@pytest.mark.parametrize(
    "end",
    ["os.kill(os.getpid(), signal.SIGKILL)", "return", "raise SystemExit(1)", "os._exit(1)"],
    ids=["killed", "forgotten", "failed", "exited"],
)
async def test_the_tree_does_not_outlive_its_owner(programs: Programs, end: str) -> None:
    script = OWNER.replace("{end}", end)
    owner = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", script, FAMILY), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert owner.stdout is not None
    pids = [int(word) for word in (await owner.stdout.readline()).split()]
    await owner.wait()
    assert len(pids) == 2
    for pid in pids:
        await programs.gone(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="a parent's death is told only on Linux")
async def test_the_leader_does_not_outlive_its_supervisor(programs: Programs) -> None:
    process = await programs.start(STUBBORN)
    await programs.says(process, "ready")
    os.kill(parent(process.pid), signal.SIGKILL)
    async with asyncio.timeout(20):
        assert await process.wait() == -signal.SIGKILL
    await programs.gone(process.pid)
    await process.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="a parent's death is told only on Linux")
async def test_the_leader_dies_even_when_its_owner_and_its_supervisor_are_killed(programs: Programs) -> None:
    end = """
    supervisor = int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(supervisor, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    script = OWNER.replace("{end}", end.strip())
    leader = STUBBORN.replace("ready", "daemon 0")
    owner = await asyncio.create_subprocess_exec(*(sys.executable, "-c", script, leader), stdout=subprocess.PIPE)
    assert owner.stdout is not None
    pid = int((await owner.stdout.readline()).split()[0])
    assert await owner.wait() == -signal.SIGKILL
    await programs.gone(pid)


async def test_a_hundred_processes_at_once_all_come_and_go(programs: Programs) -> None:
    sandbox = PlainSandbox()
    scripts = (f"echo {number}; exit {number}" for number in range(100))
    started = await asyncio.gather(*(programs.start_in(sandbox, "sh", "-c", script) for script in scripts))
    assert await asyncio.gather(*(process.wait() for process in started)) == list(range(100))
    assert [process.stdout_tail() for process in started] == [str(number) for number in range(100)]
