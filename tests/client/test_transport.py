"""What becomes of answers: documents, refusals with hints, downloads that break off."""

import io
import json
import threading
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from mesocosm.client import ApiError, Client
from mesocosm.client.transport import pauses


@dataclass
class Answer:
    """What a platform answers to everything, and what it was asked."""

    url: str = ""
    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def client(self) -> Client:
        return Client(self.url, "t0ken")


@pytest.fixture
def platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Answer]:
    monkeypatch.setenv("SWECC_BENCH_CREDENTIALS", str(tmp_path / "none.json"))
    answer = Answer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer.asked.append(self.path)
            self.send_response(answer.status)
            for name, value in ({"Content-Length": str(len(answer.body))} | answer.headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        answer.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield answer
        server.shutdown()
        thread.join()


def test_a_refusal_has_status_words_method_and_address(platform: Answer) -> None:
    platform.status, platform.body = 403, b'{"error": "forbidden", "detail": "not yours"}'

    with pytest.raises(ApiError) as caught:
        platform.client().runs.get("a/b")

    error = caught.value
    assert (error.status, error.detail, error.method) == (403, "not yours", "GET")
    assert error.url == f"{platform.url}/api/runs/a%2Fb"
    assert str(error) == "not yours"
    assert f"HTTP 403 for GET {error.url}" in "".join(traceback.format_exception(error))
    assert error.exit_code == 1


@pytest.mark.parametrize("body", [b"", b"<p>lost</p>", b'{"detail": "Not Found"}', b'{"detail": {"code": 7}}'])
def test_an_answer_that_explains_nothing_is_told_with_its_request(platform: Answer, body: bytes) -> None:
    platform.status, platform.body = 404, body

    with pytest.raises(ApiError, match=rf" \(HTTP 404 for GET {platform.url}/api/runs/r\)$"):
        platform.client().runs.get("r")


def test_who_has_to_wait_is_told_how_long(platform: Answer) -> None:
    platform.status, platform.body = 429, b'{"detail": "too soon"}'
    platform.headers = {"Retry-After": "90"}

    with pytest.raises(ApiError, match="too soon; try again in 90 s") as caught:
        platform.client().runs.get("r")

    assert caught.value.retry_after == 90.0


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("119", "in 119 s"),
        ("121", "in 3 min"),
        ("3600", "in 1 h 00 min"),
        ("80173", "in 22 h 17 min"),
        ("Wed, 21 Oct 2026 07:28:00 GMT", "after Wed, 21 Oct 2026 07:28:00 GMT"),
        ("²", "after ²"),
    ],
)
def test_a_long_wait_is_told_in_hours_and_minutes(platform: Answer, header: str, words: str) -> None:
    platform.status, platform.body = 429, b'{"detail": "too many"}'
    platform.headers = {"Retry-After": header}

    with pytest.raises(ApiError, match=rf"try again {words}\n"):
        platform.client().runs.get("r")


def test_a_wait_that_the_platform_names_itself_is_not_said_twice(platform: Answer) -> None:
    platform.status, platform.body = 429, b'{"detail": "start the next one in 90 s"}'
    platform.headers = {"Retry-After": "90"}

    with pytest.raises(ApiError) as caught:
        platform.client().runs.get("r")

    assert str(caught.value) == "start the next one in 90 s"
    assert caught.value.retry_after == 90.0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"detail": {"message": "it is being built", "environment_id": "e"}}, "it is being built"),
        ({"detail": [{"loc": ["body", "name"], "msg": "too short"}, {"msg": "odd"}]}, "name: too short; odd"),
        ({"detail": {"code": 7}}, '{"code": 7}'),
        ("just words", "just words"),
    ],
)
def test_details_of_every_shape_become_words(platform: Answer, body: object, words: str) -> None:
    platform.status, platform.body = 409, json.dumps(body).encode()

    with pytest.raises(ApiError) as caught:
        platform.client().teams.list()

    assert caught.value.detail == words


@pytest.mark.parametrize(("word", "hint"), [("expired", "has expired"), ("invalid", "does not know this login")])
def test_a_login_that_does_not_hold_is_named_as_the_reason(platform: Answer, word: str, hint: str) -> None:
    platform.status, platform.body, platform.headers = 401, b'{"detail": "no"}', {"X-Mesocosm-Auth": word}

    with pytest.raises(ApiError, match=f"{hint}.*mesocosm auth login"):
        platform.client().teams.list()

    assert len(platform.asked) == 1, "a given token cannot be renewed"


@pytest.mark.parametrize("body", [b'{"id": 5}', b"{}", b'{"id": "x", "config": []}'])
def test_an_answer_of_another_shape_is_no_document(platform: Answer, body: bytes) -> None:
    platform.body = body

    with pytest.raises(ApiError, match="the answer is not what this client knows"):
        platform.client().runs.get("x")


def test_a_download_is_written_as_it_comes(platform: Answer) -> None:
    platform.body = b"x" * 1_000_000
    file = io.BytesIO()

    assert platform.client().runs.export("r", file) == 1_000_000
    assert file.getvalue() == platform.body
    assert platform.asked == ["/api/runs/r/export"]


def test_a_download_that_breaks_off_is_an_error(platform: Answer) -> None:
    platform.body, platform.headers = b"half", {"Content-Length": "8"}

    with pytest.raises(ApiError, match="broke off 4 bytes before its end"):
        platform.client().runs.export("r", io.BytesIO())


def test_every_long_list_is_asked_for_page_by_page(platform: Answer) -> None:
    platform.body, client = b"[]", platform.client()
    page: dict[str, Any] = {"limit": 2, "cursor": "x"}

    client.domains.list(**page)
    client.environments.list(**page)
    client.environments.versions("e", limit=2, cursor=7)
    client.batch_runs.list(**page)
    client.teams.environments(str(UUID(int=1)), **page)

    assert [path.partition("?")[2] for path in platform.asked] == [
        "limit=2&cursor=7" if path.partition("?")[0].endswith("/versions") else "limit=2&cursor=x"
        for path in platform.asked
    ]
    assert len(platform.asked) == 5


def test_what_is_not_asked_for_stays_out_of_the_address(platform: Answer) -> None:
    platform.body = b"[]"
    platform.client().domains.list()
    platform.client().domains.list(published=True, archived=True)
    platform.body = b'{"items": [], "cursor": null, "total": 0, "total_exact": true}'
    platform.client().runs.list(domain_id="a b", limit=5)

    assert platform.asked == [
        "/api/domains",
        "/api/domains?published=true&include_archived=true",
        "/api/runs?benchmark=a+b&limit=5",
    ]


def test_a_token_of_a_variable_that_does_not_hold_names_the_variable(
    platform: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWECC_BENCH_TOKEN", "mct_old")
    platform.status, platform.headers = 401, {"X-Mesocosm-Auth": "invalid"}
    with pytest.raises(ApiError, match="the token of SWECC_BENCH_TOKEN is unknown to the server; set another"):
        Client(platform.url).me.get()


def test_a_page_instead_of_an_answer_asks_for_the_whole_address(platform: Answer) -> None:
    platform.body = b"<html>"
    with pytest.raises(ApiError, match=r"is not JSON: .*It may need a path such as /bench"):
        platform.client().me.get()


def test_what_is_short_is_not_kept_waiting() -> None:
    assert sum(islice(pauses(), 3)) < 0.5
    assert list(islice(pauses(), 8, 10)) == [1.0, 1.0]
    assert list(islice(pauses(0.05), 2)) == [0.05, 0.05]
