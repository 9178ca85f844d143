"""Whoever uses up the tries of a name locks nobody out of where they signed in before."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.server.routes.conftest import PASSWORD

from mesocosm.server.auth.accounts import MANY

TRIES = 2
HOME, ELSEWHERE = "198.51.100.7", "203.0.113.9"


@pytest.fixture
def hosted(open_hosted: Any) -> Any:
    found = open_hosted(login_tries=TRIES, trusted_proxies="127.0.0.1")
    found.member("ada")
    return found


def sign_in(hosted: Any, address: str, password: str = PASSWORD, headers: Mapping[str, str] = {}) -> Any:
    body = {"username": "Ada" if password == PASSWORD else "ada", "password": password}
    return hosted.request("POST", "/api/auth/login", json=body, headers={"X-Forwarded-For": address, **headers})


def attack(hosted: Any) -> None:
    """Try wrong passwords from many places, until the name is locked."""
    for number in range(MANY * TRIES):
        assert sign_in(hosted, f"192.0.2.{number}", "a wrong password").status_code == 401
    assert sign_in(hosted, ELSEWHERE).status_code == 429


def test_a_locked_out_name_still_gets_in_from_where_it_signed_in_before(hosted: Any) -> None:
    assert sign_in(hosted, HOME).status_code == 200
    attack(hosted)
    assert sign_in(hosted, HOME).status_code == 200
    assert sign_in(hosted, ELSEWHERE).status_code == 429


def test_a_browser_that_signed_in_before_gets_in_from_anywhere(hosted: Any) -> None:
    answer = sign_in(hosted, HOME)
    cookies = [value for name, value in answer.headers.multi_items() if name == "set-cookie"]
    (device,) = [value.partition(";")[0] for value in cookies if value.startswith("mesocosm_device=")]
    attack(hosted)
    assert sign_in(hosted, ELSEWHERE, headers={"Cookie": "mesocosm_device=guessed"}).status_code == 429
    assert sign_in(hosted, ELSEWHERE, headers={"Cookie": device}).status_code == 200


def test_who_shares_an_address_with_a_browser_cannot_lock_it_out(hosted: Any) -> None:
    answer = sign_in(hosted, HOME)
    cookies = [value for name, value in answer.headers.multi_items() if name == "set-cookie"]
    (device,) = [value.partition(";")[0] for value in cookies if value.startswith("mesocosm_device=")]
    while sign_in(hosted, HOME, "a wrong password").status_code == 401:
        pass
    assert sign_in(hosted, HOME, headers={"Cookie": device}).status_code == 200


def test_a_known_place_has_no_more_tries_than_any(hosted: Any) -> None:
    assert sign_in(hosted, HOME).status_code == 200
    attack(hosted)
    answers = [sign_in(hosted, HOME, "a wrong password").status_code for _ in range(TRIES + 2)]
    assert answers == [401] * TRIES + [429] * 2


def test_a_place_that_another_signed_in_from_is_none_of_a_name(hosted: Any) -> None:
    hosted.member("ben")
    body = {"username": "ben", "password": PASSWORD}
    assert hosted.request("POST", "/api/auth/login", json=body, headers={"X-Forwarded-For": HOME}).status_code == 200
    attack(hosted)
    assert sign_in(hosted, HOME).status_code == 429
