"""A platform on loopback, served as in earnest, and people who log in to it with command lines."""

import asyncio
import contextlib
import functools
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from tests.server.shared_routes import platform_over

from mesocosm.client import Client, transport
from mesocosm.client import datasets as client_datasets
from mesocosm.client.credentials import Credentials, read, write
from mesocosm.client.identity import claims
from mesocosm.server import adapters
from mesocosm.server.auth.passwords import Passwords
from mesocosm.server.service import Service
from mesocosm.server.settings import read_settings
from mesocosm.server.workers import worker
from mesocosm.server.workers.dataset_checks import check_dataset_version
from mesocosm.store import datasets as store_datasets
from mesocosm.store import open_store

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Outcome

PASSWORD = "correct horse battery staple"
PATIENCE = 120.0


@functools.cache
def hashed() -> str:
    """Return the hash of PASSWORD, which takes its time, once."""
    return Passwords().hash(PASSWORD)


class Server(uvicorn.Server):
    """A server that says when it listens, and ends as soon as it is told to: uvicorn's own takes 0.2 s."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        self._over = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.ready.set()

    async def main_loop(self) -> None:
        """Answer, with the time of day, until the end."""
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), 0.5)

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Answer what was asked, and no more."""
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while self.server_state.connections or self.server_state.tasks:  # noqa: ASYNC110 -- uvicorn has no event for it
            await asyncio.sleep(0.002)

    def end(self) -> None:
        """Let it end."""
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._over.set)


@dataclass
class Platform:
    """A platform that answers at `url`; login server and API are one. `run` gives it a command line of somebody."""

    service: Service
    url: str
    run: "Invoke"
    tokens: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, role: str = "member") -> str:
        """Add somebody without a password, which takes its time, and return a token of theirs."""
        if name not in self.tokens:
            self.tokens[name] = self.service.accounts.access_token(self.service.store.users.add(name, role=role))
        return self.tokens[name]

    def add_with_password(self, name: str) -> None:
        """Add somebody who can log in with PASSWORD."""
        self.service.store.users.add(name, password_hash=hashed())

    def expired(self, name: str) -> str:
        """Return a token of somebody's that has ended."""
        now = int(time.time())
        return self.service.accounts.signer.sign({**claims(self.add(name)), "iat": now - 120, "exp": now - 60})

    def is_now(self, name: str) -> None:
        """Let the command lines that follow be those of a member, as after a login."""
        team = read().active_team_id
        write(Credentials("member", self.add(name), self.url, self.url, team, username=name))

    def nobody(self) -> None:
        """Let the command lines that follow be those of nobody in particular."""
        write(Credentials(server_url=self.url, bench_url=self.url))

    def __call__(self, *words: str | Path, stdin: str = "") -> "Outcome":
        """Run a command line."""
        return self.run(*words, stdin=stdin)


Open = Callable[..., Platform]


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the login of whoever runs the tests out of them; return where it is kept instead."""
    for name in [name for name in os.environ if name.startswith(("MESOCOSM_", "SWECC_", "BENCH_"))]:
        if "TEST" not in name:
            monkeypatch.delenv(name)
    place = tmp_path / "login" / "credentials.json"
    monkeypatch.setenv("SWECC_BENCH_CREDENTIALS", str(place))
    monkeypatch.chdir(tmp_path)
    return place


@contextlib.contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve an application at a free port and give its URL."""
    server = Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert server.ready.wait(PATIENCE)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.end()
        thread.join()


