"""Accounts in the hands of administrators."""

from typing import Any

import jwt
import pytest

PASSWORD = "correct horse battery staple"


@pytest.fixture
def root(hosted: Any) -> Any:
    return hosted.admin()


@pytest.fixture
def ada(hosted: Any, root: Any) -> Any:
    return hosted.member("ada")


def _login(hosted: Any, password: str, name: str = "ada") -> int:
    return int(hosted.anonymous.post("/api/auth/login", {"username": name, "password": password}).status_code)


def test_members_and_guests_run_nothing(hosted: Any, ada: Any) -> None:
    paths = [("GET", "/users"), ("POST", "/users"), ("GET", "/audit"), ("POST", "/keys/rotate")]
    paths += [("POST", f"/users/{ada.user_id}/{what}") for what in ("disable", "enable", "role", "reset", "budget")]
    paths += [("POST", f"/users/{ada.user_id}/sessions/end")]
    for who, status in ((ada, 403), (hosted.guest(), 403), (hosted.anonymous, 401)):
        found = {path: who.request(method, f"/api/admin{path}", json={}).status_code for method, path in paths}
        assert set(found.values()) == {status}, found


def test_people_are_listed_the_newest_first_page_by_page(root: Any, ada: Any) -> None:
    first = root.get("/api/admin/users", params={"limit": 1}).json()
    assert [user["username"] for user in first["users"]] == ["ada"]
    second = root.get("/api/admin/users", params={"limit": 1, "cursor": first["next_cursor"]}).json()
    assert [user["username"] for user in second["users"]] == ["root"]
    assert second["next_cursor"] is None


def test_somebody_added_signs_in_with_the_password_that_was_shown(hosted: Any, root: Any) -> None:
    made = root.post("/api/admin/users", {"username": "ada"}).json()
    assert _login(hosted, made["password"]) == 200
    assert "argon2" not in root.get("/api/admin/users").text
    assert root.post("/api/admin/users", {"username": "ADA"}).status_code == 409


def test_a_chosen_password_is_not_repeated(hosted: Any, root: Any) -> None:
    made = root.post("/api/admin/users", {"username": "ada", "password": PASSWORD, "role": "admin"})
    assert PASSWORD not in made.text
    assert (made.json()["role"], made.json()["password"]) == ("admin", None)
    assert _login(hosted, PASSWORD) == 200


def test_who_is_disabled_is_out_until_enabled(hosted: Any, root: Any, ada: Any) -> None:
    assert root.post(f"/api/admin/users/{ada.user_id}/disable").json()["disabled"] is True
    assert ada.get("/api/me").json()["type"] == "anonymous"
    assert _login(hosted, PASSWORD) == 403
    root.post(f"/api/admin/users/{ada.user_id}/enable")
    assert _login(hosted, PASSWORD) == 200
    assert ada.get("/api/me").json()["type"] == "anonymous"


def test_a_reset_ends_the_password_every_sign_in_and_every_token(hosted: Any, root: Any, ada: Any) -> None:
    token = hosted.anonymous
    token.token = ada.post("/api/tokens", {"name": "CI"}).json()["token"]
    made = root.post(f"/api/admin/users/{ada.user_id}/reset").json()
    assert [_login(hosted, PASSWORD), _login(hosted, made["password"])] == [401, 200]
    assert [person.get("/api/me").json()["type"] for person in (ada, token)] == ["anonymous"] * 2


def test_ending_all_sign_ins_leaves_personal_tokens(hosted: Any, root: Any, ada: Any) -> None:
    token = hosted.anonymous
    token.token = ada.post("/api/tokens", {"name": "CI"}).json()["token"]
    assert root.post(f"/api/admin/users/{ada.user_id}/sessions/end").status_code == 200
    assert [person.get("/api/me").json()["type"] for person in (ada, token)] == ["anonymous", "member"]


def test_a_role_counts_at_once(root: Any, ada: Any) -> None:
    assert root.post(f"/api/admin/users/{ada.user_id}/role", {"role": "admin"}).json()["role"] == "admin"
    assert ada.get("/api/admin/users").status_code == 200
    ada.post(f"/api/admin/users/{root.user_id}/role", {"role": "member"})
    assert root.get("/api/admin/users").status_code == 403


