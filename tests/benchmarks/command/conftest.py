"""A workshop: small programs written into folders of their own, described, and run by the public entry points."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import open_benchmark, reference
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.backoff import Backoff
from mesocosm.core.episode import Episode
from mesocosm.core.event import Event, Kind
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Benchmark, Observer
from mesocosm.core.run import AgentSettings, BenchmarkRef, Limits, Run, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import Store, open_store

HEAD = """
id = "toy"
title = "Toy"
description = "A program of a test."
kind = "command"
source = "the tests"
licence = "none"
version = "1"
agent = "program"
"""
COMMAND = """
[command]
argv = ["{python}", "{folder}/program.py"]
"""
RESULT = """
import json, os, pathlib, sys, time
OUTPUT = pathlib.Path(os.environ["BENCHMARK_OUTPUT_ROOT"])
def write(name, value):
    (OUTPUT / name).write_text(value if isinstance(value, str) else json.dumps(value))
"""


class Workshop:
    """Describes and runs one program."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder = folder / "benchmarks" / "toy"
        self.output = folder / "output"
        self.database = folder / "results.sqlite"
        self.store = store

    def describe(self, program: str, command: str = COMMAND, *, head: str = "", parameters: str = "") -> None:
        """Write a program and its descriptor."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "program.py").write_text(RESULT + dedent(program))
        (self.folder / "benchmark.toml").write_text(HEAD + head + dedent(command) + dedent(parameters))

    def reference(self, parameters: Mapping[str, Any] | None = None, *, output: Path | None = None) -> BenchmarkRef:
        """Return where the engine finds it."""
        known = read_catalogue([self.folder]).find("toy")
        (settings,) = settle([known.descriptor], parameters or {}, [known.descriptor])
        return reference(known, settings.parameters, output or self.output)

    def opened(self, **parameters: Any) -> Benchmark:
        """Return the benchmark."""
        return open_benchmark(self.reference(parameters))

    def spec(self, model: str = "builtin/random", trials: int = 1, count: int | None = None, **more: Any) -> RunSpec:
        """Return what to run."""
        parameters, limits = more.pop("parameters", {}), more.pop("limits", Limits())
        benchmark = more.pop("benchmark", None) or self.reference(parameters)
        settings = ModelSettings(model, max_tokens=77, **more)
        return RunSpec(
            benchmark, settings, AgentSettings("program"), Selection(None, count, trials), limits, parallel=4
        )

    async def run(self, spec: RunSpec | None = None, *observers: Observer, **more: Any) -> Run:
        """Run it."""
        control = more.pop("control", None)
        settings = session.SessionOptions(backoff=Backoff(base=0.0), secrets=more.pop("secrets", None))
        return await session.run(spec or self.spec(**more), self.store, observers, control=control, settings=settings)

    async def resume(self, run: Run | str, *, retry_failed: bool = False) -> Run:
        """Go on with a run."""
        settings = session.SessionOptions(retry_failed, backoff=Backoff(base=0.0))
        return await session.resume(run if isinstance(run, str) else run.id, self.store, settings=settings)

    def episodes(self, run: Run) -> list[Episode]:
        """Return all episodes of a run, in the order of the plan."""
        return list(self.store.episodes.list(run.id, limit=1000).items)

    def events(self, episode: Episode, *kinds: Kind) -> list[Event]:
        """Return the events of an episode, of these kinds if any are given."""
        return [event for event in self.store.traces.events(episode.id) if not kinds or event.kind in kinds]

    def attempts(self) -> list[str]:
        """Return the names of the attempts' directories."""
        return sorted(path.name for path in self.output.iterdir())


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty store to copy."""
    path = tmp_path_factory.mktemp("store") / "empty.sqlite"
    open_store(path).close()
    return path


@pytest.fixture
def shop(tmp_path: Path, empty_store: Path) -> Iterator[Workshop]:
    """Return the workshop."""
    store = open_store(Path(shutil.copy(empty_store, tmp_path / "results.sqlite")))
    yield Workshop(tmp_path, store)
    store.close()
