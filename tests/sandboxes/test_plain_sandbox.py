"""Foreign processes: what they get, and what is kept of them."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.ports import Process
from mesocosm.sandboxes.plain import PlainSandbox

if TYPE_CHECKING:
    from tests.sandboxes.conftest import Programs


async def test_output_and_exit_code_are_kept(programs: Programs) -> None:
    process = await programs.start("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert await process.wait() == 3
    assert process.returncode == 3
    assert (process.stdout_tail(), process.stderr_tail()) == ("out", "err")


async def test_a_process_is_what_the_port_asks_for(programs: Programs) -> None:
    assert isinstance(await programs.start("pass"), Process)


async def test_it_runs_in_its_directory_with_declared_variables(programs: Programs) -> None:
    process = await programs.start("import os; print(os.getcwd(), os.environ['PARAMETER'])", env={"PARAMETER": "a b"})
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
async def test_what_cannot_be_started_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], told: str
) -> None:
    # A folder of the search path that may not be looked at would make every missing program one without permission.
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EpisodeError, match=told) as failed:
        await PlainSandbox().start(command, cwd=tmp_path)
    assert failed.value.cause is Cause.SANDBOX_FAILED


async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(EpisodeError, match="absent: no such directory"):
        await PlainSandbox().start(["true"], cwd=tmp_path / "absent")


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
