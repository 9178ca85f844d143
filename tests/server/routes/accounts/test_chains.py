"""What an access token is worth once the sign-in that it came of has ended."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.server.routes.conftest import PASSWORD

MINE = "/api/tokens"


def signed_in(hosted: Any) -> tuple[str, str]:
    """Return access and refresh token of a new sign-in of Ada's."""
    headers = {"X-CSRFToken": "t", "Cookie": "csrftoken=t"}
    body = {"username": "ada", "password": PASSWORD, "refresh": True}
    told = hosted.request("POST", "/auth/login/", json=body, headers=headers).json()
    return told["token"], told["refresh_token"]


def refreshed(hosted: Any, refresh: str) -> Any:
    return hosted.request("POST", "/auth/refresh/", json={"refresh_token": refresh})


def status(hosted: Any, token: str) -> int:
    answer: int = hosted.request("GET", MINE, headers={"Authorization": f"Bearer {token}"}).status_code
    return answer


def reuse(hosted: Any, refresh: str) -> None:
    assert [refreshed(hosted, refresh).status_code for _ in range(2)] == [200, 401]


def sign_out(hosted: Any, refresh: str) -> None:
    body = {"refresh_token": refresh}
    assert hosted.request("POST", "/api/auth/logout", json=body, headers={"X-Mesocosm": "1"}).status_code == 200


def end_session(hosted: Any, refresh: str) -> None:
    token = refreshed(hosted, refresh).json()["token"]
    headers = {"Authorization": f"Bearer {token}"}
    for session in hosted.request("GET", "/api/sessions", headers=headers).json():
        if session["kind"] == "program":
            assert hosted.request("DELETE", f"/api/sessions/{session['id']}", headers=headers).status_code == 204
            break


@pytest.mark.parametrize("end", [reuse, sign_out, end_session])
def test_every_access_token_of_a_sign_in_ends_with_it_at_once(hosted: Any, end: Callable[[Any, str], None]) -> None:
    hosted.member("ada")
    other, _ = signed_in(hosted)
    stolen, first = signed_in(hosted)
    renewed = refreshed(hosted, first).json()
    assert [status(hosted, token) for token in (stolen, renewed["token"])] == [200, 200]
    end(hosted, renewed["refresh_token"])
    assert [status(hosted, token) for token in (stolen, renewed["token"])] == [401, 401]
    assert status(hosted, other) == 200


def test_the_access_token_of_a_browser_ends_when_it_signs_out(hosted: Any) -> None:
    hosted.member("ada")
    body = {"username": "ada", "password": PASSWORD}
    cookie = hosted.request("POST", "/api/auth/login", json=body).headers["set-cookie"].partition(";")[0]
    token = hosted.request("GET", "/auth/jwt/", headers={"Cookie": cookie}).json()["token"]
    assert status(hosted, token) == 200
    hosted.request("POST", "/auth/logout/", json={}, headers={"Cookie": cookie})
    assert status(hosted, token) == 401
