"""A platform over an empty store, as an application in this process, and people who use it."""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from tests.server.shared_routes import platform_over

from mesocosm.server.auth import passwords
from mesocosm.server.service import Service
from mesocosm.server.settings import Settings, read_settings
from mesocosm.store import open_store

ADDRESS = "http://127.0.0.1:8010"
PASSWORD = "correct horse battery staple"


class Person:
    """Somebody who uses the platform; `token` is empty for nobody in particular."""

    def __init__(self, platform: "Hosted", token: str = "", user_id: int | None = None, name: str = "") -> None:
        self.platform = platform
        self.token = token
        self.user_id = user_id
        self.name = name

    def request(self, method: str, path: str, **given: Any) -> httpx.Response:
        """Return the answer to a request of this person."""
        headers = {**({"Authorization": f"Bearer {self.token}"} if self.token else {}), **given.pop("headers", {})}
        return self.platform.request(method, path, headers=headers, **given)

    def get(self, path: str, **given: Any) -> httpx.Response:
        """Return what is there."""
        return self.request("GET", path, **given)

    def post(self, path: str, body: Any = None, **given: Any) -> httpx.Response:
        """Send JSON."""
        return self.request("POST", path, json=body, **given)


class Hosted:
    """A platform in this process; a defect is an answer with status 500."""

    def __init__(self, service: Service, portal: BlockingPortal) -> None:
        self.service = service
        self.app = platform_over(service)
        self.portal = portal
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url=ADDRESS)

    def request(self, method: str, path: str, **given: Any) -> httpx.Response:
        """Return an answer."""
        # Every request is that of a new visitor, unless it brings cookies itself.
        self._client.cookies.clear()
        return self.portal.call(partial(self._client.request, method, path, **given))

    @property
    def anonymous(self) -> Person:
        """Somebody of whom nothing is known."""
        return Person(self)

    def member(self, name: str, role: str = "member") -> Person:
        """Return a new member."""
        accounts = self.service.accounts
        user = accounts.add_user(name, PASSWORD, role=role)
        return Person(self, accounts.access_token(user), user.id, name)

    def admin(self, name: str = "root") -> Person:
        """Return somebody who runs the platform."""
        return self.member(name, "admin")

    def guest(self) -> Person:
        """Return a new guest."""
        return Person(self, self.service.accounts.new_guest("127.0.0.1").token)


OpenHosted = Callable[..., Hosted]


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real hash takes 60 ms; the cost is all that changes."""
    monkeypatch.setattr(passwords, "MEMORY_KIB", 8)
    monkeypatch.setattr(passwords, "PASSES", 1)
    monkeypatch.setattr(passwords, "LANES", 1)


@pytest.fixture
def open_hosted(tmp_path: Path, put_empty_store: Callable[[Path], Path]) -> Iterator[OpenHosted]:
    """Return what opens a platform with other settings."""
    with contextlib.ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())

        def opened(**given: Any) -> Hosted:
            settings: Settings = read_settings(data_dir=tmp_path / "data", **{"cooldown_s": 0.0, **given})
            store = open_store(put_empty_store(tmp_path / "results"))
            stack.callback(store.close)
            return Hosted(Service(settings, store), portal)

        yield opened


@pytest.fixture
def hosted(open_hosted: OpenHosted) -> Hosted:
    """A platform with its ordinary settings, but no cooldown."""
    return open_hosted()
