"""What a foreign web page may have sent is refused, and every answer forbids what no page needs."""

from typing import TYPE_CHECKING

import pytest

from mesocosm.server.web.guard import HEADERS
from mesocosm.store import Store

if TYPE_CHECKING:
    from tests.server.conftest import ApiClient, OpenClient


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8877", "127.0.0.1", "localhost:9000", "LOCALHOST.", "[::1]:8877", "127.9.9.9", "app.localhost:1"],
)
@pytest.mark.parametrize("path", ["/api/runs", "/"])
def test_loopback_names_are_answered_on_any_port(client: "ApiClient", host: str, path: str) -> None:
    assert client.get(path, headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8877",
        "evil.example@127.0.0.1",
        "127.0.0.1/evil",
        "192.168.1.5:8877",
        "0.0.0.0",
        "2130706433",
        "127.0.0.1:x",
        "",
    ],
)
@pytest.mark.parametrize("path", ["/api/runs", "/", "/assets/x.js", "/frame.html"])
def test_other_names_are_refused_everywhere(client: "ApiClient", host: str, path: str) -> None:
    answer = client.get(path, headers={"Host": host})
    assert answer.status_code == 421
    assert "--host" in answer.json()["detail"]


def test_two_names_are_none(client: "ApiClient") -> None:
    headers = [("Host", "127.0.0.1"), ("Host", "evil.example")]
    assert client.get("/api/runs", headers=headers).status_code == 400


def test_the_name_that_the_server_was_told_is_answered(open_client: "OpenClient", store: Store) -> None:
    client = open_client(store, host="box.local")
    assert client.get("/api/runs", headers={"Host": "Box.Local:8877"}).status_code == 200
    assert client.get("/api/runs", headers={"Host": "other.local:8877"}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:3000"},
        {"Origin": "http://127.0.0.1:8877.evil.example"},
        {"Origin": "file://127.0.0.1:8877"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/api/runs"), ("POST", "/api/runs/x/stop"), ("POST", "/other")])
def test_pages_of_other_sites_are_refused(client: "ApiClient", headers: dict[str, str], method: str, path: str) -> None:
    answer = client.request(method, path, headers={**headers, "X-Mesocosm": "1"})
    assert answer.status_code == 403
    assert answer.json()["code"] == "foreign_page"


@pytest.mark.parametrize(
    "headers",
    [{}, {"Origin": "http://127.0.0.1:8877", "Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}],
)
def test_own_pages_and_programs_may_read(client: "ApiClient", headers: dict[str, str]) -> None:
    assert client.get("/api/runs", headers=headers).status_code == 200


def test_a_link_on_another_site_may_lead_here(client: "ApiClient") -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Accept": "text/html"}
    assert client.get("/runs/some-run", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 403),
        ({"Content-Type": "text/plain"}, 403),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 403),
        ({"X-Mesocosm": "1"}, 404),
        ({"Content-Type": "application/json; charset=utf-8"}, 404),
    ],
)
@pytest.mark.parametrize(("method", "path"), [("POST", "/api/runs/none/stop"), ("DELETE", "/api/runs/none")])
def test_a_change_needs_what_no_form_can_send(
    client: "ApiClient", method: str, path: str, headers: dict[str, str], status: int
) -> None:
    assert client.request(method, path, headers=headers).status_code == status


@pytest.mark.parametrize(
    "path", ["/api/runs", "/api/none", "/", "/runs/x", "/assets/none.js", "/api/runs?limit=x", "/openapi.json"]
)
def test_every_answer_has_the_headers(client: "ApiClient", path: str) -> None:
    answer = client.get(path)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert "server" not in answer.headers


def test_refusals_have_the_headers_too(client: "ApiClient") -> None:
    answer = client.get("/api/runs", headers={"Host": "evil.example"})
    assert answer.headers["Content-Security-Policy"] == HEADERS["Content-Security-Policy"]


def test_the_pages_may_run_nothing_but_their_own_files() -> None:
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


def test_a_question_before_a_foreign_request_is_refused(client: "ApiClient") -> None:
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Method": "DELETE"}
    answer = client.request("OPTIONS", "/api/runs/x", headers=asked)
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_the_frame_for_recorded_pages_forbids_scripts(client: "ApiClient") -> None:
    answer = client.get("/frame.html")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    assert "script-src" not in policy
    assert "frame-ancestors 'self'" in policy
    assert "<script" not in answer.text
