"""Signing in and out of the dashboard, signing up, another password."""

from typing import Any

import pytest

from mesocosm.server.auth import passwords
from mesocosm.server.permissions.administration import first_admin

PASSWORD = "correct horse battery staple"
BODY = {"username": "ada", "password": PASSWORD}


def test_who_signs_in_gets_a_cookie_and_is_told_who_they_are(hosted: Any, browse: Any) -> None:
    ada = hosted.member("ada")
    browser = browse()
    answer = browser.post("/api/auth/login", BODY)
    assert (answer.json()["username"], answer.json()["user_id"]) == ("ada", ada.user_id)
    cookie = answer.headers["set-cookie"].casefold()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "secure" not in cookie
    assert browser.get("/api/me").json()["way"] == "web"


def test_a_program_that_logs_in_gets_tokens_and_refreshes_them(hosted: Any, browse: Any) -> None:
    ada = hosted.member("ada")
    first = browse().post("/api/auth/login", {**BODY, "refresh": True}).json()
    second = browse().post("/api/auth/refresh", {"refresh_token": first["refresh_token"]})
    assert second.headers["Cache-Control"] == "no-store"
    bearer = {"Authorization": f"Bearer {second.json()['token']}"}
    assert browse().get("/api/me", headers=bearer).json()["user_id"] == ada.user_id
    assert browse().post("/api/auth/refresh", {"refresh_token": first["refresh_token"]}).status_code == 401
    assert browse().post("/api/auth/refresh", {"refresh_token": second.json()["refresh_token"]}).status_code == 401


def test_the_cookie_is_for_tls_alone_where_the_platform_has_it(open_hosted: Any, make_browser: Any) -> None:
    hosted = open_hosted(public_url="https://mc.example")
    hosted.member("ada")
    answer = make_browser(hosted).post("/api/auth/login", BODY)
    assert "secure" in answer.headers["set-cookie"].casefold()


def test_the_cookie_is_for_tls_alone_when_a_trusted_proxy_says_so(open_hosted: Any, make_browser: Any) -> None:
    hosted = open_hosted(trusted_proxies=("127.0.0.1",))
    hosted.member("ada")
    answer = make_browser(hosted).post("/api/auth/login", BODY, headers={"X-Forwarded-Proto": "https"})
    assert "secure" in answer.headers["set-cookie"].casefold()


def test_signing_out_ends_the_sign_in(hosted: Any, browse: Any) -> None:
    hosted.member("ada")
    browser = browse()
    browser.post("/api/auth/login", BODY)
    kept = dict(browser.cookies)
    assert browser.post("/api/auth/logout", {}).status_code == 200
    assert browse(cookies=kept).get("/api/me").json()["type"] == "anonymous"


def test_signing_in_again_ends_the_sign_in_before(hosted: Any, browse: Any) -> None:
    hosted.member("ada")
    browser = browse()
    browser.post("/api/auth/login", BODY)
    kept = dict(browser.cookies)
    browser.post("/api/auth/login", BODY)
    assert browser.get("/api/me").json()["type"] == "member"
    assert browse(cookies=kept).get("/api/me").json()["type"] == "anonymous"


def test_a_wrong_password_signs_nobody_in(hosted: Any, browse: Any) -> None:
    hosted.member("ada")
    answer = browse().post("/api/auth/login", {**BODY, "password": "wrong"})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


