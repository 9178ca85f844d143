"""Bodies that are too large, for any route, whoever sends them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from mesocosm.server.web.body_limits import MOST

JSON = {"Content-Type": "application/json", "X-Mesocosm": "1"}
ROUTES = ("/api/auth/login", "/api/auth/sign-up", "/api/auth/guest/logout", "/v1/runs", "/api/domains")


async def endless(pieces: int) -> AsyncIterator[bytes]:
    """Yield the beginning of a document that says nothing of its length."""
    yield b'{"username": "'
    for _ in range(pieces):
        yield b"a" * 65_536


@pytest.mark.parametrize("route", ROUTES)
def test_a_body_that_says_it_is_too_large_is_refused(hosted: Any, route: str) -> None:
    answer = hosted.member("ann").request("POST", route, content=b"x" * (MOST + 1), headers=JSON)
    assert answer.status_code == 413
    assert "send less" in answer.json()["detail"]


def test_a_body_of_unknown_length_is_refused_once_it_is_too_large(hosted: Any) -> None:
    pieces = MOST // 65_536 + 2
    answer = hosted.anonymous.request("POST", "/api/auth/login", content=endless(pieces), headers=JSON)
    assert answer.status_code == 413


def test_a_length_that_is_no_number_is_refused(hosted: Any) -> None:
    headers = {**JSON, "Content-Length": "9" * 5_000}
    assert hosted.anonymous.request("POST", "/api/auth/login", content=b"{}", headers=headers).status_code == 413


def test_a_body_that_is_as_large_as_may_be_is_read(hosted: Any) -> None:
    body = b'{"username": "ann", "password": "' + b"a" * (MOST - 35) + b'"}'
    assert hosted.anonymous.request("POST", "/api/auth/login", content=body, headers=JSON).status_code == 422
