"""Programs that read uploaded files: in the sandbox of the server they reach those files, and nothing else."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.failure import Problem
from mesocosm.sandboxes.bubblewrap import available
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


async def test_a_machine_without_bubblewrap_checks_files_all_the_same(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(foreign_files, "_confinable", {})
    monkeypatch.setattr(foreign_files, "_confined", lambda *_given, **_named: ("false",))
    assert (await look(read_settings(data_dir=tmp_path), place))["data"] == "rows"
    assert "without a sandbox" in caplog.text


@pytest.mark.parametrize("sandbox", [pytest.param("auto", marks=sandboxed), "plain"])
async def test_a_check_that_does_not_end_is_ended(
    tmp_path: Path,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    eventually: Callable[[Callable[[], bool]], None],
    sandbox: str,
) -> None:
    settings = read_settings(data_dir=tmp_path, sandbox=sandbox, unsafe_sandbox=True)
    await look(settings, place)
    monkeypatch.setattr(foreign_files, "CHECK_S", 0.5)
    mark = str(place / "data")
    words = ("-n", "1", "-r", "1", f"open({mark!r}); import time; time.sleep(600)")
    said = await check_apart(settings, "a test", "timeit", *words, folder=place)
    assert isinstance(said, Problem)
    assert "could not be checked within" in said.message
    eventually(lambda: not any(_mentions(process, mark) for process in Path("/proc").glob("[0-9]*")))


def _mentions(process: Path, mark: str) -> bool:
    try:
        return mark.encode() in (process / "cmdline").read_bytes()
    except OSError:
        return False
