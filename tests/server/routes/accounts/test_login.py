"""Signing in as the older server's clients do it, refreshing, signing out."""

from typing import Any

import jwt
import pytest

from mesocosm.server.refusal import Refusal

PASSWORD = "correct horse battery staple"


@pytest.fixture
def ada(hosted: Any) -> Any:
    return hosted.member("ada")


def _csrf(browser: Any) -> dict[str, str]:
    return {"X-CSRFToken": browser.get("/auth/csrf/").headers["X-CSRFToken"]}


def _login(browser: Any, name: str = "ada", password: str = PASSWORD, **more: Any) -> Any:
    return browser.post("/auth/login/", {"username": name, "password": password, **more}, headers=_csrf(browser))


def test_a_member_signs_in_with_the_requests_of_the_published_client(browse: Any, ada: Any) -> None:
    browser = browse(follow_redirects=True)
    assert browser.get("/auth/csrf/").status_code == 200
    assert _login(browser).status_code == 200
    token = browser.get("/auth/jwt/").json()["token"]
    me = browse().get("/api/me", headers={"Authorization": f"Bearer {token}"}).json()
    assert (me["type"], me["user_id"], me["username"]) == ("member", ada.user_id, "ada")


def test_the_access_token_is_what_older_servers_read(browse: Any, ada: Any) -> None:
    browser = browse()
    _login(browser)
    token = browser.get("/auth/jwt/").json()["token"]
    claims = jwt.decode(token, options={"verify_signature": False})
    assert jwt.get_unverified_header(token)["alg"] == "HS256"
    assert {"user_id", "username", "groups", "exp"} <= claims.keys()
    assert "type" not in claims
    assert claims["exp"] - claims["iat"] == 3600


@pytest.mark.parametrize("headers", [{}, {"X-CSRFToken": "wrong"}, {"X-CSRFToken": ""}])
def test_without_the_csrf_token_nobody_signs_in(browse: Any, ada: Any, headers: dict[str, str]) -> None:
    browser = browse()
    browser.get("/auth/csrf/")
    body = {"username": "ada", "password": PASSWORD}
    assert browser.post("/auth/login/", body, headers=headers).status_code == 403
    assert browser.get("/auth/jwt/").status_code == 401


def test_a_csrf_token_without_its_cookie_is_worth_nothing(browse: Any, ada: Any) -> None:
    headers = _csrf(browse())
    body = {"username": "ada", "password": PASSWORD}
    assert browse().post("/auth/login/", body, headers=headers).status_code == 403


def test_a_wrong_name_and_a_wrong_password_are_answered_alike(browse: Any, ada: Any) -> None:
    wrong_password, wrong_name = _login(browse(), password="wrong"), _login(browse(), name="nobody")
    assert wrong_password.status_code == wrong_name.status_code == 401
    assert wrong_password.json() == wrong_name.json()
    assert "set-cookie" not in wrong_password.headers


def test_guessing_a_password_ends_after_some_tries_even_with_the_right_one(browse: Any, ada: Any) -> None:
    answers = [_login(browse(), password=f"guess {number}").status_code for number in range(11)]
    assert answers == [401] * 10 + [429]
    late = _login(browse())
    assert late.status_code == 429
    assert int(late.headers["Retry-After"]) > 0


def test_who_is_guessed_at_can_sign_in_from_elsewhere(browse: Any, ada: Any) -> None:
    for number in range(11):
        _login(browse(client=("192.0.2.1", 1)), password=f"guess {number}")
    assert _login(browse(client=("192.0.2.2", 1))).status_code == 200


def test_a_guesser_with_many_addresses_is_stopped_too(open_hosted: Any) -> None:
    hosted = open_hosted(login_tries=1)
    hosted.member("ada")
    accounts = hosted.service.accounts
    found = []
    for number in range(6):
        try:
            accounts.check_password("ada", "wrong", f"192.0.2.{number}")
        except Refusal as refusal:
            found.append(refusal.status)
    assert found == [401] * 5 + [429]


def test_one_address_cannot_try_one_password_on_everybody(open_hosted: Any) -> None:
    hosted = open_hosted(login_tries=1)
    found = []
    for number in range(6):
        try:
            hosted.service.accounts.check_password(f"name{number}", "wrong", f"2001:db8::{number}")
        except Refusal as refusal:
            found.append(refusal.status)
    assert found == [401] * 5 + [429]


