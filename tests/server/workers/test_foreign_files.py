"""Programs that read uploaded files: in the sandbox of the server they reach those files, and nothing else."""

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.failure import InfrastructureError, Problem
from mesocosm.sandboxes.bubblewrap import available
from mesocosm.sandboxes.sandbox import ProgramSandbox
from mesocosm.server.settings import Settings, read_settings
from mesocosm.server.workers import foreign_files
from mesocosm.server.workers.foreign_files import check_apart

sandboxed = pytest.mark.skipif(not available(), reason="there is no bubblewrap")

LOOK = """
import json, os, pathlib, socket
def tried(act):
    try:
        act()
        return "ok"
    except OSError as error:
        return type(error).__name__
here = pathlib.Path.cwd()
print(json.dumps({
    "data": (here / "data").read_text(),
    "beside": tried((here.parent / "beside").read_text),
    "write": tried(lambda: (here / "new").write_text("x")),
    "network": tried(lambda: socket.create_connection(("127.0.0.1", PORT), 2).close()),
    "secret": os.environ.get("OPENAI_API_KEY", ""),
}))
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "data").write_text("rows")
    (tmp_path / "beside").write_text("secret of the server")
    return folder


async def look(settings: Settings, place: Path, *, writes: bool = False) -> Any:
    """Return what a program finds that is run like a check: `timeit` runs its words as lines of a program."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = LOOK.replace("PORT", str(server.getsockname()[1]))
        words = ("-n", "1", "-r", "1", f"exec({code!r}, {{}})")
        said = await check_apart(settings, "a test", "timeit", *words, folder=place, writes=writes)
    assert isinstance(said, bytes), said
    return json.loads(said.splitlines()[0])


@sandboxed
@pytest.mark.parametrize(("writes", "write"), [(False, "OSError"), (True, "ok")])
async def test_a_check_sees_its_folder_alone(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch, writes: bool, write: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-server")
    found = await look(read_settings(data_dir=tmp_path), place, writes=writes)
    assert found["data"] == "rows"
    assert found["beside"] in ("FileNotFoundError", "PermissionError")
    assert found["network"] != "ok"
    assert found["secret"] == ""
    assert found["write"] == write
    # The process of the server still reads what it left.
    assert (place / "new").exists() == writes


async def test_without_a_sandbox_a_check_is_a_process_without_secrets(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(foreign_files, "_confinable", {})
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-server")
    settings = read_settings(data_dir=tmp_path, sandbox="plain", unsafe_sandbox=True)
    found = await look(settings, place)
    assert (found["data"], found["write"], found["secret"]) == ("rows", "ok", "")
    assert "without a sandbox: the setting `sandbox` is plain" in caplog.text
    await look(settings, place)
    assert caplog.text.count("without a sandbox") == 1


@sandboxed
async def test_a_machine_whose_sandbox_cannot_import_a_check_checks_files_all_the_same(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(foreign_files, "_confinable", {})
    monkeypatch.setattr(foreign_files, "runtime_folders", lambda: (Path("/var/empty-of-python"),))
    assert (await look(read_settings(data_dir=tmp_path), place))["write"] == "ok"
    assert "without a sandbox" in caplog.text


@sandboxed
async def test_a_machine_that_is_too_busy_to_try_its_sandbox_checks_nothing_without_it(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_files, "_confinable", {})
    monkeypatch.setattr(foreign_files, "TRIAL_S", 0.0)
    with pytest.raises(InfrastructureError, match="did not import timeit"):
        await look(read_settings(data_dir=tmp_path), place)
    assert foreign_files._confinable == {}


STAY = """
import os, time
open({mark!r})
if os.fork():
    {then}
os.setsid()
time.sleep(600)
"""
"""A program whose child has a session of its own, and holds its output open."""


@pytest.mark.parametrize("sandbox", [pytest.param("auto", marks=sandboxed), "plain"])
@pytest.mark.parametrize(("then", "seconds"), [("time.sleep(600)", 2.0), ("os._exit(0)", 600.0)])
async def test_a_check_that_does_not_end_is_ended_with_all_its_processes(
    tmp_path: Path,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    sandbox: str,
    then: str,
    seconds: float,
) -> None:
    settings = read_settings(data_dir=tmp_path, sandbox=sandbox, unsafe_sandbox=True)
    await look(settings, place)
    monkeypatch.setattr(foreign_files, "CHECK_S", seconds)
    mark = str(place / "data")
    words = ("-n", "1", "-r", "1", f"exec({STAY.format(mark=mark, then=then)!r}, {{}})")
    said = await check_apart(settings, "a test", "timeit", *words, folder=place)
    assert isinstance(said, Problem) == ("sleep" in then)
    assert not isinstance(said, Problem) or said.message.startswith("could not be checked within")
    assert not _mentions(mark)


@pytest.mark.parametrize("sandbox", [pytest.param("auto", marks=sandboxed), "plain"])
async def test_a_check_that_is_given_up_in_the_middle_of_its_answer_ends(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch, sandbox: str
) -> None:
    settings = read_settings(data_dir=tmp_path, sandbox=sandbox, unsafe_sandbox=True)
    await look(settings, place)
    said, loop = asyncio.Event(), asyncio.get_running_loop()
    heard = ProgramSandbox.run

    async def run(self: ProgramSandbox, *given: Any, printed: Callable[[bytes], object], **named: Any) -> Any:
        def hear(data: bytes) -> None:
            said.set()
            printed(data)

        return await heard(self, *given, printed=hear, **named)

    monkeypatch.setattr(ProgramSandbox, "run", run)
    words = ("-n", "1", "-r", "1", "print('x' * 10_000_000); import time; time.sleep(600)")
    checking = loop.create_task(check_apart(settings, "a test", "timeit", *words, folder=place))
    await said.wait()
    checking.cancel()
    async with asyncio.timeout(60):
        with pytest.raises(asyncio.CancelledError):
            await checking


def _mentions(mark: str) -> list[Path]:
    """Return the processes that have been started with this word."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (process / "cmdline").read_bytes():
                found.append(process)
    return found
