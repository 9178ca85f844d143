"""Logins: the credentials file, sessions, and the way of a member to a token, with a server on loopback."""

import asyncio
import base64
import json
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench_common.auth import (
    LoginFailed,
    clear_credentials,
    fetch_csrf,
    fetch_jwt,
    get_bench_session,
    load_credentials,
    login,
    save_credentials,
)
from bench_common.core.errors import BenchError
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response

PASSWORD = "anchor"
LOCAL = "http://127.0.0.1:8010"


def token(user: int, salt: str = "") -> str:
    payload = base64.urlsafe_b64encode(json.dumps({"user_id": user, "salt": salt}).encode()).decode().rstrip("=")
    return f"h.{payload}.s"


class Accounts(LoopbackServer):
    """The server of the accounts; `user` is who has the password, `refusal` an answer to every login."""

    def __init__(self) -> None:
        super().__init__()
        self.user = 7
        self.refusal: tuple[int, Any] | None = None
        self.jwt: Any = None
        self.logins: list[ReceivedRequest] = []

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        cookies = request.header("cookie") or ""
        if request.path == "/auth/csrf/":
            connection.send(response(200, b"{}", "X-CSRFToken: seal\r\nSet-Cookie: csrftoken=seal; Path=/\r\n"))
        elif request.path == "/auth/login/":
            self.logins.append(request)
            right = request.body["password"] == PASSWORD and "csrftoken=seal" in cookies
            status, body = self.refusal or ((200, {}) if right else (401, {"detail": "no"}))
            headers = "Set-Cookie: sessionid=open; Path=/\r\n" if status == 200 else ""
            connection.send(response(status, msgspec.json.encode(body), headers))
        elif request.path == "/auth/jwt/" and "sessionid=open" in cookies:
            answer = self.jwt if self.jwt is not None else {"token": token(self.user, str(len(self.logins)))}
            connection.send(response(200, msgspec.json.encode(answer)))
        elif request.path == "/v1/me":
            connection.send(response(200, msgspec.json.encode({"auth": request.header("authorization")})))
        else:
            connection.send(response(401, b"{}"))


@pytest.fixture
async def accounts() -> AsyncIterator[Accounts]:
    async with Accounts() as server:
        yield server


@pytest.fixture(autouse=True)
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config" / "credentials.json"
    monkeypatch.setenv("SWECC_BENCH_CREDENTIALS", str(path))
    return path


def test_a_login_is_saved_for_its_owner_alone(saved: Path) -> None:
    assert load_credentials() == {}
    save_credentials({"mode": "member", "token": "t"})
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert saved.read_text() == '{\n  "mode": "member",\n  "token": "t"\n}\n'
    assert load_credentials() == {"mode": "member", "token": "t"}
    saved.chmod(0o644)
    save_credentials({"token": "u"})
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]
    clear_credentials()
    clear_credentials()
    assert load_credentials() == {}


@pytest.mark.parametrize("text", ["{", "[]", "\x80"])
def test_a_damaged_file_is_named(saved: Path, text: str) -> None:
    saved.parent.mkdir()
    saved.write_text(text, encoding="latin-1")
    with pytest.raises(BenchError, match=r"credentials\.json .*remove it and log in again"):
        load_credentials()


def test_a_failed_save_leaves_the_old_login(saved: Path) -> None:
    save_credentials({"token": "t"})
    with pytest.raises(TypeError):
        save_credentials({"token": object()})
    assert load_credentials() == {"token": "t"}
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_the_token_comes_from_the_nearest_place(monkeypatch: pytest.MonkeyPatch) -> None:
    save_credentials({"mode": "guest", "token": "saved", "bench_url": "http://b.example", "active_team_id": "team"})
    session = get_bench_session()
    assert (session.token, session.mode, session.base_url, session.team_id) == (
        "saved",
        "guest",
        "http://b.example",
        "team",
    )
    monkeypatch.setenv("SWECC_BENCH_GUEST_TOKEN", "guest")
    assert (get_bench_session().token, get_bench_session().mode) == ("guest", "guest")
    monkeypatch.setenv("SWECC_BENCH_TOKEN", "member")
    assert (get_bench_session().token, get_bench_session().mode) == ("member", "member")
    given = get_bench_session("http://c.example/", "given")
    assert (given.token, given.mode, given.base_url) == ("given", "member", "http://c.example")
    assert given.headers == {"Authorization": "Bearer given"}


def test_without_a_token_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BenchError, match="nobody is logged in"):
        get_bench_session()
    monkeypatch.setenv("BENCH_AUTH_DISABLED", "Yes")
    assert get_bench_session().token == ""


