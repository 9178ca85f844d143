"""Short programs of others: what they say, how they end, and that nothing of them stays."""

import asyncio
import os
import socket
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import pytest

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.sandboxes import programs
from mesocosm.sandboxes.bubblewrap import Available, available
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits
from mesocosm.sandboxes.programs import MOST_SOURCE, How, Programs

confinable = pytest.mark.skipif(not available(), reason=available().reason)
TIGHT = ProgramLimits(cpu_seconds=1, memory_bytes=256 * MIB, processes=8, file_bytes=MIB, scratch_bytes=2 * MIB)

both = pytest.mark.parametrize("unsafe", [pytest.param(False, marks=confinable), True])


@both
async def test_a_program_reads_its_input_and_its_words_are_returned(unsafe: bool) -> None:
    source = "import sys; print(sys.stdin.read().upper()); print('é', file=sys.stderr)"
    ended = await Programs(unsafe=unsafe).run(source, stdin=b"hello")
    assert (ended.how, ended.code, ended.stdout, ended.stderr) == (How.OK, 0, b"HELLO\n", "é\n")


@both
async def test_input_that_nobody_reads_is_no_fault(unsafe: bool) -> None:
    assert (await Programs(unsafe=unsafe).run("pass", stdin=bytes(8 * MIB))).how is How.OK


@both
@pytest.mark.parametrize(
    ("source", "how", "code"),
    [
        ("raise SystemExit(3)", How.FAILED, 3),
        ("1 / 0", How.FAILED, 1),
        ("bytearray(100 * 2**30)", How.FAILED, 1),
        ("open('big', 'wb').write(bytes(3 * 2**20))", How.FAILED, 1),
        ("while True: print('x' * 100_000)", How.LIMIT, None),
        ("while True: pass", How.LIMIT, None),
        ("import os; os.kill(os.getpid(), 11)", How.FAILED, 139),
    ],
)
async def test_every_kind_of_end_is_told(unsafe: bool, source: str, how: How, code: int | None) -> None:
    ended = await Programs(TIGHT, unsafe=unsafe).run(source)
    assert ended.how is how, ended
    assert code is None or ended.code == code


@both
async def test_a_program_that_sleeps_is_ended_with_its_children(unsafe: bool) -> None:
    source = ours("import os, time; os.fork(); time.sleep(600)")
    ended = await Programs(unsafe=unsafe).run(source, seconds=0.3)
    assert ended.how is How.TIMEOUT
    await gone(source)


@confinable
async def test_a_fork_bomb_harms_nobody_else() -> None:
    bomb = ours("import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass")
    runner = Programs(TIGHT, parallel=2)
    bombed, other = await asyncio.gather(runner.run(bomb, seconds=1), runner.run("print(1)"))
    assert bombed.how in {How.TIMEOUT, How.LIMIT}
    assert (other.how, other.stdout) == (How.OK, b"1\n")
    await gone(bomb)


@both
async def test_all_processes_together_have_a_limit_of_memory(unsafe: bool) -> None:
    greedy = ours("import os, time\nfor _ in range(3): os.fork()\nheld = b'x' * (24 * 2**20)\ntime.sleep(600)")
    allowance = ProgramLimits(memory_bytes=256 * MIB, processes=None)
    ended = await Programs(allowance, unsafe=unsafe, most_memory=150 * MIB).run(greedy)
    assert ended.how is How.LIMIT
    await gone(greedy)


@confinable
async def test_a_cancelled_program_is_gone() -> None:
    source = ours("import time\ntime.sleep(601)")
    running = asyncio.ensure_future(Programs().run(source))
    async with asyncio.timeout(120):
        while not runs(source):  # noqa: ASYNC110 -- another process has no event
            await asyncio.sleep(0.005)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await gone(source)


async def test_what_a_program_started_in_a_session_of_its_own_is_gone(tmp_path: Path) -> None:
    """As bubblewrap's namespace is, where bubblewrap is ended before the two are bound together."""
    begun = tmp_path / "begun"
    inner = ours(f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(602)")
    source = "import subprocess, sys\n"
    source += f"subprocess.run([sys.executable, '-c', {inner!r}], start_new_session=True)"
    running = asyncio.ensure_future(Programs(unsafe=True).run(source))
    async with asyncio.timeout(120):
        while not begun.exists():  # noqa: ASYNC110 -- another process has no event
            await asyncio.sleep(0.005)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await gone(inner)


@confinable
async def test_a_program_finds_no_network_no_files_and_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted")
    with socket.create_server(("127.0.0.1", 0)) as server:
        source = f"""
import os, socket
for attempt in (
    lambda: socket.create_connection(("127.0.0.1", {server.getsockname()[1]}), 5),
    lambda: open("/etc/passwd"),
    lambda: open({__file__!r}),
    lambda: os.environ["OPENAI_API_KEY"],
):
    try:
        attempt()
        print("reached")
    except (OSError, KeyError):
        print("no")
"""
        ended = await Programs().run(source)
    assert ended.stdout.decode().split() == ["no"] * 4


async def test_only_so_many_run_at_once() -> None:
    source = "import time; print(time.monotonic()); time.sleep(0.05); print(time.monotonic())"
    runner = Programs(parallel=1, unsafe=True)
    ended = await asyncio.gather(*(runner.run(source) for _ in range(3)))
    spans = sorted([float(word) for word in one.stdout.split()] for one in ended)
    assert all(first[1] <= then[0] for first, then in pairwise(spans))


async def test_a_program_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="pass data by stdin"):
        await Programs(unsafe=True).run("#" * (MOST_SOURCE + 1))


async def test_where_nothing_can_be_confined_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "available", lambda: Available("bwrap not found"))
    with pytest.raises(EpisodeError, match="bwrap not found") as caught:
        await Programs().run("pass")
    assert caught.value.cause is Cause.SANDBOX_FAILED


def ours(source: str) -> str:
    """Return a program that no other test, worker or checkout runs at the same time."""
    return f"{source}\n# {uuid4()}"


def runs(source: str) -> bool:
    """Say whether a process with this program lives."""
    for place in Path("/proc").iterdir():
        try:
            words = (place / "cmdline").read_text() if place.name.isdigit() else ""
        except OSError:
            continue
        if source in words and int(place.name) != os.getpid():
            return True
    return False


async def gone(source: str) -> None:
    """Wait until no process runs this program: the kernel ends what is inside a confinement a moment after it."""
    async with asyncio.timeout(120):
        while runs(source):  # noqa: ASYNC110 -- another process has no event
            await asyncio.sleep(0.005)
