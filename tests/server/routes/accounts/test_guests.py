"""Guests: beginning, being recognised, ending, and how many there may be."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest


def _type(browser: Any, token: str = "") -> str:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return str(browser.get("/api/me", headers=headers).json()["type"])


def test_a_guest_is_known_by_the_token_and_by_the_cookie(browse: Any) -> None:
    browser = browse()
    answer = browser.post("/api/auth/guest")
    assert answer.status_code == 200
    assert answer.json().keys() == {"guest_token", "expires_at"}
    assert _type(browse(), answer.json()["guest_token"]) == "guest"
    assert _type(browser) == "guest"


def test_a_guest_has_the_same_id_by_token_and_cookie(browse: Any) -> None:
    browser = browse()
    token = browser.post("/api/auth/guest").json()["guest_token"]
    by_cookie = browser.get("/api/me").json()["guest_session_id"]
    by_token = browse().get("/api/me", headers={"Authorization": f"Bearer {token}"}).json()["guest_session_id"]
    assert by_cookie == by_token


def test_a_guest_stays_seven_days(browse: Any) -> None:
    ends = datetime.fromisoformat(browse().post("/api/auth/guest").json()["expires_at"])
    assert ends.tzinfo is not None
    assert abs(ends - datetime.now(UTC) - timedelta(days=7)) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ["path=/"]),
        ({"prefix": "/bench"}, ["path=/bench"]),
        ({"prefix": "bench/"}, ["path=/bench"]),
        ({"public_url": "https://example.org/bench"}, ["path=/bench", "secure"]),
        ({"public_url": "https://example.org"}, ["path=/", "secure"]),
    ],
)
def test_the_cookie_of_a_guest_fits_how_the_platform_is_reached(
    open_hosted: Any, settings: dict[str, str], expected: list[str]
) -> None:
    cookie = open_hosted(**settings).anonymous.post("/api/auth/guest").headers["set-cookie"]
    parts = {part.strip().casefold() for part in cookie.split(";")}
    assert cookie.startswith("bench_guest=")
    assert {*expected, "httponly", "samesite=lax", "max-age=604800"} <= parts
    assert ("secure" in parts) is ("secure" in expected)


def test_a_guest_who_left_is_nobody_even_with_the_token(browse: Any) -> None:
    browser = browse()
    token = browser.post("/api/auth/guest").json()["guest_token"]
    kept = dict(browser.cookies)
    answer = browser.post("/api/auth/guest/logout", {})
    assert answer.json() == {"detail": "ok"}
    assert not browser.cookies
    assert _type(browse(), token) == _type(browse(cookies=kept)) == "anonymous"


def test_a_guest_can_leave_by_token_alone(browse: Any) -> None:
    token = browse().post("/api/auth/guest").json()["guest_token"]
    assert browse().post("/api/auth/guest/logout", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    assert _type(browse(), token) == "anonymous"


def test_leaving_without_having_come_is_no_error(browse: Any) -> None:
    assert browse().post("/api/auth/guest/logout").status_code == 200


def test_one_address_gets_only_so_many_guests(open_hosted: Any, make_browser: Any) -> None:
    hosted = open_hosted(guests_per_hour=3)
    answers = [make_browser(hosted).post("/api/auth/guest") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert int(answers[-1].headers["Retry-After"]) > 0
    assert make_browser(hosted, client=("192.0.2.7", 1)).post("/api/auth/guest").status_code == 200


def test_other_addresses_of_one_ipv6_network_are_the_same_place(open_hosted: Any, make_browser: Any) -> None:
    hosted = open_hosted(guests_per_hour=1)
    places = ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:1:3::1"]
    answers = [make_browser(hosted, client=(place, 1)).post("/api/auth/guest").status_code for place in places]
    assert answers == [200, 429, 200]


def test_a_made_up_forwarded_address_does_not_help(open_hosted: Any, make_browser: Any) -> None:
    hosted = open_hosted(guests_per_hour=1)
    forged = [{"X-Forwarded-For": f"192.0.2.{number}"} for number in range(2)]
    answers = [make_browser(hosted).post("/api/auth/guest", headers=headers).status_code for headers in forged]
    assert answers == [200, 429]


def test_behind_a_trusted_proxy_each_client_is_counted_alone(open_hosted: Any, make_browser: Any) -> None:
    hosted = open_hosted(guests_per_hour=1, trusted_proxies=("127.0.0.0/8",))
    given = [{"X-Forwarded-For": f"6.6.6.6, 192.0.2.{number}"} for number in (1, 2, 1)]
    answers = [make_browser(hosted).post("/api/auth/guest", headers=headers).status_code for headers in given]
    assert answers == [200, 200, 429]


def test_where_guests_are_unwanted_there_are_none(open_hosted: Any) -> None:
    hosted = open_hosted(guests=False)
    assert hosted.anonymous.post("/api/auth/guest").status_code == 403
    assert hosted.anonymous.get("/api/auth/ways").json()["guests"] is False


def test_a_guest_is_no_member(hosted: Any) -> None:
    guest = hosted.guest()
    assert guest.get("/api/tokens").status_code == 403
    assert guest.get("/api/me/context").json()["detail"] == "SWECC member account required"
    assert guest.get("/api/admin/users").status_code == 403
