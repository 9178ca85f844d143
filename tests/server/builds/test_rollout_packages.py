"""Packages of rollouts: installed once, in a sandbox, whoever asks; and what strangers wrote reaches nothing."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.server.builds.conftest import wheel

from mesocosm.core.failure import InfrastructureError
from mesocosm.rollouts.executor import ModelAccess, RowJob
from mesocosm.rollouts.processes.executor import ProcessExecutor
from mesocosm.rollouts.processes.installation import kept_environments
from mesocosm.sandboxes.bubblewrap import available
from mesocosm.server.builds.errors import BuildError
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.builds.rollout_packages import PreparedRollout, packages_folder, prepare_rollout, sweep_packages
from mesocosm.server.settings import Settings, read_settings

pytestmark = pytest.mark.skipif(not available(), reason=available().reason)

MAIN = f"""
import json, sys
sys.path.append({sysconfig.get_path("purelib")!r})
from mesocosm.rollouts import AgentWorkflow, AgentWorkflowConfig, Grader, LocalBackend

class Script(AgentWorkflow):
    async def run(self, ctx):
        scope = {{"said": []}}
        exec(ctx.prompt[-1]["content"], scope)
        return [*ctx.prompt, {{"role": "assistant", "content": json.dumps(scope["said"])}}]

class Right(Grader):
    async def grade(self, ctx):
        ctx.set_reward(1.0)

backend = LocalBackend(workflow=Script, grader=Right, workflow_config=AgentWorkflowConfig(name="script"))
"""
DAY_S = 86_400.0


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return read_settings(data_dir=tmp_path / "data")


@pytest.fixture
def _index(index: Path) -> None:
    """Names of what our own package needs to serve a rollout, beside the sunfish; MAIN finds their modules."""
    for name, version in (("pydantic", "2.99"), ("fastapi", "0.999"), ("uvicorn", "0.999")):
        wheel(index, name, version, module=False)


def rollout(folder: Path, *requirements: str, files: Mapping[str, str] = {}) -> Path:
    """Write a rollout with these requirements."""
    project = f'[project]\nname = "r"\nversion = "1"\ndependencies = {json.dumps(requirements)}\n'
    for name, content in {"main.py": MAIN, "pyproject.toml": project, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def hostile(code: str) -> dict[str, str]:
    """Return a package `own` that runs code while it is built, and can be installed after it."""
    backend = f"""
import os, sys, glob, socket, subprocess, zipfile

