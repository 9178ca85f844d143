"""The web app's files: one page for all addresses, assets that are kept, nothing from elsewhere."""

import gzip
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mesocosm.server.web.pages import PAGES, SERVER_PAGES
from mesocosm.store import Store

if TYPE_CHECKING:
    from tests.server.conftest import ApiClient, OpenClient

ROOT = Path(__file__).parents[3]
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
def app(open_client: "OpenClient", store: Store, viewer: Path) -> "ApiClient":
    """A client of a server with that web app."""
    return open_client(store, viewer=viewer)


BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.parametrize(
    "path",
    ["/", "/runs/01a", "/episodes/02b/?q=x", "/compare?run=a&run=b", "/benchmarks/own%2Fwords.v1", "/index.html"],
)
def test_every_address_of_the_app_is_its_page(app: "ApiClient", path: str) -> None:
    answer = app.get(path, headers=BROWSER)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "private, no-cache"
    assert "<title>app</title>" in answer.text


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html;q=0, */*", ""])
@pytest.mark.parametrize(
    "path",
    ["/runs", "/runs/01a", "/bench/api/runs", "/api/other/models", "/chat/completions", "/api/api/runs"],
)
def test_a_program_never_gets_the_page_for_a_path_that_nothing_answers(
    app: "ApiClient", path: str, accept: str
) -> None:
    answer = app.get(path, headers={"Accept": accept})
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert path in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/runs", "/teams", "/none/at/all"])
def test_a_browser_gets_the_page_with_404_where_the_app_has_none(app: "ApiClient", path: str) -> None:
    answer = app.get(path, headers=BROWSER)
    assert (answer.status_code, answer.headers["cache-control"]) == (404, "no-store")
    assert "<title>app</title>" in answer.text


@pytest.mark.parametrize("path", ["/api/none", "/api", "/bench/api/runs", "/none.txt", "/assets/none"])
def test_a_browser_gets_a_document_below_the_api_and_for_a_file_that_is_not_there(app: "ApiClient", path: str) -> None:
    answer = app.get(path, headers=BROWSER)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "status", "allow"),
    [
        ("PUT", "/api/runs/x/results", 405, "GET"),
        ("GET", "/api/runs/x/stop", 405, "POST"),
        ("PUT", "/health", 405, "GET"),
        ("POST", "/api/chat/completions", 404, None),
        ("POST", "/runs/x", 404, None),
        ("DELETE", "/none", 404, None),
    ],
)
def test_a_wrong_method_is_told_with_the_right_ones(
    app: "ApiClient", method: str, path: str, status: int, allow: str | None
) -> None:
    answer = app.request(method, path, headers={"X-Mesocosm": "1"})
    assert (answer.status_code, answer.headers.get("allow")) == (status, allow)
    assert answer.json()["code"] == {404: "not_found", 405: "method_not_allowed"}[status]


def test_the_server_knows_every_page_of_the_apps_router() -> None:
    def pages(file: str) -> set[str]:
        return set(re.findall(r"^  path: '(/.+)',$", (ROOT / "viewer" / "src" / file).read_text(), re.MULTILINE))

    assert set(PAGES) == pages("router.tsx")
    assert set(SERVER_PAGES) == pages("serverRouter.tsx")


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
    first = app.get("/", headers=BROWSER)
    again = app.get("/", headers={**BROWSER, "If-None-Match": first.headers["etag"]})
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


def test_without_a_build_the_page_says_so(open_client: "OpenClient", store: Store, tmp_path: Path) -> None:
    answer = open_client(store, viewer=tmp_path / "none").get("/runs/x", headers=BROWSER)
    assert answer.status_code == 200
    assert "not built" in answer.text
    assert "/openapi.json" in answer.text
