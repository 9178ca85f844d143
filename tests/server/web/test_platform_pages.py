"""The web app's page in front of a platform: it says where it is, and caches keep it as any other."""

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from mesocosm.server.app import create_app
from mesocosm.server.service import Service
from mesocosm.server.settings import read_settings
from mesocosm.server.web.pages import server_page
from mesocosm.server.web.requests import Prefixed
from mesocosm.store import open_store

ROOT = Path(__file__).parents[3]
PAGE = (
    '<!doctype html><html><head><base href="/" /><title>app</title>'
    '<script type="application/json" id="place">{"mode":"laptop"}</script></head><body></body></html>'
)

Opened = Callable[..., TestClient]


@pytest.fixture
def viewer(tmp_path: Path) -> Path:
    """A built web app with its packed variants, which know nothing of platforms."""
    built = tmp_path / "viewer"
    built.mkdir()
    (built / "index.html").write_text(PAGE)
    (built / "index.html.gz").write_bytes(gzip.compress(PAGE.encode()))
    return built


@pytest.fixture
def opened(tmp_path: Path, viewer: Path) -> Iterator[Opened]:
    """Return what opens a browser before a platform."""
    store = open_store(tmp_path / "results")

    def open_platform(prefix: str = "") -> TestClient:
        settings = read_settings(data_dir=tmp_path / "data", prefix=prefix)
        app = create_app(Service(settings, store), viewer=viewer)
        return TestClient(Prefixed(app, prefix), base_url="http://127.0.0.1:8010", headers={"accept": "text/html"})

    yield open_platform
    store.close()


@pytest.mark.parametrize("path", ["/", "/teams", "/environments/new", "/index.html"])
def test_every_address_of_the_app_says_that_it_is_a_platform(opened: Opened, path: str) -> None:
    answer = opened().get(path)
    assert answer.status_code == 200
    assert '{"mode":"server"}' in answer.text
    assert '{"mode":"laptop"}' not in answer.text


def test_the_page_is_known_again_by_its_own_tag(opened: Opened) -> None:
    client = opened()
    first = client.get("/teams")
    assert first.headers["cache-control"] == "private, no-cache"
    again = client.get("/teams", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304
    assert client.get("/teams", headers={"if-none-match": 'W/"other"'}).status_code == 200


def test_links_of_the_page_begin_at_the_prefix(opened: Opened) -> None:
    assert '<base href="/bench/"' in opened("/bench").get("/teams").text
    assert '<base href="/bench/"' in opened().get("/bench/teams").text
    assert '<base href="/base/"' in opened("/base").get("/base/teams").text
    assert b'<base href="/a&quot;b/"' in server_page(PAGE.encode(), '/a"b')


@pytest.mark.parametrize("prefix", ["", "/base"])
def test_the_api_is_below_bench_too_where_clients_look_who_only_know_the_server(opened: Opened, prefix: str) -> None:
    client = opened(prefix)
    client.headers["accept"] = "*/*"
    for before in ("", "/bench", prefix):
        assert client.get(f"{before}/api/domains").json() == []
        assert client.get(f"{before}/health").json()["status"] == "ok"
    assert client.get("/bench").json()["openapi"] == "/bench/openapi.json"
    assert client.get("/bench/none").status_code == client.get("/bench/bench/v1/runs").status_code == 404