def build_wheel(folder, *words, **named):
{"".join(f"    {line}{chr(10)}" for line in code.splitlines())}
    with zipfile.ZipFile(folder + "/own-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("own.py", "VERSION = 'own'")
        archive.writestr("own-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: own\\nVersion: 1.0\\n")
        archive.writestr("own-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr("own-1.0.dist-info/RECORD", "own.py,,\\n")
    return "own-1.0-py3-none-any.whl"
"""
    return {
        "own/b.py": backend,
        "own/pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "b"\nbackend-path = ["."]\n',
    }


async def said(folder: Path, prepared: PreparedRollout, script: str) -> list[str]:
    """Play a row whose workflow runs a script, and return what it said."""
    executor = ProcessExecutor(
        folder, "main.py", environment={}, workers=1, python=prepared.python, sandbox=prepared.sandbox
    )
    job = RowJob(
        id="episode",
        prompt=[{"role": "user", "content": script}],
        label="a",
        metadata=None,
        row=0,
        trial=0,
        seed=0,
        model=ModelAccess("http://127.0.0.1:9/v1", "key", "some/model"),
        judge=None,
        artifacts=folder.parent / "artifacts",
        workflow_seconds=20.0,
        grader_seconds=20.0,
    )
    try:
        async with asyncio.timeout(60):
            await executor.open(lambda line: None)
            ended = await executor.run(job, lambda stream, line: None)
    finally:
        await executor.close()
    assert ended.failure is None, ended.failure
    assert ended.sample is not None
    found: list[str] = json.loads(str(ended.sample.messages[-1]["content"]))
    return found


def exists(prepared: PreparedRollout) -> bool:
    """Return whether the interpreter of a rollout is still there."""
    return Path(prepared.python).exists()


def complete(settings: Settings) -> list[Path]:
    """Return the environments that were completed."""
    return [kept.place for kept in kept_environments(packages_folder(settings)) if kept.bytes]


@pytest.mark.usefixtures("index")
async def test_a_rollout_that_declares_nothing_needs_no_installation(
    settings: Settings, tmp_path: Path, log: BuildLog
) -> None:
    folder = rollout(tmp_path / "r")
    prepared = await prepare_rollout(settings, folder, log)
    assert await said(folder, prepared, "said.append('here')") == ["here"]
    assert not packages_folder(settings).exists()


@pytest.mark.usefixtures("_index")
async def test_what_is_declared_is_installed_once_and_found_by_the_rows(
    settings: Settings, tmp_path: Path, log: BuildLog
) -> None:
    first = rollout(tmp_path / "first", "sunfish==1.0")
    prepared = await prepare_rollout(settings, first, log)
    assert await said(first, prepared, "import sunfish; said.append(sunfish.VERSION)") == ["1.0"]
    assert "Successfully installed" in log.text()
    second = BuildLog(tmp_path)
    assert await prepare_rollout(settings, rollout(tmp_path / "second", "sunfish==1.0"), second) == prepared
    assert second.text() == ""


@pytest.mark.usefixtures("_index")
async def test_versions_are_those_of_the_lock(settings: Settings, tmp_path: Path, log: BuildLog) -> None:
    source = 'source = { registry = "https://index.example/simple" }'
    lock = f'version = 1\n[[package]]\nname = "sunfish"\nversion = "1.0"\n{source}\n'
    folder = rollout(tmp_path / "r", "sunfish", files={"uv.lock": lock})
    locked = await prepare_rollout(settings, folder, log)
    assert await said(folder, locked, "import sunfish; said.append(sunfish.VERSION)") == ["1.0"]
    (folder / "uv.lock").unlink()
    assert (await prepare_rollout(settings, folder, log)).python != locked.python


@pytest.mark.usefixtures("_index")
async def test_a_failure_names_the_line_and_leaves_nothing(settings: Settings, tmp_path: Path, log: BuildLog) -> None:
    folder = rollout(tmp_path / "r", "sunfish==1.0", "numpyy==9")
    with pytest.raises(BuildError) as caught:
        await prepare_rollout(settings, folder, log)
    words = str(caught.value)
    assert "pyproject.toml, line 4 (numpyy==9): no package of that name and version was found" in words
    assert "pip said last:\n  | " in words
    assert str(folder) not in words
    assert str(settings.data_dir) not in words
    assert not list(packages_folder(settings).rglob("python"))


@pytest.mark.usefixtures("_index")
async def test_those_that_wait_take_over_the_failure(settings: Settings, tmp_path: Path) -> None:
    logs = [BuildLog(tmp_path) for _ in range(3)]
    folder = rollout(tmp_path / "r", "numpyy==9")
    tries = (prepare_rollout(settings, folder, log) for log in logs)
    failures = await asyncio.gather(*tries, return_exceptions=True)
    assert {type(failure) for failure in failures} == {BuildError}
    assert len({str(failure) for failure in failures}) == 1
    assert sum("making its virtual environment" in log.text() for log in logs) == 1


@pytest.mark.parametrize(
    ("requirement", "uv", "words"),
    [
        ("--index-url=http://127.0.0.1:9", "", "is not a requirement"),
        ("sunfish\n--pre", "", "is not a requirement"),
        ("Sun_Fish", '[tool.uv.sources]\nsun-fish = { path = "../x" }', "takes it from elsewhere"),
    ],
)
@pytest.mark.usefixtures("_index")
async def test_what_would_install_something_else_is_refused(
    requirement: str, uv: str, words: str, settings: Settings, tmp_path: Path, log: BuildLog
) -> None:
    folder = rollout(tmp_path / "r", requirement)
    with (folder / "pyproject.toml").open("a") as file:
        file.write(uv)
    with pytest.raises(BuildError, match=words):
        await prepare_rollout(settings, folder, log)


@pytest.mark.usefixtures("_index")
async def test_packages_in_the_folder_are_shared_only_by_equal_folders(
    settings: Settings, tmp_path: Path, log: BuildLog
) -> None:
    first = rollout(tmp_path / "1" / "r", "./own", files=hostile("pass"))
    second = rollout(tmp_path / "2" / "r", "./own", files=hostile("pass"))
    third = rollout(tmp_path / "3" / "r", "./own", files=hostile("1 + 1"))
    found = [(await prepare_rollout(settings, folder, log)).python for folder in (first, second, third)]
    assert found[0] == found[1] != found[2]
    assert not (first / "own" / "__pycache__").exists()


@pytest.mark.usefixtures("_index")
async def test_code_of_packages_sees_neither_the_server_nor_the_network(
    settings: Settings, tmp_path: Path, log: BuildLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-the-server-0123456789")
    settings.data_dir.mkdir()
    (settings.data_dir / "secrets.key").write_text("planted-canary")
    mark = tmp_path / "mark"
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        code = f"""
for name, value in os.environ.items():
    print(name, value)
def attempt(what, *words):
    try:
        print("achieved", what(*words))
    except OSError as error:
        print("no", type(error).__name__)
attempt(open, {str(settings.data_dir / "secrets.key")!r})
attempt(open, {str(mark)!r}, "w")
attempt(socket.create_connection, ("127.0.0.1", {server.server_address[1]}), 2)
attempt(socket.create_connection, ("1.1.1.1", 443), 2)
raise SystemExit("looked around")
"""
        with pytest.raises(BuildError, match="could not be built"):
            await prepare_rollout(settings, rollout(tmp_path / "r", "./own", files=hostile(code)), log)
    seen = log.text()
    assert "looked around" in seen
    assert seen.count("no ") >= 4
    assert "achieved" not in seen
    assert "0123456789" not in seen
    assert "canary" not in seen
    assert not mark.exists()


@pytest.mark.parametrize(
    ("code", "words", "given"),
    [
        (
            "while True:\n    subprocess.Popen(['sleep', '60'])",
            "limit|could not be built",
            {"environment_processes": 16},
        ),
        ("with open(folder + '/big', 'wb') as file:\n    file.write(bytes(80_000_000))", "limit", {"packages_mb": 20}),
        ("import time\ntime.sleep(60)", "were not installed within 3 s", {"install_s": 3.0}),
    ],
)
@pytest.mark.usefixtures("_index")
async def test_code_of_packages_is_limited(
    code: str, words: str, given: dict[str, float], tmp_path: Path, log: BuildLog
) -> None:
    settings = read_settings(data_dir=tmp_path / "data", **given)  # type: ignore[arg-type]
    with pytest.raises(BuildError, match=words):
        await prepare_rollout(settings, rollout(tmp_path / "r", "./own", files=hostile(code)), log)
    assert not list(packages_folder(settings).rglob("python"))


@pytest.mark.usefixtures("_index")
async def test_what_an_environment_says_of_itself_opens_no_folders(
    settings: Settings, tmp_path: Path, log: BuildLog
) -> None:
    """A package that was built here can write to its environment, so nothing there is believed outside of a sandbox."""
    settings.data_dir.mkdir()
    (settings.data_dir / "secrets.key").write_text("planted-canary")
    code = f"""
place, = glob.glob({str(packages_folder(settings))!r} + "/*/*/pyvenv.cfg")
with open(place, "a") as file:
    file.write("home = {settings.data_dir}/bin\\n")
root = os.path.dirname(place)
os.symlink("{settings.data_dir}/secrets.key", root + "/mesocosm.json")
os.symlink("{settings.data_dir}/secrets.key", root + "/mesocosm.json.new")
"""
    folder = rollout(tmp_path / "r", "./own", files=hostile(code))
    prepared = await prepare_rollout(settings, folder, log)
    script = f"""
import os
said.extend(sorted(os.listdir({str(settings.data_dir)!r})))
"""
    assert await said(folder, prepared, script) == ["rollout-packages"]
    assert (settings.data_dir / "secrets.key").read_text() == "planted-canary"


@pytest.mark.usefixtures("_index")
async def test_the_environment_cannot_be_changed_by_rows(settings: Settings, tmp_path: Path, log: BuildLog) -> None:
    folder = rollout(tmp_path / "r", "sunfish==1.0")
    prepared = await prepare_rollout(settings, folder, log)
    script = """
import sunfish
try:
    open(sunfish.__file__, "a")
except OSError as error:
    said.append(type(error).__name__)
"""
    assert await said(folder, prepared, script) in (["OSError"], ["PermissionError"])


class SlowIndex:
    """A package index on this machine that holds back the sunfish until it is told to go on."""

    def __init__(self, wheels: Path, root: Path) -> None:
        for path in wheels.glob("*.whl"):
            place = root / "index" / path.name.partition("-")[0]
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
        self.asked, self.go_on = threading.Event(), threading.Event()
        self.fetched = 0
        index = self

        class Handler(SimpleHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path.endswith(".whl") and "sunfish" in self.path:
                    index.fetched += 1
                    index.asked.set()
                    index.go_on.wait(60)
                super().do_GET()

            def log_message(self, *_words: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=root))
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/index/"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self) -> None:
        """End the server."""
        self.go_on.set()
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()


@pytest.fixture
def slow_index(index: Path, _index: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowIndex]:
    found = SlowIndex(index, tmp_path / "served")
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", found.url)
    yield found
    found.close()


WORKER = """
import asyncio, sys
from pathlib import Path
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.builds.rollout_packages import prepare_rollout
from mesocosm.server.settings import read_settings
data, folder = map(Path, sys.argv[1:])
log = BuildLog(folder)
print(asyncio.run(prepare_rollout(read_settings(data_dir=data), folder, log)).python)
print(log.text())
"""


def worker(settings: Settings, folder: Path) -> "subprocess.Popen[str]":
    """Start a process that prepares a rollout, as another worker of this machine does."""
    words = [sys.executable, "-c", WORKER, str(settings.data_dir), str(folder)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def test_two_processes_make_one_environment(settings: Settings, slow_index: SlowIndex, tmp_path: Path) -> None:
    folder = rollout(tmp_path / "r", "sunfish==1.0")
    working = [worker(settings, folder) for _ in range(2)]
    assert slow_index.asked.wait(60)
    slow_index.go_on.set()
    pythons, logs = zip(*(one.communicate(timeout=120)[0].split("\n", 1) for one in working), strict=True)
    assert pythons[0] == pythons[1]
    assert sum("making its virtual environment" in log for log in logs) == 1
    assert slow_index.fetched == 1


async def test_a_worker_that_is_killed_leaves_nothing_that_looks_finished(
    settings: Settings, slow_index: SlowIndex, tmp_path: Path, log: BuildLog
) -> None:
    folder = rollout(tmp_path / "r", "sunfish==1.0")
    killed = worker(settings, folder)
    assert await asyncio.to_thread(slow_index.asked.wait, 60)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert complete(settings) == []
    slow_index.go_on.set()
    prepared = await prepare_rollout(settings, folder, log)
    assert await said(folder, prepared, "import sunfish; said.append(sunfish.VERSION)") == ["1.0"]
    [place] = complete(settings)
    assert [path.name for path in place.iterdir() if path.is_dir()] == [Path(prepared.python).parents[1].name]


@pytest.mark.usefixtures("_index")
async def test_a_cancelled_run_ends_its_installation(settings: Settings, tmp_path: Path) -> None:
    code = "print('begun', flush=True)\nimport time\ntime.sleep(60)"
    begun = asyncio.Event()

    class Heard(BuildLog):
        def hear(self, text: str) -> None:
            super().hear(text)
            if "begun" in self.text() or "Processing" in self.text():
                begun.set()

    folder = rollout(tmp_path / "r", "./own", files=hostile(code))
    working = asyncio.ensure_future(prepare_rollout(settings, folder, Heard(tmp_path)))
    async with asyncio.timeout(60):
        await begun.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert not list(packages_folder(settings).rglob("python"))


@pytest.mark.usefixtures("_index")
async def test_environments_that_were_unused_for_long_are_removed(
    settings: Settings, tmp_path: Path, log: BuildLog
) -> None:
    used = await prepare_rollout(settings, rollout(tmp_path / "r", "sunfish==1.0"), log)
    unused = await prepare_rollout(settings, rollout(tmp_path / "s", "sunfish==2.0"), log)
    for kept in kept_environments(packages_folder(settings)):
        if Path(unused.python).is_relative_to(kept.place):
            os.utime(kept.place / "mesocosm.json", (0, 0))
    assert sweep_packages(settings) == 1
    assert exists(used)
    assert not exists(unused)
    again = await prepare_rollout(settings, tmp_path / "s", log)
    assert exists(again)


@pytest.mark.usefixtures("_index")
async def test_using_an_environment_keeps_it(settings: Settings, tmp_path: Path, log: BuildLog) -> None:
    folder = rollout(tmp_path / "r", "sunfish==1.0")
    prepared = await prepare_rollout(settings, folder, log)
    [place] = complete(settings)
    os.utime(place / "mesocosm.json", (0, 0))
    [kept] = kept_environments(packages_folder(settings))
    await prepare_rollout(settings, folder, log)
    assert not kept.remove(time.time() - DAY_S)
    assert exists(prepared)


@pytest.mark.usefixtures("_index")
async def test_beyond_the_limit_of_a_machine_the_longest_unused_makes_room(
    settings: Settings, tmp_path: Path, log: BuildLog
) -> None:
    first = await prepare_rollout(settings, rollout(tmp_path / "r", "sunfish==1.0"), log)
    [place] = complete(settings)
    mark = place / "mesocosm.json"
    mark.write_text(json.dumps({**json.loads(mark.read_text()), "bytes": 2**40}))
    other = rollout(tmp_path / "s", "sunfish==2.0")
    with pytest.raises(InfrastructureError, match="rollout_packages_mb"):
        await prepare_rollout(settings, other, log)
    os.utime(mark, (0, 0))
    await prepare_rollout(settings, other, log)
    assert not exists(first)
