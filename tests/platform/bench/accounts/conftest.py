"""Browsers that keep cookies, before a platform."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from mesocosm.platform.accounts import passwords
from mesocosm.store import DATABASE_NAME, open_store

ADDRESS = "http://127.0.0.1:8010"


class Browser:
    """Somebody with cookies. Its requests look like those of programs unless they bring `Origin`."""

    def __init__(self, hosted: Any, **given: Any) -> None:
        self._portal = hosted._portal
        client = given.pop("client", ("127.0.0.1", 4000))
        transport = httpx.ASGITransport(hosted.app, raise_app_exceptions=False, client=client)
        self.client = httpx.AsyncClient(transport=transport, **{"base_url": ADDRESS, **given})

    def request(self, method: str, path: str, **given: Any) -> httpx.Response:
        """Return an answer."""
        return self._portal.call(partial(self.client.request, method, path, **given))  # type: ignore[no-any-return]

    def get(self, path: str, **given: Any) -> httpx.Response:
        """Return what is there."""
        return self.request("GET", path, **given)

    def post(self, path: str, body: Any = None, **given: Any) -> httpx.Response:
        """Send JSON; nothing at all where there is no body."""
        return self.request("POST", path, **({} if body is None else {"json": body}), **given)

    @property
    def cookies(self) -> httpx.Cookies:
        """What it was given."""
        return self.client.cookies


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store with nothing in it."""
    place = tmp_path_factory.mktemp("store")
    open_store(place).close()
    return place / DATABASE_NAME


@pytest.fixture(autouse=True)
def made_store(empty_store: Path, tmp_path: Path) -> None:
    """Put an empty store where the platform will look: its schema takes 200 ms to make."""
    (tmp_path / "results").mkdir()
    shutil.copyfile(empty_store, tmp_path / "results" / DATABASE_NAME)


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real hash takes 60 ms; the cost is all that changes."""
    monkeypatch.setattr(passwords, "MEMORY_KIB", 8)
    monkeypatch.setattr(passwords, "PASSES", 1)
    monkeypatch.setattr(passwords, "LANES", 1)


@pytest.fixture
def browse(hosted: Any) -> Callable[..., Browser]:
    """Return what opens a browser before the platform."""
    return partial(Browser, hosted)


@pytest.fixture
def make_browser() -> Callable[..., Browser]:
    """Return what opens a browser before any platform."""
    return Browser
