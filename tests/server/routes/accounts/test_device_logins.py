"""Login of a program through a browser: it shows a code, and a person who is signed in confirms it."""

import re
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import select, update
from tests.server.routes.conftest import ADDRESS, Hosted, Person

from mesocosm.server.auth import device_flow
from mesocosm.server.auth.sign_ins import fingerprint
from mesocosm.store.tenancy import device_logins

AGENT = {"User-Agent": "mesocosm/1.2"}


@pytest.fixture
def ada(hosted: Hosted) -> Person:
    return hosted.member("ada")


def started(hosted: Hosted, device: str = "laptop", **headers: str) -> dict[str, Any]:
    """Return a new login of a program."""
    answer = hosted.anonymous.post("/api/auth/device", {"device": device}, headers={**AGENT, **headers})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def polled(hosted: Hosted, device_code: str) -> dict[str, Any]:
    """Return what the program is told."""
    answer = hosted.anonymous.post("/api/auth/device/token", {"device_code": device_code}, headers=AGENT)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def decided(person: Person, user_code: str, *, approve: bool = True) -> int:
    """Return the status of a decision."""
    return person.request("PUT", f"/api/auth/device/{user_code}", json={"approve": approve}).status_code


def change(hosted: Hosted, **values: Any) -> None:
    """Change every login that waits."""
    hosted.service.store.database.execute(update(device_logins).values(values))


def test_a_program_is_logged_in_as_who_confirms_its_code(hosted: Hosted, ada: Person) -> None:
    begun = started(hosted)
    assert re.fullmatch("[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}", begun["user_code"])
    assert (begun["page"], begun["interval_seconds"]) == (f"{ADDRESS}/device", 5)
    assert parse_qs(urlsplit(begun["page_with_code"]).query) == {"code": [begun["user_code"]]}
    assert polled(hosted, begun["device_code"]) == {"state": "pending", "slow_down": False, "login": None}
    assert decided(ada, begun["user_code"]) == 200
    login = polled(hosted, begun["device_code"])["login"]
    program = hosted.anonymous
    program.token = login["token"]
    assert program.get("/api/me").json()["username"] == "ada"
    (session,) = ada.get("/api/sessions").json()
    assert (session["kind"], session["label"]) == ("program", "mesocosm/1.2")
    renewed = hosted.anonymous.post("/api/auth/refresh", {"refresh_token": login["refresh_token"]})
    assert renewed.status_code == 200


def test_the_tokens_are_given_out_once(hosted: Hosted, ada: Person) -> None:
    begun = started(hosted)
    decided(ada, begun["user_code"])
    assert [polled(hosted, begun["device_code"])["state"] for _ in range(2)] == ["approved", "expired"]


def test_a_denied_program_is_told_so_and_gets_nothing(hosted: Hosted, ada: Person) -> None:
    begun = started(hosted)
    assert decided(ada, begun["user_code"], approve=False) == 200
    assert polled(hosted, begun["device_code"]) == {"state": "denied", "slow_down": False, "login": None}
    assert ada.get("/api/sessions").json() == []


def test_a_decision_is_final(hosted: Hosted, ada: Person) -> None:
    begun = started(hosted)
    assert [decided(ada, begun["user_code"], approve=approve) for approve in (False, True)] == [200, 404]
    assert decided(hosted.member("eve"), begun["user_code"]) == 404
    assert polled(hosted, begun["device_code"])["state"] == "denied"


def test_codes_expire(hosted: Hosted, ada: Person) -> None:
    begun = started(hosted)
    change(hosted, expires_at=time.time() - 1)
    assert decided(ada, begun["user_code"]) == 404
    assert ada.get(f"/api/auth/device/{begun['user_code']}").status_code == 404
    assert polled(hosted, begun["device_code"])["state"] == "expired"


def test_an_approval_expires_with_its_codes(hosted: Hosted, ada: Person) -> None:
    begun = started(hosted)
    decided(ada, begun["user_code"])
    change(hosted, expires_at=time.time() - 1)
    assert polled(hosted, begun["device_code"])["state"] == "expired"


def test_expired_codes_are_removed_when_another_login_begins(hosted: Hosted) -> None:
    started(hosted)
    change(hosted, expires_at=time.time() - 1)
    begun = started(hosted)
    rows = hosted.service.store.database.all(select(device_logins))
    assert [row["digest"] for row in rows] == [fingerprint(begun["device_code"])]


def test_the_store_has_neither_of_the_codes(hosted: Hosted) -> None:
    begun = started(hosted)
    (row,) = hosted.service.store.database.all(select(device_logins))
    words = " ".join(map(str, row.values()))
    for code in (begun["device_code"], begun["user_code"], begun["user_code"].replace("-", "")):
        assert code not in words


def test_a_program_that_asks_too_often_is_slowed_down(hosted: Hosted, ada: Person) -> None:
    begun = started(hosted)
    assert [polled(hosted, begun["device_code"])["slow_down"] for _ in range(3)] == [False, True, True]
    change(hosted, polled_at=time.time() - device_flow.INTERVAL_S)
    assert polled(hosted, begun["device_code"])["slow_down"] is False
    decided(ada, begun["user_code"])
    assert polled(hosted, begun["device_code"])["state"] == "approved"


