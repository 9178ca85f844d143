"""Personal tokens: made, used, deleted."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from mesocosm.server.permissions import authentication
from mesocosm.store.tenancy import personal_tokens


@pytest.fixture
def ada(hosted: Any) -> Any:
    return hosted.member("ada")


def _with(hosted: Any, token: str) -> Any:
    person = hosted.anonymous
    person.token = token
    return person


def test_a_token_is_shown_once_and_makes_its_bearer_its_member(hosted: Any, ada: Any) -> None:
    made = ada.post("/api/tokens", {"name": "CI"})
    assert made.status_code == 201
    assert made.json()["token"].startswith("mct_")
    me = _with(hosted, made.json()["token"]).get("/api/me").json()
    assert (me["username"], me["way"], me["scope"]) == ("ada", "token", "write")
    listed = ada.get("/api/tokens").json()
    assert [(token["id"], token["name"]) for token in listed] == [(made.json()["id"], "CI")]
    assert "token" not in listed[0]
    assert listed[0]["last_used_at"] is not None


def test_a_token_lasts_as_long_as_was_asked(ada: Any) -> None:
    made = ada.post("/api/tokens", {"name": "CI", "days": 7}).json()
    lasting = datetime.fromisoformat(made["expires_at"]) - datetime.fromisoformat(made["created_at"])
    assert abs(lasting - timedelta(days=7)) < timedelta(seconds=5)
    assert ada.post("/api/tokens", {"name": "CI", "days": None}).json()["expires_at"] is None


def test_an_expired_token_says_so(hosted: Any, ada: Any) -> None:
    token = ada.post("/api/tokens", {"name": "CI"}).json()["token"]
    change = update(personal_tokens).values(expires_at=1.0)
    hosted.service.store.database.write(lambda connection: connection.execute(change))
    answer = _with(hosted, token).get("/api/me")
    assert (answer.json()["type"], answer.headers["X-Mesocosm-Auth"]) == ("anonymous", "expired")


def test_a_deleted_token_is_nobodys(hosted: Any, ada: Any) -> None:
    made = ada.post("/api/tokens", {"name": "CI"}).json()
    assert ada.request("DELETE", f"/api/tokens/{made['id']}").status_code == 204
    assert _with(hosted, made["token"]).get("/api/me").json()["type"] == "anonymous"
    assert ada.request("DELETE", f"/api/tokens/{made['id']}").status_code == 404


def test_nobody_sees_or_deletes_the_tokens_of_another(hosted: Any, ada: Any) -> None:
    made = ada.post("/api/tokens", {"name": "CI"}).json()
    for other in (hosted.member("eve"), hosted.admin()):
        assert other.get("/api/tokens").json() == []
        assert other.request("DELETE", f"/api/tokens/{made['id']}").status_code == 404
    assert _with(hosted, made["token"]).get("/api/me").json()["username"] == "ada"


def test_a_token_for_reading_changes_nothing(hosted: Any, ada: Any) -> None:
    reader = _with(hosted, ada.post("/api/tokens", {"name": "CI", "scope": "read"}).json()["token"])
    token_id = reader.get("/api/tokens").json()[0]["id"]
    assert reader.request("DELETE", f"/api/tokens/{token_id}").status_code == 403
    assert reader.get("/api/tokens").status_code == 200


def test_a_stolen_token_makes_no_others_and_changes_no_password(hosted: Any, ada: Any) -> None:
    thief = _with(hosted, ada.post("/api/tokens", {"name": "CI"}).json()["token"])
    assert thief.post("/api/tokens", {"name": "more"}).status_code == 403
    assert thief.post("/api/auth/password", {"old": "x", "new": "an entirely other one"}).status_code == 403


def test_a_token_of_a_disabled_member_is_nobodys(hosted: Any, ada: Any) -> None:
    token = ada.post("/api/tokens", {"name": "CI"}).json()["token"]
    hosted.service.store.users.set_disabled(ada.user_id, disabled=True)
    assert _with(hosted, token).get("/api/me").json()["type"] == "anonymous"


def test_there_are_only_so_many_tokens(ada: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authentication, "MAX_TOKENS", 1)
    assert [ada.post("/api/tokens", {"name": "CI"}).status_code for _ in range(2)] == [201, 409]


def test_tokens_that_cannot_be_are_wrong_input(ada: Any) -> None:
    wrong = [{}, {"name": ""}, {"name": "x" * 101}, {"name": "x", "scope": "all"}, {"name": "x", "days": 0}]
    assert {ada.post("/api/tokens", body).status_code for body in wrong} == {422}


def test_with_accounts_switched_off_there_is_nobody_to_make_a_token_for(open_hosted: Any) -> None:
    anybody = open_hosted(auth_disabled=True).anonymous
    assert anybody.post("/api/tokens", {"name": "CI"}).status_code == 409
    assert anybody.get("/api/tokens").json() == []
