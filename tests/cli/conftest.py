"""Command lines run in this process or as a program, and results to look at."""

import asyncio
import contextlib
import io
import json
import os
import shutil
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from mesocosm.cli.main import call
from mesocosm.core.run import Run
from mesocosm.environments.scaffold import scaffold
from mesocosm.store import open_store
from mesocosm.testing.loopback import LoopbackConnection, ReceivedRequest, response
from mesocosm.testing.model_server import ModelServer

PATIENCE = 120.0
"""Seconds until a test gives up waiting for a program."""


@dataclass(frozen=True)
class Outcome:
    """What a command line came to."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)


def invoke(*words: str | Path, stdin: str = "") -> Outcome:
    """Run a command line in this process."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    answers = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    out, err = streams
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), patch.object(sys, "stdin", answers):
        code = call([str(word) for word in words])
    texts = [stream.buffer.getvalue().decode() for stream in streams if isinstance(stream.buffer, io.BytesIO)]
    return Outcome(code, *texts)


Invoke = Callable[..., Outcome]


@pytest.fixture(scope="session")
def mesocosm() -> Invoke:
    """Return what runs a command line in this process."""
    return invoke


@pytest.fixture(scope="session")
def scaffolded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a new environment. Do not change it."""
    place = tmp_path_factory.mktemp("scaffold") / "my-env"
    scaffold(place)
    return place


@dataclass(frozen=True)
class Played:
    """A results directory with one finished run: the scaffold's oracle on six seeds."""

    manifest: Path
    results: Path
    run_id: str

    @property
    def there(self) -> tuple[str, str]:
        """The words that name the results."""
        return ("--results-dir", str(self.results))

    @property
    def run(self) -> Run:
        """The run as it is stored."""
        store = open_store(self.results)
        try:
            return store.runs.get(self.run_id)
        finally:
            store.close()


@pytest.fixture(scope="session")
def played(scaffolded: Path, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Return results of a finished run. Do not change them."""
    results = tmp_path_factory.mktemp("played") / "results"
    manifest = scaffolded / "benchanything.json"
    words = ["--model", "builtin/oracle", "--episodes", "6", "--parallel", "3", "--json"]
    with pytest.MonkeyPatch.context() as patched:
        for name in [name for name in os.environ if name.startswith("MESOCOSM_") and "TEST" not in name]:
            patched.delenv(name)
        outcome = invoke("run", "local", "--manifest", manifest, "--results-dir", results, *words)
    assert outcome.code == 0, outcome.err
    return Played(manifest, results, outcome.document["run"]["id"])


@pytest.fixture
def mine(played: Played, tmp_path: Path) -> Played:
    """Return a copy of these results that may be changed."""
    return Played(played.manifest, shutil.copytree(played.results, tmp_path / "results"), played.run_id)


@dataclass
class Program:
    """A `mesocosm` that runs beside the test."""

    process: Process
    lines: list[str] = field(default_factory=list)

    def signal(self, number: int = signal.SIGINT) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    async def said(self, text: str) -> str:
        """Wait until a line on standard error has `text` in it, and return the line."""
        assert self.process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            while line := (await self.process.stderr.readline()).decode():
                self.lines.append(line)
                if text in line:
                    return line
        raise AssertionError(f"it never said {text!r}, but\n{''.join(self.lines)}")

    async def end(self) -> Outcome:
        """Wait for its end."""
        async with asyncio.timeout(PATIENCE):
            out, err = await self.process.communicate()
        assert self.process.returncode is not None
        return Outcome(self.process.returncode, out.decode(), "".join(self.lines) + err.decode())


def program(*words: str | Path, before: str = "") -> list[str]:
    """Return the command of a `mesocosm` that runs some lines of Python first."""
    # Who starts the tests with nohup would have it ignore the end of its terminal, as it should.
    heard = "import signal, sys\nsignal.signal(signal.SIGHUP, signal.SIG_DFL)"
    start = f"{heard}\n{before}\nfrom mesocosm.cli.main import main\nsys.argv[0] = 'mesocosm'\nmain()"
    return [sys.executable, "-c", start, *map(str, words)]


@pytest.fixture
async def launch() -> AsyncIterator[Callable[..., Any]]:
    """Return what starts a `mesocosm` beside the test; none outlives it."""
    started: list[Process] = []

    async def start(*words: str | Path, before: str = "", cwd: Path | None = None) -> Program:
        command = program(*words, before=before)
        process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE, stdin=PIPE, cwd=cwd)
        started.append(process)
        return Program(process)

    yield start
    for process in started:
        if process.returncode is None:
            process.kill()
            await process.wait()


class Gate(ModelServer):
    """A model on loopback that answers the first questions at once and then only when it is told to.

    `visited` is set when somebody asks for `url`/here.
    """

    def __init__(self, free: int = 0) -> None:
        self.visited = asyncio.Event()
        self.waiting = asyncio.Event()
        self.opened = asyncio.Event()
        self._free = free
        super().__init__(self._answer)

    @property
    def model(self) -> str:
        """Its name on the command line."""
        return f"openai/gate@{self.openai_url}"

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        """Answer a request."""
        if request.path != "/here":
            super().receive(connection, request)
            return
        self.visited.set()
        connection.send(response(200, b"{}"))

    async def _answer(self, body: dict[str, Any]) -> str:
        self._free -= 1
        if self._free < 0:
            self.waiting.set()
            await self.opened.wait()
        return "no number"


@pytest.fixture
async def gate() -> AsyncIterator[Gate]:
    """Return a model that answers two episodes of the scaffold (six steps each) and then waits."""
    async with Gate(free=12) as server:
        yield server


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an empty directory the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
