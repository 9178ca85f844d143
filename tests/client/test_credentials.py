"""The saved login: what stands in its file, who can read it, and who calls by it."""

import base64
import json
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from mesocosm.client import credentials
from mesocosm.client.credentials import Credentials
from mesocosm.client.identity import claims, ends_at, identify
from mesocosm.core.failure import UsageError


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the login is kept."""
    for name in ("SWECC_BENCH_TOKEN", "SWECC_BENCH_GUEST_TOKEN", "BENCH_AUTH_DISABLED", "MESOCOSM_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "config" / "login.json"
    monkeypatch.setenv("SWECC_BENCH_CREDENTIALS", str(path))
    return path


def token(**said: Any) -> str:
    return f"h.{base64.urlsafe_b64encode(json.dumps(said).encode()).decode().rstrip('=')}.s"


def test_only_the_owner_can_read_the_file_whatever_it_was_before(place: Path) -> None:
    place.parent.mkdir()
    place.write_text("{}")
    place.chmod(0o644)

    credentials.write(Credentials("member", "t", "http://s", "http://b", "team", "r", "ada"))

    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert json.loads(place.read_text()) == {
        "mode": "member",
        "token": "t",
        "server_url": "http://s",
        "bench_url": "http://b",
        "active_team_id": "team",
        "refresh_token": "r",
        "username": "ada",
    }
    assert place.read_text().startswith('{\n  "mode"')
    assert place.read_text().endswith("}\n")


def test_without_a_file_nobody_is_logged_in() -> None:
    assert credentials.read() == Credentials()
    assert not credentials.forget()


def test_keys_of_other_programs_stay_in_the_file(place: Path) -> None:
    credentials.write_document({"token": "t", "colour": "red", "mode": 5})

    credentials.choose_team("reefs")

    assert json.loads(place.read_text()) == {"token": "t", "active_team_id": "reefs", "colour": "red"}


@pytest.mark.parametrize("text", [b"{", b"[]", b"5", b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_file_is_named_with_the_remedy(place: Path, text: bytes) -> None:
    place.parent.mkdir()
    place.write_bytes(text)

    with pytest.raises(UsageError, match=r"login\.json .*remove it and log in again"):
        credentials.read()


def test_changes_at_the_same_time_lose_nothing() -> None:
    credentials.write_document({"token": "t"})

    def add(name: str) -> None:
        with credentials.locked():
            credentials.write_document({**credentials.read_document(), name: name})

    threads = [threading.Thread(target=add, args=(f"key-{number}",)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(credentials.read_document()) == 13


def test_a_home_that_cannot_be_found_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWECC_BENCH_CREDENTIALS", "~no-such-user-anywhere/login.json")

    with pytest.raises(UsageError, match="SWECC_BENCH_CREDENTIALS"):
        credentials.place()


def test_the_token_comes_from_the_nearest_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def caller(given: str | None = None) -> tuple[str, str, str]:
        found = identify("http://b", given)
        return found.token, found.mode, found.way

    assert caller() == ("", "", "")
    credentials.write(Credentials("guest", "saved"))
    assert caller() == ("saved", "guest", "saved")
    monkeypatch.setenv("SWECC_BENCH_GUEST_TOKEN", "visiting")
    assert caller() == ("visiting", "guest", "variable")
    monkeypatch.setenv("SWECC_BENCH_TOKEN", "working")
    assert caller() == ("working", "member", "variable")
    monkeypatch.setenv("BENCH_AUTH_DISABLED", "Yes")
    assert caller() == ("", "member", "open")
    assert caller("given") == ("given", "member", "given")
    assert caller(token(type="bench_guest"))[1] == "guest"


def test_only_a_saved_login_with_what_renews_it_is_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    credentials.write(Credentials("member", "t", "http://s", refresh_token="r"))
    assert identify("http://b").renewable
    assert not identify("http://b", "given").renewable
    monkeypatch.setenv("SWECC_BENCH_TOKEN", "working")
    assert not identify("http://b").renewable
    assert not identify("http://b").renew()


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://one.example/bench", True),
        ("https://one.example:8443", True),
        ("https://login.example/bench", True),
        ("https://two.example", False),
        ("https://one.example.evil.example", False),
        ("http://127.0.0.1:8010", False),
    ],
)
def test_a_saved_login_is_sent_only_to_the_platform_that_it_is_for(url: str, sent: bool) -> None:
    saved = Credentials("member", "t", "https://login.example", "https://one.example/bench", active_team_id="team")
    credentials.write(saved)
    caller = identify(url)
    assert (caller.token == "t", caller.team_id == "team", caller.elsewhere == "") == (sent, sent, sent)


@pytest.mark.parametrize("text", ["", "a.b", "a.!.c", "a.e30.c", "mct_x", f"a.{base64.b64encode(b'[1]').decode()}.c"])
def test_a_token_that_says_nothing_ends_nobody_knows_when(text: str) -> None:
    assert ends_at(text) is None
    assert claims(text) == {}


def test_the_end_of_a_token_is_read() -> None:
    assert ends_at(token(exp=12)) == 12.0
    assert ends_at(token(exp="soon")) is None