def test_signing_in_often_with_the_right_password_is_no_guessing(open_hosted: Any) -> None:
    hosted = open_hosted(login_tries=1)
    ada = hosted.member("ada")
    found = {hosted.service.accounts.check_password("ada", PASSWORD, "127.0.0.1").id for _ in range(7)}
    assert found == {ada.user_id}


def test_a_disabled_member_learns_it_only_with_the_right_password(hosted: Any, browse: Any, ada: Any) -> None:
    hosted.service.store.users.set_disabled(ada.user_id, disabled=True)
    assert _login(browse()).status_code == 403
    assert "disabled" in _login(browse()).json()["detail"]
    assert _login(browse(), password="wrong").status_code == 401


def test_signing_out_ends_the_cookie_even_for_who_kept_it(browse: Any, ada: Any) -> None:
    browser = browse()
    _login(browser)
    kept = dict(browser.cookies)
    assert browser.post("/auth/logout/", {}).status_code == 200
    assert browser.get("/auth/jwt/").status_code == 401
    assert browse(cookies=kept).get("/auth/jwt/").status_code == 401


def test_a_refresh_token_is_exchanged_for_new_tokens(browse: Any, ada: Any) -> None:
    first = _login(browse(), refresh=True).json()
    second = browse().post("/auth/refresh/", {"refresh_token": first["refresh_token"]})
    assert second.status_code == 200
    assert second.headers["Cache-Control"] == "no-store"
    token = second.json()["token"]
    assert browse().get("/api/me", headers={"Authorization": f"Bearer {token}"}).json()["username"] == "ada"
    third = browse().post("/auth/refresh/", {"refresh_token": second.json()["refresh_token"]})
    assert third.status_code == 200


def test_a_refresh_token_that_is_used_twice_ends_its_whole_family(browse: Any, ada: Any) -> None:
    stolen = _login(browse(), refresh=True).json()["refresh_token"]
    mine = browse().post("/auth/refresh/", {"refresh_token": stolen}).json()["refresh_token"]
    assert browse().post("/auth/refresh/", {"refresh_token": stolen}).status_code == 401
    assert browse().post("/auth/refresh/", {"refresh_token": mine}).status_code == 401


def test_the_theft_of_one_refresh_token_leaves_other_sign_ins_alone(browse: Any, ada: Any) -> None:
    stolen = _login(browse(), refresh=True).json()["refresh_token"]
    other = _login(browse(), refresh=True).json()["refresh_token"]
    for _ in range(2):
        browse().post("/auth/refresh/", {"refresh_token": stolen})
    assert browse().post("/auth/refresh/", {"refresh_token": other}).status_code == 200


def test_signing_out_with_a_refresh_token_ends_it(browse: Any, ada: Any) -> None:
    token = _login(browse(), refresh=True).json()["refresh_token"]
    browse().post("/auth/logout/", {"refresh_token": token})
    assert browse().post("/auth/refresh/", {"refresh_token": token}).status_code == 401


def test_a_disabled_member_gets_no_new_tokens(hosted: Any, browse: Any, ada: Any) -> None:
    token = _login(browse(), refresh=True).json()["refresh_token"]
    hosted.service.store.users.set_disabled(ada.user_id, disabled=True)
    assert browse().post("/auth/refresh/", {"refresh_token": token}).status_code == 403


def test_a_web_cookie_is_no_refresh_token(browse: Any, ada: Any) -> None:
    browser = browse()
    _login(browser)
    secret = browser.cookies["mesocosm_session"]
    assert browse().post("/auth/refresh/", {"refresh_token": secret}).status_code == 401


def test_a_body_that_is_no_login_is_wrong_input(browse: Any) -> None:
    browser = browse()
    headers = _csrf(browser)
    bodies: list[Any] = [{}, {"username": "ada"}, {"username": "ada", "password": 3}, [], "x"]
    for body in bodies:
        answer = browser.post("/auth/login/", body, headers=headers)
        assert answer.status_code == 422
        assert "input" not in answer.json()["detail"][0]


def test_odd_names_and_passwords_are_simply_wrong(hosted: Any) -> None:
    for name in ("\0", "\ud800", "x" * 1000, "' OR 1=1 --", ""):
        with pytest.raises(Refusal) as caught:
            hosted.service.accounts.check_password(name, name, "127.0.0.1")
        assert caught.value.status == 401
