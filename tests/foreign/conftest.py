"""Real model servers, `mesocosm` as a program, and what it recorded."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.foreign import real_servers
from tests.foreign.real_servers import KEY, RealServer
from tests.rollouts import puppet

from mesocosm.core.episode import Episode
from mesocosm.core.event import Kind
from mesocosm.core.run import Run
from mesocosm.store import open_store
from mesocosm.testing.model_server import ModelServer

PATIENCE = 120.0
"""Seconds until a test gives up waiting for a command."""


@pytest.fixture(scope="session")
def puppet_model() -> Iterator[ModelServer]:
    """Return a model that does what the question tells it, for LiteLLM's proxy to ask."""
    with ModelServer(puppet.answer) as server:
        yield server


@pytest.fixture(scope="session")
def litellm_server(puppet_model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """Return LiteLLM's proxy."""
    with real_servers.litellm(tmp_path_factory.mktemp("litellm"), puppet_model.openai_url) as server:
        yield server


@pytest.fixture(scope="session")
def llama_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """Return llama.cpp's server."""
    with real_servers.llama(tmp_path_factory.mktemp("llama")) as server:
        yield server


@pytest.fixture(params=["litellm", "llama"])
def real_server(request: pytest.FixtureRequest) -> RealServer:
    """Return each of the two servers."""
    server: RealServer = request.getfixturevalue(f"{request.param}_server")
    return server


@dataclass(frozen=True)
class Played:
    """One run with its episodes and their events."""

    run: Run
    episodes: tuple[Episode, ...]
    events: Mapping[str, list[tuple[Kind, Any]]]

    def payloads(self, kind: Kind) -> list[Any]:
        """Return the payloads of one kind of event, over all episodes in their order."""
        return [payload for one in self.episodes for found, payload in self.events[one.id] if found == kind]

    @property
    def calls(self) -> list[Any]:
        """The model calls."""
        return self.payloads(Kind.MODEL_CALL)

    @property
    def causes(self) -> list[str]:
        """The cause of each episode, empty where it has none."""
        return [str(one.failure.cause) if one.failure else "" for one in self.episodes]

    @property
    def values(self) -> list[float | None]:
        """The primary value of each episode, None where it is missing."""
        assert self.run.primary is not None
        name = self.run.primary.name
        return [next((score.value for score in one.scores if score.name == name), None) for one in self.episodes]


@dataclass(frozen=True)
class Outcome:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document on standard output."""
        return json.loads(self.out)


@dataclass
class Laboratory:
    """A directory, its results, and commands that run in it."""

    root: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def results(self) -> Path:
        """The results directory."""
        return self.root / "results"

    def mesocosm(self, *words: str | Path) -> Outcome:
        """Run a command to its end."""
        done = subprocess.run(
            [sys.executable, "-m", "mesocosm", *map(str, words)],
            cwd=self.root,
            env={**os.environ, "MESOCOSM_RESULTS_DIR": str(self.results), **self.variables},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def played(self) -> Played:
        """Return the newest run."""
        with closing(open_store(self.results)) as store:
            run = store.runs.get(store.runs.list(limit=1).items[0].id)
            episodes = tuple(store.episodes.search(run.id).items)
            events = {
                one.id: [(event.kind, event.payload) for event in store.traces.events(one.id)] for one in episodes
            }
        return Played(run, episodes, events)

    def write(self, path: str, text: str) -> Path:
        """Write a file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file


@pytest.fixture
def laboratory(tmp_path: Path) -> Laboratory:
    """Return an empty directory in which the key of the servers is known."""
    return Laboratory(tmp_path, {"MESOCOSM_API_KEY": KEY})