def test_when_too_many_sign_in_at_once_the_rest_is_asked_to_come_again(
    hosted: Any, browse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosted.member("ada")
    monkeypatch.setattr(passwords, "MAX_WAITING", 0)
    answer = browse().post("/api/auth/login", BODY)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert browse().get("/api/me").status_code == 200


def test_who_was_turned_away_for_the_crowd_has_not_guessed(open_hosted: Any, make_browser: Any) -> None:
    hosted = open_hosted(login_tries=1)
    hosted.member("ada")
    waiting = hosted.service.accounts.passwords._waiting
    while waiting.acquire(blocking=False):
        pass
    assert make_browser(hosted).post("/api/auth/login", BODY).status_code == 503
    waiting.release()
    assert make_browser(hosted).post("/api/auth/login", BODY).status_code == 200


def test_nobody_signs_up_where_accounts_are_given_out(browse: Any) -> None:
    assert browse().post("/api/auth/sign-up", BODY).status_code == 403


def test_who_signs_up_is_a_member_and_signed_in(open_hosted: Any, make_browser: Any) -> None:
    browser = make_browser(open_hosted(sign_up=True))
    answer = browser.post("/api/auth/sign-up", BODY)
    assert (answer.status_code, answer.json()["role"]) == (201, "member")
    assert browser.get("/api/me").json()["username"] == "ada"


def test_names_and_passwords_that_cannot_be_are_refused_and_not_repeated(open_hosted: Any, make_browser: Any) -> None:
    hosted = open_hosted(sign_up=True)
    hosted.member("ada")
    browser = make_browser(hosted)
    bodies = {
        "a taken name": ({"username": "ADA", "password": PASSWORD}, 409),
        "a name that cannot be": ({"username": "a b", "password": PASSWORD}, 422),
        "a short password": ({"username": "eve", "password": "kurz"}, 422),
        "a common password": ({"username": "eve", "password": "password123"}, 422),
    }
    for what, (body, status) in bodies.items():
        answer = browser.post("/api/auth/sign-up", body)
        assert (what, answer.status_code) == (what, status)
        assert body["password"] not in answer.text
    assert browser.get("/api/me").json()["type"] == "anonymous"


def test_one_address_makes_only_so_many_accounts(open_hosted: Any, make_browser: Any) -> None:
    hosted = open_hosted(sign_up=True, guests_per_hour=1)
    answers = [
        make_browser(hosted).post("/api/auth/sign-up", {"username": name, "password": PASSWORD}).status_code
        for name in ("ada", "eve")
    ]
    assert answers == [201, 429]


def test_another_password_ends_every_other_sign_in(hosted: Any, browse: Any) -> None:
    ada = hosted.member("ada")
    mine, other = browse(), browse()
    for browser in (mine, other):
        browser.post("/api/auth/login", BODY)
    changed = mine.post("/api/auth/password", {"old": PASSWORD, "new": "an entirely other one"})
    assert changed.status_code == 200
    assert mine.get("/api/me").json()["type"] == "member"
    assert other.get("/api/me").json()["type"] == "anonymous"
    assert ada.get("/api/me").json()["type"] == "anonymous"
    assert browse().post("/api/auth/login", BODY).status_code == 401
    assert browse().post("/api/auth/login", {**BODY, "password": "an entirely other one"}).status_code == 200


def test_a_program_that_changes_the_password_gets_new_tokens(hosted: Any) -> None:
    ada = hosted.member("ada")
    body = {"old": PASSWORD, "new": "an entirely other one", "refresh": True}
    ada.token = ada.post("/api/auth/password", body).json()["token"]
    assert ada.get("/api/me").json()["username"] == "ada"


@pytest.mark.parametrize(("old", "new", "status"), [("wrong", "another long one", 400), (PASSWORD, "short", 422)])
def test_a_password_that_cannot_be_changed_stays(hosted: Any, old: str, new: str, status: int) -> None:
    ada = hosted.member("ada")
    assert ada.post("/api/auth/password", {"old": old, "new": new}).status_code == status
    assert ada.get("/api/me").json()["type"] == "member"


def test_the_old_password_cannot_be_guessed_with_a_stolen_token(open_hosted: Any) -> None:
    ada = open_hosted(login_tries=2).member("ada")
    body = {"old": "wrong", "new": "an entirely other one"}
    assert [ada.post("/api/auth/password", body).status_code for _ in range(3)] == [400, 400, 429]


def test_a_new_platform_has_one_administrator_whose_password_is_told_once(hosted: Any, browse: Any) -> None:
    made = first_admin(hosted.service)
    assert made is not None
    assert first_admin(hosted.service) is None
    me = browse().post("/api/auth/login", {"username": made[0], "password": made[1]}).json()
    assert me["role"] == "admin"


def test_a_platform_of_members_alone_gets_an_administrator_under_a_free_name(hosted: Any, browse: Any) -> None:
    hosted.member("admin")
    made = first_admin(hosted.service)
    assert made is not None
    assert made[0] == "admin-2"
    assert hosted.service.store.users.named("admin").role == "member"
    assert browse().post("/api/auth/login", {"username": made[0], "password": made[1]}).json()["role"] == "admin"
    assert first_admin(hosted.service) is None


def test_no_secret_is_in_the_database_as_it_is(hosted: Any, browse: Any, tmp_path: Any) -> None:
    hosted.member("ada")
    browser = browse()
    browser.post("/api/auth/login", BODY)
    token = browser.post("/api/tokens", {"name": "CI"}).json()["token"]
    refresh = hosted.service.accounts.signins.start_refresh(hosted.service.store.users.named("ada"))[1]
    kept = b"".join(path.read_bytes() for path in (tmp_path / "results").glob("*") if path.is_file())
    assert b"ada" in kept
    assert [
        word for word in (PASSWORD, token, refresh, browser.cookies["mesocosm_session"]) if word.encode() in kept
    ] == []
