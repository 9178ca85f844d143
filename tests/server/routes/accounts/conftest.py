"""Browsers that keep cookies, before a platform."""

from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
import pytest

ADDRESS = "http://127.0.0.1:8010"


class Browser:
    """Somebody with cookies. Its requests look like those of programs unless they bring `Origin`."""

    def __init__(self, hosted: Any, **given: Any) -> None:
        self._portal = hosted.portal
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


@pytest.fixture
def browse(hosted: Any) -> Callable[..., Browser]:
    """Return what opens a browser before the platform."""
    return partial(Browser, hosted)


@pytest.fixture
def make_browser() -> Callable[..., Browser]:
    """Return what opens a browser before any platform."""
    return Browser
