"""Every error is a document with the right status, and says nothing of the inside."""

import logging
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy.exc import OperationalError

from mesocosm.core.failure import InfrastructureError, InvalidInput, Problem, RunHeld, UnknownName, UsageError
from mesocosm.server.schemas.document import ErrorDocument
from mesocosm.store import SqlStore

if TYPE_CHECKING:
    from tests.server.conftest import ApiClient


@pytest.mark.parametrize(
    ("error", "status", "word"),
    [
        (UnknownName("there is no such thing; did you mean another?"), 404, "unknown"),
        (UsageError("that cannot be"), 400, "usage"),
        (InvalidInput("the thing", [Problem("a.b", "is wrong", "mend it")]), 422, "invalid"),
        (RunHeld("process 5 has it"), 409, "held"),
        (InfrastructureError("the disk is full"), 503, "infrastructure"),
        (OperationalError("SELECT secret", {}, Exception("secret")), 503, "infrastructure"),
        (ZeroDivisionError("secret"), 500, "internal"),
        (RecursionError("secret"), 500, "internal"),
    ],
)
def test_errors_are_documents(
    client: "ApiClient",
    store: SqlStore,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    status: int,
    word: str,
) -> None:
    def fail(*_given: Any, **_named: Any) -> None:
        raise error

    monkeypatch.setattr(store, "list_runs", fail)
    answer = client.get("/v1/runs")
    assert answer.status_code == status
    document = ErrorDocument.model_validate_json(answer.content)
    assert document.error == word
    assert "secret" not in answer.text
    assert answer.headers["cache-control"] == "no-store"
    if status < 500:
        assert document.detail == str(error)
    if isinstance(error, InvalidInput):
        assert document.problems == [{"path": "a.b", "message": "is wrong", "fix": "mend it"}]


def test_a_defect_is_logged(
    client: "ApiClient", store: SqlStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_given: Any, **_named: Any) -> None:
        raise ZeroDivisionError("what it was")

    monkeypatch.setattr(store, "list_runs", fail)
    with caplog.at_level(logging.ERROR):
        client.get("/v1/runs")
    assert "what it was" in caplog.text


def test_everything_wrong_with_a_request_is_told_at_once(client: "ApiClient") -> None:
    answer = client.get("/v1/runs", params={"limit": "many", "sort": "<b>", "state": "odd", "more": "x"})
    assert answer.status_code == 422
    paths = {problem["path"] for problem in answer.json()["problems"]}
    assert paths == {"query.limit", "query.sort", "query.state.0", "query.more"}


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/nothing", "/v1/runs/x/y/z", "/v1/../v1/none"])
def test_what_the_api_does_not_have_is_404(client: "ApiClient", path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"] == "unknown"


def test_a_method_that_is_not_there_is_405(client: "ApiClient") -> None:
    answer = client.request("PUT", "/v1/runs", headers={"X-Mesocosm": "1"})
    assert answer.status_code == 405
    assert answer.json()["error"] == "method"


@pytest.mark.parametrize("cursor", ["x", "W10", "WyJzY29yZSJd", "é", "WyItY3JlYXRlZF9hdCIsMWU5OTksIngiXQ"])
def test_a_cursor_that_was_made_up_is_refused(client: "ApiClient", cursor: str) -> None:
    answer = client.get("/v1/runs", params={"cursor": cursor})
    assert answer.status_code == 400
    assert "begin again" in answer.json()["detail"]


def test_health_names_the_store(client: "ApiClient", store: SqlStore) -> None:
    document = client.get("/v1/health").json()
    assert document["status"] == "ok"
    assert document["store"] == store.place
    assert document["kind"] == "sqlite"