@pytest.mark.parametrize(
    ("credentials", "url"),
    [
        ({}, "https://api.swecc.org/bench"),
        ({"server_url": "https://api.swecc.org"}, "https://api.swecc.org/bench"),
        ({"server_url": "http://localhost:8000"}, LOCAL),
        ({"server_url": "https://accounts.example"}, "https://accounts.example/bench"),
        ({"server_url": "https://accounts.example", "bench_url": "https://b.example"}, "https://b.example"),
        ({"server_url": "https://accounts.example", "bench_url": LOCAL}, "https://accounts.example/bench"),
    ],
)
def test_the_platform_is_where_the_login_was_made(credentials: dict[str, str], url: str) -> None:
    save_credentials({**credentials, "token": "t"})
    assert get_bench_session().base_url == url


def test_a_variable_names_the_platform_before_the_login_does(monkeypatch: pytest.MonkeyPatch) -> None:
    save_credentials({"token": "t", "server_url": "https://accounts.example"})
    monkeypatch.setenv("BENCH_API_URL", "https://d.example")
    assert get_bench_session().base_url == "https://d.example"


async def test_a_member_logs_in(accounts: Accounts) -> None:
    made = await asyncio.to_thread(login, f"{accounts.url}/", username="ada", password=PASSWORD)
    assert made == {
        "mode": "member",
        "token": token(7, "1"),
        "server_url": accounts.url,
        "bench_url": f"{accounts.url}/bench",
    }
    assert load_credentials() == made
    request = accounts.logins[0]
    assert (request.header("x-csrftoken"), request.body) == (
        "seal",
        {"username": "ada", "password": PASSWORD, "refresh": True},
    )


async def test_what_is_not_given_is_asked_for(accounts: Accounts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWECC_SERVER_URL", accounts.url)
    monkeypatch.setattr("builtins.input", lambda _prompt: "")
    monkeypatch.setattr("getpass.getpass", lambda _prompt: PASSWORD)
    monkeypatch.setattr("getpass.getuser", lambda: "grace")
    await asyncio.to_thread(login)
    assert accounts.logins[0].body["username"] == "grace"


async def test_the_team_stays_only_with_the_same_user_at_the_same_server(accounts: Accounts) -> None:
    async def again() -> Any:
        made = await asyncio.to_thread(login, accounts.url, username="ada", password=PASSWORD)
        return made.get("active_team_id")

    save_credentials({"token": token(7), "server_url": accounts.url, "active_team_id": "team"})
    assert await again() == "team"
    accounts.user = 8
    assert await again() is None
    save_credentials({"token": token(8), "server_url": "https://other.example", "active_team_id": "team"})
    assert await again() is None
    save_credentials({"token": "unreadable", "server_url": accounts.url, "active_team_id": "team"})
    assert await again() is None


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        ((400, {}), "user name or password is wrong"),
        ((401, {"detail": "no"}), "user name or password is wrong"),
        ((403, {"detail": "not a member"}), "access denied: not a member"),
        ((500, {"detail": "the sea is rough"}), "HTTP 500 from .*the sea is rough"),
    ],
)
async def test_a_refusal_says_why(accounts: Accounts, refusal: tuple[int, Any], words: str) -> None:
    save_credentials({"token": "before"})
    accounts.refusal = refusal
    with pytest.raises(LoginFailed, match=words) as caught:
        await asyncio.to_thread(login, accounts.url, username="ada", password=PASSWORD)
    assert PASSWORD not in str(caught.value)
    assert load_credentials() == {"token": "before"}


@pytest.mark.parametrize("answer", [{}, {"jwt": "x"}, [], "text"])
async def test_an_answer_without_a_token_is_no_login(accounts: Accounts, answer: Any) -> None:
    accounts.jwt = answer
    with pytest.raises(LoginFailed, match="without a token"):
        await asyncio.to_thread(login, accounts.url, username="ada", password=PASSWORD)


async def test_a_token_needs_a_login_first(accounts: Accounts) -> None:
    assert await asyncio.to_thread(fetch_csrf, accounts.url) == "seal"
    with pytest.raises(LoginFailed, match="wrong"):
        await asyncio.to_thread(fetch_jwt, accounts.url)


async def test_a_server_without_csrf_tokens_is_the_wrong_one() -> None:
    class Other(LoopbackServer):
        def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
            connection.send(response(200, b"{}"))

    async with Other() as server:
        with pytest.raises(LoginFailed, match="no X-CSRFToken"):
            await asyncio.to_thread(fetch_csrf, server.url)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1:1", "got no answer"),
        ("ftp://a", "is not a URL"),
        ("http://[", "is not a URL"),
        ("word", "is not a URL"),
    ],
)
def test_a_server_that_cannot_be_reached_is_named(url: str, words: str) -> None:
    with pytest.raises(LoginFailed, match=words):
        login(url, username="ada", password=PASSWORD)


def test_an_empty_name_or_password_is_refused() -> None:
    with pytest.raises(LoginFailed, match="must not be empty"):
        login("http://127.0.0.1:1", username="ada", password="")


async def test_a_session_calls_its_platform(accounts: Accounts) -> None:
    session = get_bench_session(accounts.url, "given")
    assert await asyncio.to_thread(session.call, "GET", "/v1/me") == {"auth": "Bearer given"}
