"""The web app's files: one page for all addresses, assets that are kept, nothing from elsewhere."""

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mesocosm.store import SqlStore

if TYPE_CHECKING:
    from tests.platform.conftest import ApiClient, OpenClient

SCRIPT = "console.log('here');" * 200


@pytest.fixture
def viewer(tmp_path: Path) -> Path:
    """A built web app, with something that must not be served beside it."""
    built = tmp_path / "viewer"
    (built / "assets").mkdir(parents=True)
    (built / "index.html").write_text("<!doctype html><title>app</title>")
    (built / "assets" / "app-1a2b.js").write_text(SCRIPT)
    (built / "favicon.svg").write_text("<svg/>")
    (tmp_path / "secret.txt").write_text("secret")
    (built / "assets" / "link.txt").symlink_to(tmp_path / "secret.txt")
    return built


@pytest.fixture
def app(open_client: "OpenClient", store: SqlStore, viewer: Path) -> "ApiClient":
    """A client of a server with that web app."""
    return open_client(store, viewer=viewer)


@pytest.mark.parametrize("path", ["/", "/runs", "/runs/01a/episodes/02b?q=x", "/compare?run=a&run=b", "/index.html"])
def test_every_address_of_the_app_is_its_page(app: "ApiClient", path: str) -> None:
    answer = app.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "private, no-cache"
    assert "<title>app</title>" in answer.text


def test_assets_are_kept_for_good(app: "ApiClient") -> None:
    answer = app.get("/assets/app-1a2b.js")
    assert answer.text == SCRIPT
    assert "immutable" in answer.headers["cache-control"]
    assert "javascript" in answer.headers["content-type"]
    assert app.get("/favicon.svg").headers["cache-control"] == "private, no-cache"


@pytest.mark.parametrize("accepted", ["gzip", "identity"])
def test_assets_are_packed_for_who_takes_it(app: "ApiClient", accepted: str) -> None:
    answer = app.get("/assets/app-1a2b.js", headers={"Accept-Encoding": accepted})
    assert answer.text == SCRIPT
    assert answer.headers.get("content-encoding", "identity") == accepted
    assert answer.headers["vary"] == "Accept-Encoding"
    assert (int(answer.headers["content-length"]) < len(SCRIPT)) == (accepted == "gzip")


def test_files_that_the_build_packed_are_sent_as_they_are(app: "ApiClient", viewer: Path) -> None:
    packed = gzip.compress(b"console.log('packed')")
    (viewer / "assets" / "app-1a2b.js.gz").write_bytes(packed)
    answer = app.get("/assets/app-1a2b.js", headers={"Accept-Encoding": "gzip"})
    assert answer.text == "console.log('packed')"
    assert "javascript" in answer.headers["content-type"]


def test_a_page_that_is_known_is_not_sent_again(app: "ApiClient") -> None:
    first = app.get("/")
    again = app.get("/", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/assets/none.js",
        "/none.txt",
        "/../secret.txt",
        "/assets/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/assets/..%5c..%5csecret.txt",
        "/assets/link.txt",
        "//etc/passwd.txt",
        "/assets/%00.js",
        "/assets/" + "x" * 5_000 + ".js",
    ],
)
def test_nothing_else_is_served(app: "ApiClient", path: str) -> None:
    answer = app.get(path)
    assert answer.status_code == 404
    assert "secret" not in answer.text.replace("secret.txt", "")


def test_without_a_build_the_page_says_so(open_client: "OpenClient", store: SqlStore, tmp_path: Path) -> None:
    answer = open_client(store, viewer=tmp_path / "none").get("/runs/x")
    assert answer.status_code == 200
    assert "not built" in answer.text
    assert "/v1/openapi.json" in answer.text
