"""Built environments as a worker finds them: rows in the store, files on this machine, adapters in real sandboxes."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.ids import new_id
from mesocosm.core.run import BenchmarkRef
from mesocosm.environments.manifest import content_digest, load_manifest
from mesocosm.server import adapters
from mesocosm.server.builds.directory import build_directory
from mesocosm.server.service import Service
from mesocosm.server.settings import read_settings
from mesocosm.store import open_store
from mesocosm.store.environments import BuildState, EnvironmentRow, VersionRow

ADAPTER = """
import json, os, socket, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = int(sys.argv[sys.argv.index("--port") + 1])

def connected():
    try:
        socket.create_connection(("1.1.1.1", 53), 1).close()
    except OSError as error:
        return str(error)
    return "connected"

def reset(body):
    return {"pid": os.getpid(), "environment": dict(os.environ), "network": connected()}

def step(body):
    if body["action"] == "crash":
        print("the sky is falling", file=sys.stderr, flush=True)
        os._exit(3)
    return {"observation": {"pid": os.getpid()}, "reward": 1, "done": True}

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.answer({"status": "ok"})
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or "{}")
        self.answer({"/reset": reset, "/step": step}.get(self.path, lambda body: {})(body))
    def answer(self, document):
        data = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def log_message(self, *words):
        pass

ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
"""
"""An environment that needs nothing but Python; the action `crash` ends it."""

MANIFEST: dict[str, Any] = {
    "name": "Small",
    "adapter": "adapter.py",
    "binding_vow": {
        "version": "1.0.0",
        "tier": "tier1",
        "observation_space": {"type": "json"},
        "action_space": {"type": "text", "enum_values": ["on", "crash"]},
        "reward": {"type": "scalar"},
        "episode": {"max_steps": 5},
    },
    "scoring": {
        "primary_metric": "reward",
        "metrics": [{"name": "reward", "type": "episode_reward", "aggregation": "mean"}],
    },
}


class Stock:
    """A platform with environments that are built already."""

    adapter = ADAPTER
    manifest = MANIFEST

    def __init__(self, folder: Path, **given: Any) -> None:
        settings = read_settings(data_dir=folder / "data", **given)
        self.service = Service(settings, open_store(folder / "results"))

    def built(self, adapter: str = ADAPTER, **changes: Any) -> BenchmarkRef:
        """Return how a run names a new environment, of which one version is built."""
        environment_id, text = new_id(), json.dumps({**MANIFEST, **changes})
        place = build_directory(self.service.settings, environment_id, 1)
        place.source.mkdir(parents=True)
        (place.source / "benchanything.json").write_text(text)
        (place.source / "adapter.py").write_text(adapter)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", place.packages], check=True)
        digest = content_digest(load_manifest(place.source))
        place.complete("benchanything.json", digest)
        row = EnvironmentRow(id=environment_id, holder_key="user:1", status="ready", ready_version=1)
        version = VersionRow(
            environment_id=environment_id, version=1, state=BuildState.READY, manifest=text, digest=digest
        )
        self.service.store.environments.add(row, version)
        return BenchmarkRef("hosted", "small", {"environment": environment_id, "version": 1})


OpenStock = Callable[..., Stock]


@pytest.fixture
async def open_stock(tmp_path: Path, put_empty_store: Callable[[Path], Path]) -> AsyncIterator[OpenStock]:
    """Return what opens a platform with other settings."""
    opened: list[Stock] = []

    def make(**given: Any) -> Stock:
        put_empty_store(tmp_path / "results")
        opened.append(Stock(tmp_path, **given))
        return opened[-1]

    yield make
    for stock in opened:
        stock.service.store.close()


@pytest.fixture
def stock(open_stock: OpenStock) -> Stock:
    """A platform with its ordinary settings."""
    return open_stock()


OpenPool = Callable[..., adapters.AdapterPool]


@pytest.fixture
async def open_pool() -> AsyncIterator[OpenPool]:
    """Return what makes this process a worker of a platform."""
    opened: list[adapters.AdapterPool] = []

    def make(stock: Stock, **given: Any) -> adapters.AdapterPool:
        opened.append(adapters.AdapterPool(stock.service, **given))
        adapters.bind(stock.service, opened[-1])
        return opened[-1]

    yield make
    for pool in opened:
        await pool.close()