@pytest.fixture(autouse=True)
def polled_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody wait for the next look of a client or a worker."""
    monkeypatch.setattr(transport, "FIRST_S", 0.02)
    monkeypatch.setattr(worker, "POLL_S", 0.05)


@pytest.fixture
def open_platform(tmp_path: Path, mesocosm: "Invoke", put_empty_store: Callable[[Path], Path]) -> Iterator[Open]:
    """Return what serves a platform with other settings."""
    with contextlib.ExitStack() as stack:

        def opened(**given: Any) -> Platform:
            settings = read_settings(data_dir=tmp_path / "data", **{"cooldown_s": 0.0, **given})
            store = open_store(put_empty_store(tmp_path / "platform"))
            stack.callback(store.close)
            service = Service(settings, store)
            return Platform(service, stack.enter_context(served(platform_over(service))), mesocosm)

        yield opened


@pytest.fixture
def platform(open_platform: Open) -> Platform:
    """A platform with its ordinary settings, but no cooldown; nobody is logged in."""
    opened = open_platform()
    opened.nobody()
    return opened


class World:
    """An environment on loopback: one step an episode, worth 0.5; with `hold`, no step is answered until `release`."""

    def __init__(self) -> None:
        self.hold = False
        self.reached = threading.Event()
        self.release = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Answers, self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def stepped(self) -> dict[str, Any]:
        """Return the answer to a step."""
        self.reached.set()
        if self.hold:
            self.release.wait(PATIENCE)
        return {"observation": {"board": "end"}, "reward": 0.5, "terminated": True}


class _Answers(BaseHTTPRequestHandler):
    def __init__(self, world: World, *given: Any) -> None:
        self.world = world
        super().__init__(*given)

    def do_GET(self) -> None:
        self._answer({"status": "ok"})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        known = {"/reset": {"data": {"board": "start"}}}
        self._answer(self.world.stepped() if self.path == "/step" else known.get(self.path, {}))

    def _answer(self, value: object) -> None:
        data = json.dumps(value).encode()
        with contextlib.suppress(OSError):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def world() -> Iterator[World]:
    """An environment that answers on loopback."""
    opened = World()
    yield opened
    opened.close()


def domain_of(url: str, domain_id: str = "word-game", **given: Any) -> dict[str, Any]:
    """Return the configuration of a domain whose environment is at an address."""
    return {
        "id": domain_id,
        "name": "The word game",
        "binding_vow": {
            "id": f"{domain_id}-vow",
            "domain_id": domain_id,
            "version": "1.0.0",
            "tier": "tier1",
            "observation_space": {"type": "json"},
            "action_space": {"type": "discrete", "enum_values": ["left", "right"]},
            "reward": {"type": "scalar"},
            "episode": {"max_steps": 5},
        },
        "endpoint": {"mode": "remote", "url": url},
        "scoring": {
            "primary_metric": "won",
            "metrics": [{"name": "won", "type": "episode_reward", "aggregation": "mean"}],
        },
        **given,
    }


@contextlib.contextmanager
def working(service: Service) -> Iterator[None]:
    """Let a worker build and play what is queued."""
    ready = threading.Event()
    ends: list[Callable[[], object]] = []

    async def whole() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        ends.append(lambda: loop.call_soon_threadsafe(stop.set))
        ready.set()
        await worker.work(service, stop=stop)

    thread = threading.Thread(target=lambda: asyncio.run(whole()))
    thread.start()
    try:
        assert ready.wait(PATIENCE)
        yield
    finally:
        ends[0]()
        thread.join()


@pytest.fixture
def game(open_platform: Open, world: World) -> Iterator[Platform]:
    """A platform with ada's domain `word-game`, which `world` plays, and a worker; ada is logged in."""
    opened = open_platform(private_env_urls=True)
    adapters.bind(opened.service)
    opened.nobody()
    opened.is_now("ada")
    Client().domains.create(domain_of(world.url))
    with working(opened.service):
        yield opened
        world.release.set()


@pytest.fixture
def reef(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> Iterator[Platform]:
    """A platform whose member Ann has a workspace, and which checks datasets, in small parts, as a worker does."""
    monkeypatch.setattr(store_datasets, "PART_BYTES", 256)
    monkeypatch.setattr(client_datasets, "WAITS", (0.0, 0.0, 0.0))
    platform.is_now("ann")
    assert platform("workspace", "create", "Reef").code == 0
    over = threading.Event()

    def check() -> None:
        while not over.wait(0.01):
            claimed = platform.service.store.datasets.claim_check("worker", 60.0)
            if claimed is not None:
                asyncio.run(check_dataset_version(platform.service, claimed))

    checking = threading.Thread(target=check)
    checking.start()
    yield platform
    over.set()
    checking.join()
