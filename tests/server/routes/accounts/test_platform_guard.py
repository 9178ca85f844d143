"""What pages of other sites cannot do, names, and headers."""

from typing import Any

import pytest
from starlette.datastructures import Headers

from mesocosm.server.settings import read_settings
from mesocosm.server.web.guard import Guard

PASSWORD = "correct horse battery staple"
FRIEND = "https://friend.example"


@pytest.fixture
def hosted(open_hosted: Any) -> Any:
    return open_hosted(cors_origins=(FRIEND,))


@pytest.fixture
def signed_in(hosted: Any, browse: Any) -> Any:
    hosted.member("ada")
    browser = browse()
    assert browser.post("/api/auth/login", {"username": "ada", "password": PASSWORD}).status_code == 200
    return browser


TOKEN = {"name": "CI"}


def test_our_own_page_may_change_something(signed_in: Any) -> None:
    headers = {"Origin": "http://127.0.0.1:8010", "Sec-Fetch-Site": "same-origin"}
    assert signed_in.post("/api/tokens", TOKEN, headers=headers).status_code == 201


FOREIGN = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:9999"},
    {"Origin": "http://127.0.0.1:8010.evil.example"},
    {"Origin": "http://[", "Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "X-Mesocosm": "1"},
]


def test_a_page_of_another_site_may_change_nothing(signed_in: Any) -> None:
    answers = [signed_in.post("/api/tokens", TOKEN, headers=headers) for headers in FOREIGN]
    assert [answer.status_code for answer in answers] == [403] * len(FOREIGN)
    assert {answer.json()["code"] for answer in answers} == {"foreign_page"}
    assert signed_in.get("/api/tokens").json() == []


def test_what_a_form_can_send_changes_nothing_for_who_is_known_by_a_cookie(signed_in: Any) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        sent = {"content": b'{"name": "CI"}', "headers": {"Content-Type": kind}}
        assert signed_in.request("POST", "/api/tokens", **sent).status_code == 403
        assert signed_in.request("POST", "/api/auth/logout", headers={"Content-Type": kind}).status_code == 403
    assert signed_in.get("/api/tokens").json() == []


def test_a_change_without_a_body_needs_our_header(signed_in: Any) -> None:
    token_id = signed_in.post("/api/tokens", TOKEN).json()["id"]
    assert signed_in.request("DELETE", f"/api/tokens/{token_id}").status_code == 403
    assert signed_in.request("DELETE", f"/api/tokens/{token_id}", headers={"X-Mesocosm": "1"}).status_code == 204


def test_a_guest_cookie_is_guarded_too(browse: Any) -> None:
    browser = browse()
    browser.post("/api/auth/guest")
    assert browser.post("/api/auth/guest/logout").status_code == 403
    assert browser.post("/api/auth/guest/logout", headers={"X-Mesocosm": "1"}).status_code == 200


