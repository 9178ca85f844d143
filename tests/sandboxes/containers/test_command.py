"""Commands of containers: their end, their time, their output."""

import os
import sys
from pathlib import Path

import pytest

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.sandboxes.containers.command import run_command
from mesocosm.sandboxes.tree import is_ending


async def test_a_command_is_told_by_code_and_streams() -> None:
    ended = await run_command(["sh", "-c", "cat; echo wrong >&2; exit 3"], stdin=b"given")
    assert (ended.code, ended.out, ended.err, ended.late) == (3, b"given", b"wrong\n", False)


async def test_what_runs_in_the_background_is_not_waited_for(tmp_path: Path) -> None:
    ended = await run_command(["sh", "-c", f"sleep 1000 & echo $! > {tmp_path}/pid; echo started"], seconds=60)
    os.kill(int((tmp_path / "pid").read_text()), 9)
    assert (ended.code, ended.out, ended.late) == (0, b"started\n", False)


async def test_a_late_command_is_ended_with_its_descendants(tmp_path: Path) -> None:
    ended = await run_command(["sh", "-c", f"sleep 1000 & echo $! > {tmp_path}/pid; wait"], seconds=0.5)
    assert ended.late
    assert is_ending(int((tmp_path / "pid").read_text()))


async def test_a_signal_is_an_exit_code_as_in_a_shell() -> None:
    assert (await run_command(["sh", "-c", "kill -TERM $$"])).code == 128 + 15


async def test_the_middle_of_too_much_output_is_left_out() -> None:
    code = "import sys; sys.stdout.write('a' * 3000 + 'b' * 3000)"
    ended = await run_command([sys.executable, "-c", code], most=2000)
    assert (ended.out, ended.dropped) == (b"a" * 1000 + b"b" * 1000, 4000)


async def test_a_command_that_is_not_there_is_a_failure_of_the_sandbox() -> None:
    with pytest.raises(EpisodeError, match="no-such-engine cannot be started") as raised:
        await run_command(["no-such-engine"])
    assert raised.value.cause is Cause.SANDBOX_FAILED