def test_nobody_takes_the_platform_from_themselves(root: Any) -> None:
    assert root.post(f"/api/admin/users/{root.user_id}/disable").status_code == 409
    assert root.post(f"/api/admin/users/{root.user_id}/role", {"role": "member"}).status_code == 409


def test_a_budget_is_set_and_taken_away(hosted: Any, root: Any, ada: Any) -> None:
    path = f"/api/admin/users/{ada.user_id}/budget"
    assert root.post(path, {"budget_usd": 2.5}).json()["budget_usd"] == 2.5
    assert hosted.service.store.users.get(ada.user_id).budget_usd == 2.5
    assert root.post(path, {"budget_usd": None}).json()["budget_usd"] is None
    assert root.post(path, {"budget_usd": -1}).status_code == 422


def test_numbers_that_nobody_has_are_unknown(root: Any) -> None:
    numbers = (0, -1, 4711, 2**31, 2**63, 10**30)
    found = {number: root.post(f"/api/admin/users/{number}/enable").status_code for number in numbers}
    assert set(found.values()) == {404}, found
    assert root.get("/api/admin/users", params={"cursor": 10**30}).status_code == 200
    assert root.post("/api/admin/users/x/enable").status_code == 422


def test_every_change_is_written_down_with_who_did_it(root: Any, ada: Any) -> None:
    root.post(f"/api/admin/users/{ada.user_id}/disable")
    root.post("/api/admin/keys/rotate", {})
    entries = root.get("/api/admin/audit").json()["entries"]
    assert [(entry["action"], entry["actor"]) for entry in entries[:2]] == [
        ("keys.rotate", f"user:{root.user_id}"),
        ("user.disable", f"user:{root.user_id}"),
    ]
    assert (entries[1]["object"], entries[1]["address"]) == (f"user:{ada.user_id}", "127.0.0.1")


def test_the_record_is_read_page_by_page(root: Any, ada: Any) -> None:
    for what in ("disable", "enable"):
        root.post(f"/api/admin/users/{ada.user_id}/{what}")
    first = root.get("/api/admin/audit", params={"limit": 1}).json()
    second = root.get("/api/admin/audit", params={"limit": 1, "cursor": first["next_cursor"]}).json()
    actions = [page["entries"][0]["action"] for page in (first, second)]
    assert actions == ["user.enable", "user.disable"]


def test_signing_in_is_written_down_without_the_password(hosted: Any, root: Any, ada: Any) -> None:
    _login(hosted, PASSWORD)
    page = root.get("/api/admin/audit")
    assert page.json()["entries"][0]["action"] == "auth.login"
    assert PASSWORD not in page.text


def test_guesses_at_a_member_are_written_down(hosted: Any, root: Any, ada: Any) -> None:
    _login(hosted, "wrong")
    entry = root.get("/api/admin/audit").json()["entries"][0]
    assert (entry["actor"], entry["action"], entry["object"]) == ("anonymous", "auth.wrong", f"user:{ada.user_id}")


def test_guesses_at_nobody_are_written_down_without_the_name_which_may_be_a_password(hosted: Any, root: Any) -> None:
    _login(hosted, "ada", name=PASSWORD)
    page = root.get("/api/admin/audit")
    assert page.json()["entries"][0]["object"] == "user:unknown"
    assert PASSWORD not in page.text


def test_a_stolen_refresh_token_is_written_down(hosted: Any, root: Any, ada: Any) -> None:
    token = hosted.service.accounts.signins.start_refresh(hosted.service.store.users.get(ada.user_id))[1]
    for _ in range(2):
        hosted.anonymous.post("/auth/refresh/", {"refresh_token": token})
    entry = root.get("/api/admin/audit").json()["entries"][0]
    assert (entry["action"], entry["object"]) == ("auth.refresh_reused", f"user:{ada.user_id}")


def test_keys_are_rotated_and_at_once_when_one_was_stolen(root: Any, ada: Any) -> None:
    key = root.post("/api/admin/keys/rotate").json()["key_id"]
    assert jwt.get_unverified_header(ada.token)["kid"] != key
    assert ada.get("/api/me").json()["type"] == "member"
    root.post("/api/admin/keys/rotate", {"at_once": True})
    assert ada.get("/api/me").json()["type"] == "anonymous"