@pytest.mark.parametrize("written", ["{}", " {} ", "{lower}", "{bare}"])
def test_a_code_may_be_typed_in_small_letters_and_without_its_hyphen(hosted: Hosted, ada: Person, written: str) -> None:
    code = started(hosted)["user_code"]
    typed = written.format(code, lower=code.lower(), bare=code.replace("-", ""))
    assert ada.get(f"/api/auth/device/{typed}").status_code == 200


def test_who_is_asked_sees_what_asks_and_from_where(open_hosted: Any) -> None:
    hosted = open_hosted(trusted_proxies=("127.0.0.1",))
    ada = hosted.member("ada")
    code = started(hosted, **{"X-Forwarded-For": "203.0.113.9"})["user_code"]
    found = ada.get(f"/api/auth/device/{code}").json()
    assert (found["program"], found["device"]) == ("mesocosm/1.2", "laptop")
    assert (found["address"], found["same_address"]) == ("203.0.113.9", False)
    near = {"X-Forwarded-For": "203.0.113.9"}
    assert ada.get(f"/api/auth/device/{code}", headers=near).json()["same_address"] is True


def test_a_program_cannot_disguise_itself(hosted: Hosted, ada: Person) -> None:
    code = started(hosted, "my\u202elaptop\n\u200bApproved by an administrator\x1b[2J" + "x" * 100)["user_code"]
    device = ada.get(f"/api/auth/device/{code}").json()["device"]
    assert device.startswith("mylaptopApproved by an administrator[2Jx")
    assert len(device) == 100


def test_guessing_codes_is_limited_for_an_account(hosted: Hosted, ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_flow, "_GUESSES", 3)
    code = started(hosted)["user_code"]
    for _ in range(5):  # right codes do not count
        assert ada.get(f"/api/auth/device/{code}").status_code == 200
    wrong = [ada.get("/api/auth/device/BBBB-BBBB").status_code, decided(ada, "BBBB-BBBC"), decided(ada, "CCCC-BBBB")]
    assert wrong == [404, 404, 404]
    refused = ada.request("PUT", f"/api/auth/device/{code}", json={"approve": True})
    assert (refused.status_code, int(refused.headers["Retry-After"]) > 0) == (429, True)
    assert decided(hosted.member("bob"), code) == 200


def test_guessing_codes_is_limited_for_an_address(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_flow, "_GUESSES", 1)
    thieves = [hosted.member(f"thief{number}") for number in range(6)]
    assert [decided(one, "BBBB-BBBB") for one in thieves] == [404] * 5 + [429]


def test_an_address_starts_only_so_many_logins(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_flow, "_STARTS", 2)
    statuses = [hosted.anonymous.post("/api/auth/device", {}).status_code for _ in range(3)]
    assert statuses == [201, 201, 429]


def test_a_stolen_token_approves_no_other_program(hosted: Hosted, ada: Person) -> None:
    code = started(hosted)["user_code"]
    thief = hosted.anonymous
    thief.token = ada.post("/api/tokens", {"name": "CI"}).json()["token"]
    assert [decided(thief, code), thief.get(f"/api/auth/device/{code}").status_code] == [403, 403]


def test_a_page_of_another_site_approves_nothing_with_the_cookie_of_a_browser(hosted: Hosted, ada: Person) -> None:
    begun = started(hosted)
    user = hosted.service.store.users.get(ada.user_id or 0)
    assert user is not None
    browser = {"Cookie": f"mesocosm_session={hosted.service.accounts.signins.start_web(user)}"}
    path = f"/api/auth/device/{begun['user_code']}"
    foreign = {**browser, "Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert hosted.request("PUT", path, json={"approve": True}, headers=foreign).status_code == 403
    assert hosted.request("PUT", path, content=b'{"approve":true}', headers=browser).status_code == 403
    assert polled(hosted, begun["device_code"])["state"] == "pending"
    assert hosted.request("PUT", path, json={"approve": True}, headers=browser).status_code == 200


def test_an_approval_ends_with_the_sessions_of_its_member(hosted: Hosted, ada: Person) -> None:
    begun = started(hosted)
    decided(ada, begun["user_code"])
    user = hosted.service.store.users.get(ada.user_id or 0)
    assert user is not None
    hosted.service.accounts.end_sessions(user)
    assert polled(hosted, begun["device_code"])["state"] == "expired"


def test_an_approval_of_a_disabled_member_is_worth_nothing(hosted: Hosted, ada: Person) -> None:
    begun = started(hosted)
    decided(ada, begun["user_code"])
    hosted.service.store.users.set_disabled(ada.user_id or 0, disabled=True)
    assert polled(hosted, begun["device_code"])["state"] == "expired"


def test_what_was_decided_and_who_logged_in_is_in_the_audit_log(hosted: Hosted, ada: Person) -> None:
    begun = started(hosted)
    decided(ada, begun["user_code"])
    polled(hosted, begun["device_code"])
    decided(ada, started(hosted)["user_code"], approve=False)
    entries = [entry for entry in hosted.service.store.audit.list() if entry.actor == f"user:{ada.user_id}"]
    assert [entry.action for entry in reversed(entries)] == ["device.approve", "auth.login", "device.deny"]
    assert entries[-1].detail == {"program": "mesocosm/1.2", "device": "laptop", "from": "127.0.0.1"}
    assert begun["user_code"] not in str(entries)


def test_without_accounts_there_is_nobody_to_ask(open_hosted: Any) -> None:
    answer = open_hosted(auth_disabled=True).anonymous.post("/api/auth/device", {})
    assert (answer.status_code, "nobody logs in" in answer.json()["detail"]) == (409, True)
