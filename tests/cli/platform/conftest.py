"""A platform on loopback, served as in earnest, and people who log in to it with command lines."""

import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from mesocosm.client.credentials import Credentials, read, write
from mesocosm.client.identity import claims
from mesocosm.platform.accounts.passwords import Passwords
from mesocosm.platform.bench.app import create_platform
from mesocosm.platform.service import Service
from mesocosm.platform.settings import read_settings
from mesocosm.store import open_store

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Outcome

PASSWORD = "correct horse battery staple"
PATIENCE = 20.0


@functools.cache
def hashed() -> str:
    """Return the hash of PASSWORD, which takes its time, once."""
    return Passwords().hash(PASSWORD)


class Server(uvicorn.Server):
    """A server that says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        self.ready.set()


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
            self.tokens[name] = self.service.accounts.access_token(self.service.users.add(name, role=role))
        return self.tokens[name]

    def add_with_password(self, name: str) -> None:
        """Add somebody who can log in with PASSWORD."""
        self.service.users.add(name, password_hash=hashed())

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
        server.should_exit = True
        thread.join()


@pytest.fixture
def open_platform(tmp_path: Path, mesocosm: "Invoke") -> Iterator[Open]:
    """Return what serves a platform with other settings."""
    with contextlib.ExitStack() as stack:

        def opened(**given: Any) -> Platform:
            settings = read_settings(data_dir=tmp_path / "data", **{"cooldown_s": 0.0, **given})
            store = open_store(tmp_path / "platform")
            stack.callback(store.close)
            service = Service(settings, store)
            return Platform(service, stack.enter_context(served(create_platform(service))), mesocosm)

        yield opened


@pytest.fixture
def platform(open_platform: Open) -> Platform:
    """A platform with its ordinary settings, but no cooldown; nobody is logged in."""
    opened = open_platform()
    opened.nobody()
    return opened
