"""Foreign processes: nothing of them stays."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

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
    await process.stop(grace=60)
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
    async with asyncio.timeout(120):
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
    print(f"born {os.getpid()}\\n", end="", flush=True)
    time.sleep(0.002)
"""
    process = await programs.start(script)
    await programs.says(process, "born")
    await process.stop(grace=0.05)
    born = [int(line.split()[1]) for line in process.stdout_tail(3000).splitlines()[1:]]
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
    async with asyncio.timeout(120):
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