def test_another_site_cannot_sign_somebody_in(hosted: Any, browse: Any) -> None:
    hosted.member("mallory")
    body = {"username": "mallory", "password": PASSWORD}
    answer = browse().post("/api/auth/login", body, headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_who_brings_a_token_is_not_asked_where_they_come_from(hosted: Any, browse: Any) -> None:
    headers = {"Authorization": f"Bearer {hosted.member('ada').token}", "Origin": "https://evil.example"}
    assert browse().post("/api/tokens", TOKEN, headers=headers).status_code == 201


def test_reading_needs_nothing_but_is_not_shared_with_other_sites(signed_in: Any) -> None:
    answer = signed_in.get("/api/me", headers={"Origin": "https://evil.example"})
    assert answer.status_code == 200
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_a_site_that_we_know_may_use_the_platform_with_cookies(signed_in: Any) -> None:
    headers = {"Origin": FRIEND, "Sec-Fetch-Site": "cross-site"}
    answer = signed_in.post("/api/tokens", TOKEN, headers=headers)
    assert answer.status_code == 201
    assert answer.headers["Access-Control-Allow-Origin"] == FRIEND
    assert answer.headers["Access-Control-Allow-Credentials"] == "true"
    assert "origin" in answer.headers["Vary"].casefold()


def test_only_sites_that_we_know_are_told_what_they_may_send(browse: Any) -> None:
    for origin, shared in ((FRIEND, FRIEND), ("https://evil.example", None)):
        headers = {"Origin": origin, "Access-Control-Request-Method": "DELETE"}
        answer = browse().request("OPTIONS", "/api/tokens/x", headers=headers)
        assert answer.status_code == 204
        assert answer.headers.get("Access-Control-Allow-Origin") == shared
        assert ("DELETE" in answer.headers.get("Access-Control-Allow-Methods", "")) is (shared is not None)


def test_refusals_are_shared_with_sites_that_we_know(browse: Any) -> None:
    answer = browse().get("/api/tokens", headers={"Origin": FRIEND})
    assert answer.status_code == 401
    assert answer.headers["Access-Control-Allow-Origin"] == FRIEND


def test_every_answer_has_the_headers_that_protect_it(browse: Any) -> None:
    browser = browse()
    for path in ("/api/me", "/v1/nothing", "/"):
        headers = browser.get(path).headers
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"


def test_a_platform_with_names_answers_to_them_and_to_addresses(open_hosted: Any, make_browser: Any) -> None:
    browser = make_browser(open_hosted(public_url="https://mc.example/bench", names=("other.example",)))
    own = ["mc.example", "MC.example:443", "other.example", "localhost:8010", "10.1.2.3:8010", "[::1]:8010"]
    others = ["evil.example", "mc.example.evil.example", "user@mc.example", ""]
    found = {host: browser.get("/api/me", headers={"Host": host}).status_code for host in (*own, *others)}
    assert found == {**dict.fromkeys(own, 200), **dict.fromkeys(others, 421)}


def test_load_balancers_may_ask_for_its_health_under_any_name(open_hosted: Any, make_browser: Any) -> None:
    browser = make_browser(open_hosted(names=("mc.example",)))
    assert browser.get("/health", headers={"Host": "anything"}).status_code != 421


def test_a_platform_without_names_answers_to_any(browse: Any) -> None:
    assert browse().get("/api/me", headers={"Host": "anything.example"}).status_code == 200


def test_its_pages_may_use_a_platform_behind_a_proxy_that_hides_its_name(open_hosted: Any, make_browser: Any) -> None:
    browser = make_browser(open_hosted(public_url="https://mc.example"))
    headers = {"Origin": "https://mc.example", "Host": "10.0.0.1:8010"}
    assert browser.post("/api/auth/logout", {}, headers=headers).status_code == 200


def test_a_request_with_two_hosts_is_refused(hosted: Any) -> None:
    guard = Guard(hosted.app, read_settings())
    scope = {"type": "http", "method": "GET", "path": "/api/me"}
    named = (b"host", b"127.0.0.1")
    assert guard.refusal(scope, Headers(raw=[named])) is None
    refusal = guard.refusal(scope, Headers(raw=[named, (b"host", b"evil.example")]))
    assert refusal is not None
    assert refusal.status == 400


REBOUND = ["evil.example", "evil.example:8010", "127.0.0.1.evil.example", "192.168.1.5:8010", "0.0.0.0", "", "[::2]"]
OPEN = ["/api/me", "/api/domains", "/api/runs", "/api/admin/status", "/metrics", "/auth/csrf/", "/docs", "/"]


@pytest.mark.parametrize("path", OPEN)
def test_without_accounts_a_foreign_name_is_never_the_administrator(open_hosted: Any, path: str) -> None:
    hosted = open_hosted(auth_disabled=True)
    answers = [hosted.request("GET", path, headers={"Host": host}) for host in REBOUND]
    assert [answer.status_code for answer in answers] == [421] * len(REBOUND)
    for host in ("127.0.0.1:8010", "localhost:8010", "[::1]:8010"):
        assert hosted.request("GET", path, headers={"Host": host, "Accept": "text/html"}).status_code != 421


def test_without_accounts_the_names_of_the_settings_are_answered(open_hosted: Any) -> None:
    hosted = open_hosted(auth_disabled=True, host="Box.local", names="192.168.1.5", public_url="https://bench.example")
    for host, status in (("box.local:1", 200), ("192.168.1.5", 200), ("bench.example", 200), ("evil.example", 421)):
        assert hosted.request("GET", "/api/me", headers={"Host": host}).status_code == status


@pytest.mark.parametrize("path", ["/api/me", "/api/runs", "/api/live", "/metrics", "/auth/csrf/"])
def test_without_accounts_a_page_of_another_site_reads_nothing(open_hosted: Any, path: str) -> None:
    hosted = open_hosted(auth_disabled=True)
    for headers in FOREIGN:
        for token in ({}, {"Authorization": "Bearer x"}):
            assert hosted.request("GET", path, headers={**headers, **token}).status_code == 403


def test_without_accounts_a_page_of_another_site_changes_nothing_whatever_it_brings(open_hosted: Any) -> None:
    hosted = open_hosted(auth_disabled=True)
    for headers in FOREIGN:
        sent = {**headers, "Authorization": "Bearer x", "X-Mesocosm": "1"}
        assert hosted.request("POST", "/api/teams", json={"name": "theirs"}, headers=sent).status_code == 403


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
def test_a_page_in_a_browser_of_this_machine_reads_no_numbers(hosted: Any, headers: dict[str, str]) -> None:
    assert hosted.request("GET", "/metrics").status_code == 200
    assert hosted.request("GET", "/metrics", headers=headers).status_code == 401
