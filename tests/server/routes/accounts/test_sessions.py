"""Where somebody is signed in: listed and ended by themselves alone."""

from typing import Any

from tests.server.routes.conftest import PASSWORD


def signed_in(browse: Any, name: str = "ada") -> Any:
    browser = browse()
    answer = browser.post(
        "/api/auth/login", {"username": name, "password": PASSWORD}, headers={"user-agent": "Browser"}
    )
    assert answer.status_code == 200, answer.text
    return browser


def end(browser: Any, session_id: str) -> Any:
    return browser.request("DELETE", f"/api/sessions/{session_id}", headers={"x-mesocosm": "1"})


def test_a_browser_sees_where_its_member_is_signed_in(hosted: Any, browse: Any) -> None:
    hosted.member("ada")
    first, second = signed_in(browse), signed_in(browse)
    listed = second.get("/api/sessions").json()
    assert [(one["kind"], one["label"], one["here"]) for one in listed] == [
        ("browser", "Browser", True),
        ("browser", "Browser", False),
    ]
    assert [one["here"] for one in first.get("/api/sessions").json()] == [False, True]


def test_who_ends_a_sign_in_signs_that_browser_out_alone(hosted: Any, browse: Any) -> None:
    hosted.member("ada")
    first, second = signed_in(browse), signed_in(browse)
    other = next(one["id"] for one in second.get("/api/sessions").json() if not one["here"])
    assert end(second, other).status_code == 204
    assert first.get("/api/me").json()["type"] == "anonymous"
    assert [one["here"] for one in second.get("/api/sessions").json()] == [True]
    assert end(second, other).status_code == 404


def test_a_sign_in_of_somebody_else_cannot_be_ended(hosted: Any, browse: Any) -> None:
    hosted.member("ada")
    hosted.member("eve")
    ada, eve = signed_in(browse), signed_in(browse, "eve")
    theirs = ada.get("/api/sessions").json()[0]["id"]
    assert end(eve, theirs).status_code == 404
    assert ada.get("/api/me").json()["type"] == "member"


def test_a_program_is_one_sign_in_however_often_it_renews_its_token(hosted: Any) -> None:
    ada = hosted.member("ada")
    signins, users = hosted.service.accounts.signins, hosted.service.store.users
    user = users.get(ada.user_id)
    _, _, token = signins.refresh(signins.start_refresh(user, "a program")[1])
    listed = ada.get("/api/sessions").json()
    assert [(one["kind"], one["label"]) for one in listed] == [("program", "a program")]
    assert listed[0]["created_at"] < listed[0]["renewed_at"]
    assert ada.request("DELETE", f"/api/sessions/{listed[0]['id']}").status_code == 204
    assert ada.post("/auth/refresh/", {"refresh_token": token}).status_code == 401


def test_a_personal_token_does_not_see_sign_ins(hosted: Any) -> None:
    ada = hosted.member("ada")
    ada.token = ada.post("/api/tokens", {"name": "CI"}).json()["token"]
    assert ada.get("/api/sessions").status_code == 403
    assert hosted.anonymous.get("/api/sessions").status_code == 401
