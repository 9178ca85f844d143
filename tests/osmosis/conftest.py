"""The published `osmosis` program in several releases, and a server that one command started, for it to work with."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.server.workers.conftest import eventually

from mesocosm.testing.model_server import ModelServer

PROGRAMS = "MESOCOSM_TEST_OSMOSIS"
"""The variable that names the directory with an environment for each Python version."""

RELEASES = {"3.12": "0.3.7", "3.13": "0.3.8"}
"""The release in the environment of each Python version, as in `requirements/foreign-osmosis.in`."""

MODEL = "openai/gpt-4o-mini"
WORKSPACE = "Reef"
REPOSITORY = "acme/evals"
ROLLOUT = Path(__file__).with_name("rollout")
HOLD = "hold"
"""A question that the model does not answer before `TeamServer.release` is set."""

PATIENCE = 120.0
"""Seconds until a test gives up waiting for a command."""


@dataclass(frozen=True)
class Outcome:
    """What a command of the program came to."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document that it printed, on standard error if it failed."""
        return json.loads((self.out.strip() or self.err.strip()).splitlines()[-1])

    @property
    def error(self) -> Any:
        """The `error` of a command that failed."""
        assert self.code == 1, self.out
        return self.document["error"]


@dataclass
class Program:
    """The program of one release, called in a folder of its own."""

    release: str
    path: Path
    home: Path
    server: "TeamServer"
    folder: Path
    token: str
    variables: dict[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """Return its variables: none of the person who runs the tests."""
        ours = {"OSMOSIS_PLATFORM_URL": self.server.url, "OSMOSIS_TOKEN_PLATFORM_URL": self.server.url}
        ours |= {"OSMOSIS_TOKEN": self.token, "OSMOSIS_TOKEN_STORE": "file"}
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), **ours, **self.variables}

    def start(self, *words: str, **variables: str) -> "subprocess.Popen[str]":
        """Start a command."""
        return subprocess.Popen(
            [str(self.path), *words],
            cwd=self.folder,
            env={**self.environment(), **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def call(self, *words: str, **variables: str) -> Outcome:
        """Run a command to its end, with `--json`."""
        process = self.start(*words, "--json", **variables)
        out, err = process.communicate(timeout=PATIENCE)
        return Outcome(process.returncode, out, err)

    def __call__(self, *words: str, **variables: str) -> Any:
        """Return the document of a command that has to succeed."""
        outcome = self.call(*words, **variables)
        assert outcome.code == 0, f"osmosis {' '.join(words)}: {outcome.err or outcome.out}"
        return outcome.document

    def write(self, path: str, text: str) -> Path:
        """Write a file of the clone."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def configure(self, name: str, dataset: str, evaluation: str = "", secrets: str = "[]") -> str:
        """Write a configuration; return its path in the clone."""
        experiment = f'rollout = "demo"\nentrypoint = "main.py"\nmodel_path = "{MODEL}"\ndataset = "{dataset}"\n'
        text = f"[experiment]\n{experiment}[evaluation]\n{evaluation}\n[secrets]\nrequired = {secrets}\n"
        self.write(f"configs/eval/{name}.toml", text)
        return f"configs/eval/{name}.toml"

    def rows(self, name: str, *questions: str) -> str:
        """Write the rows of a dataset; return its path in the clone. What is right is the question itself."""
        lines = [json.dumps({"user_prompt": one, "ground_truth": one}) + "\n" for one in questions]
        self.write(f"data/{name}.jsonl", "".join(lines))
        return f"data/{name}.jsonl"


@dataclass
class TeamServer:
    """A server with one workspace, connected with a repository on this disk, and a model that repeats the question."""

    url: str
    token: str
    session: str
    place: Path
    release: threading.Event
    asked: threading.Event

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON of an answer of the API, asked after a login with a password."""
        return request(self.url, method, path, body, self.session)


def request(url: str, method: str, path: str, body: Any = None, token: str = "") -> Any:
    """Return the JSON of an answer. Raises AssertionError with the words of a refusal."""
    sent = {"content-type": "application/json", **({"authorization": f"Bearer {token}"} if token else {})}
    data = None if body is None else json.dumps(body).encode()
    wanted = urllib.request.Request(f"{url}{path}", data, sent, method=method)
    try:
        with urllib.request.urlopen(wanted, timeout=PATIENCE) as answer:
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from error


def git(folder: Path, *words: str) -> None:
    """Call git as somebody in particular."""
    who = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def clone_at(folder: Path) -> None:
    """Write a workspace directory with the rollout `demo`, under git, with the origin that the program wants."""
    for name in ("configs/training", "configs/eval", "data"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / ".gitkeep").touch()
    shutil.copytree(ROLLOUT, folder / "rollouts" / "demo", ignore=shutil.ignore_patterns("__pycache__"))
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "The rollout demo")
    git(folder, "remote", "add", "origin", f"https://github.com/{REPOSITORY}.git")


@pytest.fixture(scope="session")
def model() -> Iterator[tuple[ModelServer, threading.Event, threading.Event]]:
    """Return a model that repeats the question; with it what releases questions that it holds, and that it has one."""
    release, asked = threading.Event(), threading.Event()

    async def answer(body: dict[str, Any]) -> str:
        said = str(body["messages"][-1]["content"])
        if said.startswith(HOLD):
            asked.set()
            await asyncio.to_thread(release.wait, PATIENCE)
        return said

    with ModelServer(answer) as server:
        yield server, release, asked
        release.set()


@pytest.fixture(scope="session")
def server(
    model: tuple[ModelServer, threading.Event, threading.Event], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TeamServer]:
    """Return a server that `mesocosm serve` started."""
    place = tmp_path_factory.mktemp("server")
    endpoint, release, asked = model
    served = json.dumps([{"name": MODEL, "served_as": f"openai/any@{endpoint.openai_url}"}])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MESOCOSM_", "OSMOSIS_"))}
    ours = {"MESOCOSM_LOCAL_GIT": "true", "MESOCOSM_COOLDOWN_S": "0", "MESOCOSM_MODELS": served}
    log = (place / "server.log").open("wb")
    process = subprocess.Popen(
        [sys.executable, "-m", "mesocosm", "serve", "--json", "--port", "0", "--login-port", "0"],
        cwd=place,
        env={**kept, **ours},
        stdout=subprocess.PIPE,
        stderr=log,
    )
    try:
        begun = started(process)
        login = {"username": "admin", "password": begun["first_admin"]["password"], "refresh": True}
        url = begun["url"]
        session = request(url, "POST", "/api/auth/login", login)["token"]
        token = request(url, "POST", "/api/tokens", {"name": "tests", "scope": "write"}, session)["token"]
        team = TeamServer(url, token, session, place, release, asked)
        connect(team, place / "acme" / "evals.git")
        yield team
    finally:
        release.set()
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)
        log.close()


