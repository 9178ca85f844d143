"""A platform with an environment that waits when it is told to, and workers as real processes."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.store.conftest import empty_postgres, postgres_schema

from mesocosm.core.ids import new_id
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Run, RunSpec, Selection
from mesocosm.engine import opening
from mesocosm.server import adapters
from mesocosm.server.service import Service
from mesocosm.server.settings import read_settings
from mesocosm.store import open_store
from mesocosm.store.revision import DATABASE_NAME
from mesocosm.store.run_requests import RunRequest

__all__ = ["empty_postgres", "postgres_schema"]

DOMAIN: dict[str, Any] = {
    "id": "waiting",
    "name": "Waiting",
    "binding_vow": {
        "version": "1.0.0",
        "tier": "tier1",
        "observation_space": {"type": "json"},
        "action_space": {"type": "discrete", "enum_values": ["left", "right"]},
        "reward": {"type": "scalar"},
        "episode": {"max_steps": 5},
    },
    "scoring": {
        "primary_metric": "reward",
        "metrics": [{"name": "reward", "type": "episode_reward", "aggregation": "mean"}],
    },
}
SECONDS = 120.0
"""How long something is waited for until a test fails; nothing takes so long."""


class World:
    """An environment on loopback: one step an episode, which waits while `hold` is set for its seed."""

    def __init__(self) -> None:
        self.resets: list[int] = []
        self.held: set[int] = set()
        self.released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it; steps that wait are answered."""
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, world: World, *given: Any) -> None:
        self.world = world
        super().__init__(*given)

    def do_GET(self) -> None:
        self._answer({"status": "ok"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        world = self.world
        if self.path == "/reset":
            world.resets.append(body["seed"])
            self._answer({"seed": body["seed"]})
        elif self.path == "/step":
            if world.resets[-1] in world.held:
                world.released.wait(SECONDS)
            self._answer({"observation": {}, "reward": 1.0, "done": True})
        else:
            self._answer({})

    def _answer(self, value: Any) -> None:
        data = json.dumps(value).encode()
        try:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            self.close_connection = True  # who asked is gone

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def world() -> Iterator[World]:
    """An environment that runs elsewhere."""
    made = World()
    yield made
    made.close()


@pytest.fixture
def elsewhere() -> Iterator[World]:
    """Another environment, which waits by itself."""
    made = World()
    yield made
    made.close()


class Platform:
    """A platform without its server: a store with orders, and workers that play them."""

    def __init__(self, folder: Path, **given: Any) -> None:
        settings = read_settings(data_dir=folder, private_env_urls=True, lease_s=3.0, **given)
        self.folder = folder
        self._database: str = given.get("database_url", "")
        self.service = Service(settings, open_store(self._database or folder / DATABASE_NAME))
        self._started: list[subprocess.Popen[bytes]] = []
        adapters.bind(self.service)

    def order(self, url: str, seeds: tuple[int, ...], *, actor: str = "user:1", **given: Any) -> str:
        """Queue a run of the environment at `url`; return its id."""
        options = {"env_url": url, "domain": given.pop("domain", DOMAIN)}
        return self.order_of(BenchmarkRef("hosted", "waiting", options), seeds, actor=actor, **given)

    def order_of(self, ref: BenchmarkRef, seeds: tuple[int, ...], *, actor: str = "user:1", **given: Any) -> str:
        """Queue a run of any benchmark; return its id."""
        parallel, model = given.pop("parallel", 1), given.pop("model", "builtin/random")
        spec = RunSpec(ref, ModelSettings(model), selection=Selection(seeds), parallel=parallel)
        parts = opening.open_parts(spec)
        run = opening.new_run(spec, parts)
        self.service.store.runs.add(run)
        fields = {"domain_id": ref.source, "vow_version": "1.0.0", "model": model, "created_at": time.time()}
        self.service.store.run_requests.add(RunRequest(run_id=run.id, actor=actor, **fields, **given))
        return run.id

    def worker(self, *words: str, **variables: str) -> subprocess.Popen[bytes]:
        """Start a worker."""
        return self._start("worker", *words, **variables)

    def server(self) -> subprocess.Popen[bytes]:
        """Start a server with one worker."""
        return self._start("serve", "--json", "--port", "0", "--login-port", "0", "--workers", "1")

    def kill_pid(self, pid: int) -> None:
        """Kill a worker that a server of ours started."""
        os.kill(pid, signal.SIGKILL)

    def _start(self, *words: str, **variables: str) -> subprocess.Popen[bytes]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MESOCOSM_")}
        ours = {"MESOCOSM_DATA_DIR": str(self.folder), "MESOCOSM_LEASE_S": "3", "MESOCOSM_PRIVATE_ENV_URLS": "true"}
        if self._database:
            ours["MESOCOSM_DATABASE_URL"] = self._database
        process = subprocess.Popen(
            [sys.executable, "-m", "mesocosm", *words],
            env={**kept, **ours, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._started.append(process)
        return process

    def run(self, run_id: str) -> Run:
        """Return a run as it is stored."""
        return self.service.store.runs.get(run_id)

    def order_state(self, run_id: str) -> str:
        """Return the state of the order of a run."""
        order = self.service.store.run_requests.get(run_id)
        assert order is not None
        return order.state

    def seeds_of(self, run_id: str) -> list[int]:
        """Return the seeds of the finished episodes of a run, sorted."""
        listed = self.service.store.episodes.search(run_id, limit=100).items
        return sorted(episode.seed or 0 for episode in listed if episode.status in {"completed", "failed"})

    def close(self) -> None:
        """Kill what was started."""
        for process in self._started:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        self.service.store.close()


@pytest.fixture
def open_platform(tmp_path: Path, put_empty_store: Callable[[Path], Path]) -> Iterator[Callable[..., Platform]]:
    """Return what opens the platform with other settings."""
    opened: list[Platform] = []

    def make(**given: Any) -> Platform:
        opened.append(Platform(put_empty_store(tmp_path / "data"), **given))
        return opened[-1]

    yield make
    for platform in opened:
        platform.close()


@pytest.fixture
def platform(open_platform: Callable[..., Platform]) -> Platform:
    """A platform over an empty store."""
    return open_platform()


def eventually(true: Callable[[], bool], what: str = "it") -> None:
    """Return once `true` says so; another process decides when that is."""
    deadline = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < deadline, f"{what} did not come true within {SECONDS:g} s"
        threading.Event().wait(0.02)


@pytest.fixture(name="eventually")
def eventually_fixture() -> Callable[..., None]:
    """Return what waits for another process."""
    return eventually


@pytest.fixture
def kill() -> Callable[[subprocess.Popen[bytes]], None]:
    """Return what ends a process as the machine would: without asking it."""

    def done(process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGKILL)
        process.wait()

    return done


@pytest.fixture
def unknown_id() -> str:
    """An id that nothing has."""
    return new_id()
