"""Repositories on this disk that stand in for those of others, and builds of them in real sandboxes."""

import asyncio
import json
import os
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.ids import new_id
from mesocosm.server.builds.build import build
from mesocosm.server.builds.directory import BuildDirectory
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.service import Service
from mesocosm.server.settings import read_settings
from mesocosm.store import open_store
from mesocosm.store.environments import EnvironmentRow, VersionRow

ADAPTER = """
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = int(sys.argv[sys.argv.index("--port") + 1])

def health(body):
    return 200, {"status": "ok"}

def reset(body):
    return 200, {"left": 3}

def step(body):
    return 200, {"observation": {"left": 2}, "reward": 1, "terminated": True, "truncated": False, "info": {}}

#HERE

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.answer(health, {})
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or "{}")
        calls = {"/reset": reset, "/step": step, "/close": lambda body: (200, {})}
        self.answer(calls.get(self.path, lambda body: (404, {"detail": "unknown"})), body)
    def answer(self, call, body):
        status, document = call(body)
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def log_message(self, *words):
        pass

ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
"""
"""An environment that needs nothing but Python; what stands for #HERE changes it."""

VOW: dict[str, Any] = {
    "version": "1.0.0",
    "tier": "tier1",
    "observation_space": {"type": "json", "schema": {"type": "object", "required": ["left"]}},
    "action_space": {"type": "text", "enum_values": ["left", "right"]},
    "reward": {"type": "binary", "range": {"low": 0, "high": 1}},
    "episode": {"max_steps": 5, "deterministic_reset": True},
}
MANIFEST: dict[str, Any] = {
    "name": "Words",
    "adapter": "adapter.py",
    "binding_vow": VOW,
    "scoring": {
        "primary_metric": "reward",
        "metrics": [{"name": "reward", "type": "episode_reward", "aggregation": "mean"}],
    },
}


def adapter(changed: str = "") -> str:
    """Return an adapter with some of it replaced."""
    return ADAPTER.replace("#HERE", changed)


def manifest(**changed: Any) -> str:
    """Return a manifest with other keys; None leaves one out."""
    return json.dumps({name: value for name, value in {**MANIFEST, **changed}.items() if value is not None})


def vow(**changed: Any) -> dict[str, Any]:
    """Return a vow with other keys."""
    return {**VOW, **changed}


def wheel(folder: Path, name: str, version: str, *requires: str, module: bool = True) -> None:
    """Write a wheel of one module that knows its version, or of none."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {one}\n" for one in requires)
    contents = {
        **({f"{name}.py": f"VERSION = {version!r}\n"} if module else {}),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in (*contents, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in {**contents, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)


class Repository:
    """A git repository on this disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> str:
        """Run git as somebody."""
        me = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(self.path)}
        for role in ("AUTHOR", "COMMITTER"):
            me |= {f"GIT_{role}_NAME": "Somebody", f"GIT_{role}_EMAIL": "somebody@example.org"}
        done = subprocess.run(
            ["git", *words], cwd=self.path, env={**os.environ, **me}, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, files: Mapping[str, str | bytes], message: str = "change") -> str:
        """Write files and commit them; return the commit."""
        for name, content in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


Repositories = Callable[..., Repository]


@pytest.fixture
def repository(tmp_path: Path) -> Repositories:
    """Return what makes a repository with files in one commit; without any it is a working environment."""

    def made(files: Mapping[str, str | bytes] | None = None, name: str = "repository") -> Repository:
        found = Repository(tmp_path / name)
        found.commit({"benchanything.json": manifest(), "adapter.py": adapter()} if files is None else files)
        return found

    return made


class Builder:
    """Submits repositories of this disk and builds them, as a worker does."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def submit(self, source: str, **given: Any) -> EnvironmentRow:
        """Queue a version."""
        wanted = EnvironmentRow(
            **{"id": new_id(), "holder_key": "user:1", "source": source, "created_at": time.time(), **given}
        )
        found = self.service.store.environments.submit(wanted, most=9).environment
        assert found is not None
        return found

    def claim(self) -> VersionRow:
        """Take the next version."""
        version = self.service.store.environments.claim_build("worker", 30.0)
        assert version is not None
        return version

    def build(self, source: str, **given: Any) -> VersionRow:
        """Submit and build; return what came of it."""
        row = self.submit(source, **given)
        version = self.claim()
        asyncio.run(build(self.service, version))
        found = self.service.store.environments.version(row.id, version.version)
        assert found is not None
        return found


OpenBuilder = Callable[..., Builder]


@pytest.fixture
def open_builder(tmp_path: Path, put_empty_store: Callable[[Path], Path]) -> Iterator[OpenBuilder]:
    """Return what opens a platform with other settings."""
    store = open_store(put_empty_store(tmp_path / "results"))

    def opened(**given: Any) -> Builder:
        chosen = {"data_dir": tmp_path / "data", "local_git": True, "start_s": 20.0, "step_s": 5.0, **given}
        return Builder(Service(read_settings(**chosen), store))

    yield opened
    store.close()


@pytest.fixture
def builder(open_builder: OpenBuilder) -> Builder:
    """A platform that takes repositories of this disk."""
    return open_builder()


@pytest.fixture
def directory(tmp_path: Path) -> BuildDirectory:
    """An empty directory to build in."""
    found = BuildDirectory(tmp_path / "version")
    found.folder.mkdir()
    return found


@pytest.fixture
def log(directory: BuildDirectory) -> BuildLog:
    """The log of a build there."""
    return BuildLog(directory.folder)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with packages in place of an index, by the operator's variables."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    wheel(folder, "sunfish", "1.0")
    wheel(folder, "sunfish", "2.0")
    wheel(folder, "needy", "1.0", "nowhere-to-be-found")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder
