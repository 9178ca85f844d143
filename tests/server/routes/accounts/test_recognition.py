"""Which tokens are believed."""

import base64
import json
import time
from typing import Any

import jwt
import pytest


def _me(browse: Any, token: str) -> Any:
    return browse().get("/api/me", headers={"Authorization": f"Bearer {token}"})


def _key(hosted: Any) -> Any:
    return hosted.service.store.signing_keys.valid()[0]


def _claims(user_id: int = 1, **more: Any) -> dict[str, Any]:
    now = int(time.time())
    return {"user_id": user_id, "username": "ada", "groups": [], "epoch": 0, "iat": now, "exp": now + 600, **more}


def _signed(hosted: Any, claims: dict[str, Any], **given: Any) -> str:
    key = _key(hosted)
    given = {"key": key.secret, "algorithm": "HS256", "headers": {"kid": key.id}, **given}
    return jwt.encode(claims, **given)


def _unsigned(claims: dict[str, Any], kid: str) -> str:
    parts = [{"alg": "none", "typ": "JWT", "kid": kid}, claims]
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*encoded, ""])


@pytest.fixture
def ada(hosted: Any) -> Any:
    return hosted.member("ada")


def test_claims_that_our_key_signed_are_believed(hosted: Any, browse: Any, ada: Any) -> None:
    answer = _me(browse, _signed(hosted, _claims(ada.user_id)))
    assert answer.json()["user_id"] == ada.user_id
    assert "X-Mesocosm-Auth" not in answer.headers


def test_forged_tokens_are_nobodys(hosted: Any, browse: Any, ada: Any) -> None:
    claims, key = _claims(ada.user_id), _key(hosted)
    good = _signed(hosted, claims)
    head, body, signature = good.split(".")
    forged = {
        "alg none": _unsigned(claims, key.id),
        "another key": _signed(hosted, claims, key="x" * 64),
        "another algorithm": _signed(hosted, claims, algorithm="HS512"),
        "unknown kid": _signed(hosted, claims, headers={"kid": "other"}),
        "no kid": _signed(hosted, claims, headers={}),
        "no signature": f"{head}.{body}.",
        "changed": f"{head}.{body[:-2]}AA.{signature}",
        "a guest's type": _signed(hosted, {**claims, "type": "bench_guest"}),
        "another type": _signed(hosted, {**claims, "type": "oidc"}),
        "nobody's number": _signed(hosted, {**claims, "user_id": 4711}),
        "a huge number": _signed(hosted, {**claims, "user_id": 10**30}),
        "a name for a number": _signed(hosted, {**claims, "user_id": "1"}),
        "older epoch": _signed(hosted, {**claims, "epoch": -1}),
        "no epoch": _signed(hosted, {name: value for name, value in claims.items() if name != "epoch"}),
        "no end": _signed(hosted, {name: value for name, value in claims.items() if name != "exp"}),
        "of tomorrow": _signed(hosted, {**claims, "nbf": time.time() + 86_400}),
        "huge": _signed(hosted, {**claims, "more": "x" * 10_000}),
        "garbage": "a.b.c",
        "nothing": "",
    }
    found = {name: _me(browse, token) for name, token in forged.items()}
    believed = [name for name, answer in found.items() if answer.json()["type"] != "anonymous"]
    assert believed == []
    assert {answer.headers["X-Mesocosm-Auth"] for answer in found.values()} == {"invalid"}


def test_an_expired_token_says_so_and_its_bearer_is_nobody(hosted: Any, browse: Any, ada: Any) -> None:
    answer = _me(browse, _signed(hosted, _claims(ada.user_id, exp=int(time.time()) - 60)))
    assert (answer.status_code, answer.json()["type"]) == (200, "anonymous")
    assert answer.headers["X-Mesocosm-Auth"] == "expired"


def test_a_guest_token_whose_guest_is_unknown_is_invalid(hosted: Any, browse: Any) -> None:
    now = int(time.time())
    claims = {"type": "bench_guest", "guest_session_id": "\ud800", "iat": now, "exp": now + 60}
    assert _me(browse, _signed(hosted, claims)).headers["X-Mesocosm-Auth"] == "invalid"


def test_odd_bearer_tokens_are_nobodys(browse: Any) -> None:
    browser = browse()
    for header in (b"Bearer", b"bearer  ", b"Bearer \xff\xfe", b"Bearer mct_", b"BEARER x"):
        answer = browser.get("/api/me", headers={"Authorization": header})
        assert (header, answer.status_code, answer.json()["type"]) == (header, 200, "anonymous")
        assert answer.headers["X-Mesocosm-Auth"] == "invalid"


def test_what_a_browser_sends_for_a_proxy_is_no_token_and_frees_of_nothing(hosted: Any, browse: Any, ada: Any) -> None:
    user = hosted.service.store.users.get(ada.user_id)
    browser = browse(cookies={"mesocosm_session": hosted.service.accounts.signins.start_web(user)})
    headers = {"Authorization": "Basic YTpi"}
    assert browser.get("/api/me", headers=headers).json()["username"] == "ada"
    foreign = {**headers, "Origin": "https://evil.example"}
    assert browser.post("/api/tokens", {"name": "CI"}, headers=foreign).status_code == 403
    assert browse().get("/api/me", headers=headers).json()["type"] == "anonymous"


def test_a_wrong_token_is_not_made_good_by_a_cookie(hosted: Any, browse: Any, ada: Any) -> None:
    user = hosted.service.store.users.get(ada.user_id)
    browser = browse(cookies={"mesocosm_session": hosted.service.accounts.signins.start_web(user)})
    assert browser.get("/api/me").json()["way"] == "web"
    assert browser.get("/api/me", headers={"Authorization": "Bearer x"}).json()["type"] == "anonymous"


def test_a_member_goes_before_the_guest_they_were(hosted: Any, browse: Any, ada: Any) -> None:
    browser = browse()
    browser.post("/api/auth/guest")
    user = hosted.service.store.users.get(ada.user_id)
    browser.cookies.set("mesocosm_session", hosted.service.accounts.signins.start_web(user))
    assert browser.get("/api/me").json()["type"] == "member"


def test_a_member_token_in_the_guest_cookie_is_nobodys(browse: Any, ada: Any) -> None:
    assert browse(cookies={"bench_guest": ada.token}).get("/api/me").json()["type"] == "anonymous"


def test_a_disabled_member_is_nobody_at_once(hosted: Any, browse: Any, ada: Any) -> None:
    hosted.service.store.users.set_disabled(ada.user_id, disabled=True)
    answer = _me(browse, ada.token)
    assert answer.json()["type"] == "anonymous"
    assert answer.headers["X-Mesocosm-Auth"] == "invalid"


def test_ending_all_sessions_ends_tokens_cookies_and_refreshing(hosted: Any, browse: Any, ada: Any) -> None:
    accounts = hosted.service.accounts
    user = accounts.users.get(ada.user_id)
    cookie, refresh = accounts.signins.start_web(user), accounts.signins.start_refresh(user)[1]
    accounts.end_sessions(user)
    assert _me(browse, ada.token).json()["type"] == "anonymous"
    assert browse(cookies={"mesocosm_session": cookie}).get("/api/me").json()["type"] == "anonymous"
    assert browse().post("/auth/refresh/", {"refresh_token": refresh}).status_code == 401


def test_who_was_checked_before_all_sessions_ended_gets_none_after(hosted: Any, ada: Any) -> None:
    accounts = hosted.service.accounts
    earlier = accounts.users.get(ada.user_id)
    accounts.end_sessions(earlier)
    with pytest.raises(Exception, match="ended just now"):
        accounts.signins.start_web(earlier)


def test_after_a_rotation_old_tokens_stay_valid_and_new_ones_have_another_key(
    hosted: Any, browse: Any, ada: Any
) -> None:
    accounts = hosted.service.accounts
    key = accounts.rotate_keys()
    newer = accounts.access_token(accounts.users.get(ada.user_id))
    assert jwt.get_unverified_header(newer)["kid"] == key
    assert jwt.get_unverified_header(ada.token)["kid"] != key
    assert [_me(browse, token).json()["type"] for token in (ada.token, newer)] == ["member", "member"]


def test_a_rotation_at_once_ends_everything_signed_before(hosted: Any, browse: Any, ada: Any) -> None:
    guest = hosted.guest()
    hosted.service.accounts.rotate_keys(at_once=True)
    assert [_me(browse, token).json()["type"] for token in (ada.token, guest.token)] == ["anonymous"] * 2
    newer = hosted.service.accounts.access_token(hosted.service.store.users.get(ada.user_id))
    assert _me(browse, newer).json()["type"] == "member"


def test_a_key_that_another_server_made_is_found(hosted: Any, browse: Any, ada: Any, monkeypatch: Any) -> None:
    _me(browse, ada.token)
    hosted.service.store.signing_keys.rotate(3600)
    monkeypatch.setattr(hosted.service.accounts.signer, "_read_at", time.monotonic() - 2)
    token = _signed(hosted, _claims(ada.user_id))
    assert _me(browse, token).json()["type"] == "member"


def test_with_accounts_switched_off_everybody_is_the_local_administrator(open_hosted: Any) -> None:
    me = open_hosted(auth_disabled=True).anonymous.get("/api/me").json()
    assert (me["type"], me["user_id"], me["username"], me["role"]) == ("member", 0, "local", "admin")
