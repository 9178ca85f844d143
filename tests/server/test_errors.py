"""Every error is a document with the right status, and says nothing of the inside."""

import logging
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy.exc import OperationalError

from mesocosm.core.failure import InfrastructureError, InvalidInput, Problem, RunLeased, UnknownName, UsageError
from mesocosm.server.schemas.problem import InputProblem, ProblemDocument
from mesocosm.store import Store

if TYPE_CHECKING:
    from tests.server.conftest import ApiClient


@pytest.mark.parametrize(
    ("error", "status", "word"),
    [
        (UnknownName("there is no such thing; did you mean another?"), 404, "not_found"),
        (UsageError("that cannot be"), 400, "bad_request"),
        (InvalidInput("the thing", [Problem("a.b", "is wrong", "mend it")]), 422, "invalid_input"),
        (RunLeased("process 5 has it"), 409, "run_held"),
        (InfrastructureError("the disk is full"), 503, "unavailable"),
        (OperationalError("SELECT secret", {}, Exception("secret")), 503, "unavailable"),
        (ZeroDivisionError("secret"), 500, "internal"),
        (RecursionError("secret"), 500, "internal"),
    ],
)
def test_errors_are_documents(
    client: "ApiClient",
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    status: int,
    word: str,
) -> None:
    def fail(*_given: Any, **_named: Any) -> None:
        raise error

    monkeypatch.setattr(store.runs, "list", fail)
    answer = client.get("/api/runs")
    assert answer.status_code == status
    document = ProblemDocument.model_validate_json(answer.content)
    assert answer.headers["content-type"] == "application/problem+json"
    assert (document.code, document.status) == (word, status)
    assert "secret" not in answer.text
    assert answer.headers["cache-control"] == "no-store"
    if status < 500:
        assert document.detail == str(error)
    if isinstance(error, InvalidInput):
        assert document.problems == [InputProblem(path="a.b", message="is wrong", fix="mend it")]


def test_a_defect_is_logged(
    client: "ApiClient", store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_given: Any, **_named: Any) -> None:
        raise ZeroDivisionError("what it was")

    monkeypatch.setattr(store.runs, "list", fail)
    with caplog.at_level(logging.ERROR):
        client.get("/api/runs")
    assert "what it was" in caplog.text


def test_everything_wrong_with_a_request_is_told_at_once(client: "ApiClient") -> None:
    answer = client.get("/api/runs", params={"limit": "many", "sort": "<b>", "state": "odd", "more": "x"})
    assert answer.status_code == 422
    paths = {problem["path"] for problem in answer.json()["problems"]}
    assert paths == {"query.limit", "query.sort", "query.state.0", "query.more"}


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/nothing", "/api/runs/x/y/z", "/api/../api/none"])
def test_what_the_api_does_not_have_is_404(client: "ApiClient", path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"


def test_a_method_that_is_not_there_is_405(client: "ApiClient") -> None:
    answer = client.request("PUT", "/api/runs", headers={"X-Mesocosm": "1"})
    assert answer.status_code == 405
    assert answer.json()["code"] == "method_not_allowed"


@pytest.mark.parametrize("cursor", ["x", "W10", "WyJzY29yZSJd", "é", "WyItY3JlYXRlZF9hdCIsMWU5OTksIngiXQ"])
def test_a_cursor_that_was_made_up_is_refused(client: "ApiClient", cursor: str) -> None:
    answer = client.get("/api/runs", params={"cursor": cursor})
    assert answer.status_code == 400
    assert "begin again" in answer.json()["detail"]


def test_health_names_the_store(client: "ApiClient", store: Store) -> None:
    document = client.get("/api/health").json()
    assert document["status"] == "ok"
    assert document["store"] == store.place
    assert document["kind"] == "sqlite"
