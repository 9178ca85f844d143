"""Commands of a worker: what they give, and what they cannot reach."""

import asyncio
import sys
from pathlib import Path

import pytest
from tests.conftest import LoopClock

from mesocosm.benchmarks.catalogue import BUILTIN
from mesocosm.benchmarks.orchestrated.confinement import MOST_CODE, passable, run_confined, run_python
from mesocosm.benchmarks.orchestrated.tool import ToolError
from mesocosm.sandboxes.bubblewrap import available

pytestmark = pytest.mark.skipif(not available(), reason=available().reason)


async def test_a_program_gives_what_it_prints_and_how_it_ended() -> None:
    assert await run_python("print(6 * 7)") == "42\n(exit code 0)"
    failed = await run_python("raise ValueError('no')")
    assert failed.endswith("ValueError: no\n(exit code 1)")


async def test_a_program_sees_no_answers_no_variables_and_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "the token")
    said = await run_python(
        f"""
import os, socket
print(os.environ.get("HF_TOKEN"))
try:
    print(os.listdir({str(BUILTIN)!r}))
except OSError:
    print([])
try:
    socket.create_connection(("127.0.0.1", 9), 2)
except OSError as error:
    print("no network")
"""
    )
    assert said == "None\n[]\nno network\n(exit code 0)"


async def test_a_command_whose_time_is_over_is_ended(tmp_path: Path, loop_clock: LoopClock) -> None:
    words = "import time; print('begun', flush=True); open('begun', 'w').close(); time.sleep(600)"
    place = passable(tmp_path / "work")
    running = asyncio.create_task(
        run_confined([sys.executable, "-c", words], cwd=place, seconds=300.0, writable=[place])
    )
    while not (place / "begun").exists() and not running.done():  # noqa: ASYNC110 -- another process's file
        await asyncio.sleep(0.005)
    loop_clock.advance(300.0)
    ran = await running
    assert ran.code is None
    assert ran.text == "begun\n(its time was over, so it was ended)"


@pytest.mark.parametrize("code", ["x" * (MOST_CODE + 1), "print(1)\0"])
async def test_what_cannot_be_started_is_told(code: str) -> None:
    with pytest.raises(ToolError):
        await run_python(code)