def started(process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    """Return what a server says when it answers."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line == b"}\n":
            return dict(json.loads(b"".join(lines)))
    raise AssertionError(f"the server did not start: {lines}")


def connect(team: TeamServer, origin: Path) -> None:
    """Make the workspace, and connect it with a repository `acme/evals`."""
    work = origin.parent / "work"
    work.mkdir(parents=True)
    clone_at(work)
    git(origin.parent, "clone", "-q", "--bare", str(work), str(origin))
    place = team.request("POST", "/api/workspaces", {"name": WORKSPACE})["id"]
    team.request("PUT", f"/api/workspaces/{place}/repository", {"url": origin.as_uri()})
    over = ("success", "failed")
    eventually(lambda: team.request("GET", f"/api/workspaces/{place}/syncs")[0]["status"] in over)
    (sync,) = team.request("GET", f"/api/workspaces/{place}/syncs")
    assert sync["status"] == "success", sync


@pytest.fixture(params=RELEASES, ids=RELEASES.get)
def osmosis(request: pytest.FixtureRequest, server: TeamServer, tmp_path: Path) -> Program:
    """Return the program of each release, in a clone."""
    return program(request.param, server, tmp_path)


def program(python: str, server: TeamServer, place: Path) -> Program:
    """Return the program of a release, in a new clone below `place`."""
    release, path = RELEASES[python], Path(os.environ[PROGRAMS]) / python / "bin" / "osmosis"
    if not path.is_file() and not os.environ.get("CI"):
        pytest.skip(f"there is no Python {python}, which osmosis {release} is installed for")
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    assert re.search(r"\d+\.\d+\.\d+", told)[0] == release  # type: ignore[index]
    home, folder = place / "home", place / "clone"
    home.mkdir()
    clone_at(folder)
    return Program(release, path, home, server, folder, server.token)
