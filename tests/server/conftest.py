"""Recorded runs, and the API over them: as an application, and as a server on loopback."""

import contextlib
import io
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import msgspec
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from mesocosm.cli.main import call
from mesocosm.core.entry import Blob, Chunk, Entry
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Event, Kind
from mesocosm.core.ids import digest, new_id
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Counts, Run, RunSpec, RunStatus
from mesocosm.core.score import MetricResult, Score
from mesocosm.core.usage import Usage
from mesocosm.server.app import create_app
from mesocosm.server.service import local_service
from mesocosm.server.serving import Server, listen, new_server, url_of
from mesocosm.store import Store, open_store

EXAMPLES = Path(__file__).parents[2] / "examples"
ADDRESS = "http://127.0.0.1:8877"
METRICS = {"metrics": [{"name": "solved", "score": "solved", "aggregation": "mean", "primary": True}]}


def record(results: Path, example: str, model: str, episodes: int) -> None:
    """Play an example."""
    words = ["run", "local", "--manifest", str(EXAMPLES / example / "benchanything.json"), "--model", model]
    words += ["--episodes", str(episodes), "--results-dir", str(results), "--parallel", "3", "--quiet", "--json"]
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = call(words)
    assert code == 0, out.getvalue()


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results with three recorded runs of examples. Do not change them."""
    results = tmp_path_factory.mktemp("recorded") / "results"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MESOCOSM_", "OLLAMA_"))}
    with patch.dict(os.environ, kept, clear=True):
        record(results, "word-game", "builtin/random", 6)
        record(results, "word-game", "builtin/oracle", 6)
        record(results, "grid-world", "builtin/random", 2)
    return results


@pytest.fixture(scope="session")
def store(recorded: Path) -> Iterator[Store]:
    """The store of the recorded runs. Do not change it."""
    opened = open_store(recorded)
    yield opened
    opened.close()


@pytest.fixture
def changing(recorded: Path, tmp_path: Path) -> Iterator[Store]:
    """A copy of the store of the recorded runs, which may be changed."""
    opened = open_store(shutil.copytree(recorded, tmp_path / "results"))
    yield opened
    opened.close()


class ApiClient:
    """A client of the API in this process; a defect is an answer with status 500."""

    def __init__(self, store: Store, portal: BlockingPortal, *, host: str = "127.0.0.1", **given: Any) -> None:
        self.app = create_app(local_service(store, host), **given)
        self._portal = portal
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url=ADDRESS)

    def request(self, method: str, path: str, **given: Any) -> httpx.Response:
        """Return an answer."""
        return self._portal.call(partial(self._client.request, method, path, **given))

    def get(self, path: str, **given: Any) -> httpx.Response:
        """Return what is there."""
        return self.request("GET", path, **given)


@contextlib.contextmanager
def client_of(store: Store, **given: Any) -> Iterator[ApiClient]:
    """Open a client of the API over a store."""
    with start_blocking_portal() as portal:
        yield ApiClient(store, portal, **given)


@pytest.fixture(scope="session")
def client(store: Store) -> Iterator[ApiClient]:
    """A client of the API over the recorded runs."""
    with client_of(store) as opened:
        yield opened


OpenClient = Callable[..., ApiClient]


@pytest.fixture
def open_client() -> Iterator[OpenClient]:
    """Return what opens a client over a store with other settings."""
    with contextlib.ExitStack() as stack:
        yield lambda store, **given: stack.enter_context(client_of(store, **given))


@pytest.fixture
def writer(changing: Store) -> Iterator[ApiClient]:
    """A client of the API over runs that may be changed."""
    with client_of(changing) as opened:
        yield opened


@dataclass
class Running:
    """A server in a thread of this process."""

    url: str
    server: Server
    thread: threading.Thread

    def get(self, path: str, **given: Any) -> httpx.Response:
        """Return an answer."""
        return httpx.get(f"{self.url}{path}", timeout=60, trust_env=False, **given)

    def end(self) -> float:
        """End the server and return how many seconds that took."""
        begun = time.monotonic()
        self.server.should_exit = True
        self.thread.join(60)
        assert not self.thread.is_alive()
        return time.monotonic() - begun


@contextlib.contextmanager
def running(store: Store, **given: Any) -> Iterator[Running]:
    """Serve a store on a free port while the block runs."""
    ready = threading.Event()
    listening = listen(port=0)
    server = new_server(store, ready=ready.set, **given)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    assert ready.wait(60)
    opened = Running(url_of(listening), server, thread)
    try:
        yield opened
    finally:
        if thread.is_alive():
            opened.end()


@pytest.fixture(scope="session")
def served(store: Store) -> Iterator[Running]:
    """A server of the recorded runs."""
    with running(store) as opened:
        yield opened


Serve = Callable[..., contextlib.AbstractContextManager[Running]]


@pytest.fixture
def serve() -> Serve:
    """Return what serves a store while a block runs."""
    return running


class Records:
    """Makes records of any content and writes them into a store."""

    def run(self, **given: Any) -> Run:
        """Return a finished run of one episode that is not stored yet."""
        metric = MetricResult("solved", "mean", 1.0, 0.5, 1.0, "wilson", 1, 1, 1, primary=True)
        now = time.time()
        fields: dict[str, Any] = {
            "id": new_id(),
            "signature": digest("words"),
            "benchmark": "words",
            "benchmark_title": "Word game",
            "benchmark_version": "1.0",
            "benchmark_digest": digest("content"),
            "kind": "environment",
            "model": "builtin/random",
            "agent": "loop",
            "spec": RunSpec(BenchmarkRef("environment", "/words.json"), ModelSettings("builtin/random")),
            "status": RunStatus.FINISHED,
            "counts": Counts(planned=1, completed=1),
            "metrics": (metric,),
            "created_at": now - 10,
            "started_at": now - 9,
            "ended_at": now - 1,
            "info": METRICS,
        }
        return Run(**(fields | given))

    def episode(self, run: Run, **given: Any) -> Episode:
        """Return a completed episode."""
        fields: dict[str, Any] = {
            "id": new_id(),
            "run_id": run.id,
            "task_digest": digest({"task": given.get("index", 0)}),
            "task_id": "seed-0",
            "status": EpisodeStatus.COMPLETED,
            "started_at": 1.5,
            "ended_at": 2.5,
            "steps": 1,
            "usage": Usage(100, 10, 4, 2, 0.25, 1),
            "scores": (Score("solved", 1.0),),
        }
        return Episode(**(fields | given))

    def chunks(self, events: Sequence[tuple[int, Kind, Any]], size: int = 100) -> list[Chunk]:
        """Return events, each a step, a kind and a payload, as chunks."""
        chunks = []
        for seq, first in enumerate(range(0, len(events), size)):
            some = events[first : first + size]
            lines = [msgspec.json.encode(Event(first + n, step, 0.5, *rest)) for n, (step, *rest) in enumerate(some)]
            raw = b"\n".join(lines) + b"\n"
            chunks.append(Chunk(seq, first, first + len(some) - 1, some[0][0], some[-1][0], raw))
        return chunks

    async def write(
        self,
        store: Store,
        run: Run,
        episodes: Sequence[Episode],
        events: Sequence[tuple[int, Kind, Any]] = (),
        blobs: Sequence[Blob] = (),
    ) -> Run:
        """Store a run with its episodes, each with the same events, and leave it with the status that it has."""
        return await self.write_each(store, run, episodes, [events] * len(episodes), blobs)

    async def write_each(
        self,
        store: Store,
        run: Run,
        episodes: Sequence[Episode],
        traces: Sequence[Sequence[tuple[int, Kind, Any]]],
        blobs: Sequence[Blob] = (),
    ) -> Run:
        """Store a run with its episodes, each with its own events."""
        kept = msgspec.structs.replace(run)
        store.runs.add(msgspec.structs.replace(run, status=RunStatus.PENDING))
        store.leases.take(run.id, store.leases.owner())
        journal = store.journal(run.id, store.leases.owner(), lambda _: None, lambda: None)
        for episode, events in zip(episodes, traces, strict=True):
            episode.events = len(events)
            journal.write(Entry(episode, self.chunks(events), blobs))
        await journal.close()
        store.runs.save(kept)
        store.leases.release(run.id, store.leases.owner())
        return store.runs.get(run.id)


@pytest.fixture(scope="session")
def records() -> Records:
    """Return the maker of records."""
    return Records()


@pytest.fixture(scope="session")
def run_id(client: ApiClient) -> str:
    """The id of the run of the grid world: two episodes, many steps."""
    return str(client.get("/api/runs", params={"benchmark": "grid-world"}).json()["items"][0]["id"])


@pytest.fixture(scope="session")
def episode_id(client: ApiClient, run_id: str) -> str:
    """The id of its first episode."""
    return str(client.get(f"/api/runs/{run_id}/episodes").json()["items"][0]["id"])
