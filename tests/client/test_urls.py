"""Where a platform and its login server are, by the order of precedence."""

import pytest

from mesocosm.client.urls import (
    LOCAL,
    PRODUCTION,
    checked,
    is_local,
    login_server,
    resolve_url,
    url_of_login_server,
    without_credentials,
)
from mesocosm.core.failure import UsageError

VARIABLES = ("MESOCOSM_BASE_URL", "SWECC_BENCH_URL", "BENCH_API_URL")


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*VARIABLES, "MESOCOSM_LOCAL", "SWECC_SERVER_URL"):
        monkeypatch.delenv(name, raising=False)


def test_each_place_goes_before_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_url() == PRODUCTION
    monkeypatch.setenv("MESOCOSM_LOCAL", "On")
    assert resolve_url() == LOCAL
    assert resolve_url(server="https://accounts.example") == "https://accounts.example/bench"
    assert resolve_url(saved="https://b.example/", server="https://accounts.example") == "https://b.example"
    for name in reversed(VARIABLES):
        monkeypatch.setenv(name, f"http://{name.lower().replace('_', '-')}/")
        assert resolve_url(saved="https://b.example") == f"http://{name.lower().replace('_', '-')}"
    assert resolve_url("http://given/x/") == "http://given/x"


@pytest.mark.parametrize("left_over", [LOCAL, "http://localhost:8010", "http://[::1]:8010", "http://127.1.2.3"])
def test_a_local_platform_left_over_from_before_a_login_elsewhere_does_not_count(left_over: str) -> None:
    assert resolve_url(saved=left_over, server="https://api.swecc.org") == PRODUCTION
    assert resolve_url(saved=left_over, server="http://localhost:8000") == left_over


@pytest.mark.parametrize(
    ("server", "platform"),
    [
        ("https://api.swecc.org", PRODUCTION),
        ("http://localhost:8000", LOCAL),
        ("http://127.0.0.1:8000/", LOCAL),
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000/bench"),
        ("https://accounts.example/", "https://accounts.example/bench"),
    ],
)
def test_the_platform_follows_from_the_login_server(server: str, platform: str) -> None:
    assert url_of_login_server(server) == platform


def test_the_login_server_has_an_order_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert login_server() == "https://api.swecc.org"
    monkeypatch.setenv("MESOCOSM_LOCAL", "1")
    assert login_server() == "http://127.0.0.1:8000"
    monkeypatch.setenv("SWECC_SERVER_URL", "https://accounts.example/")
    assert login_server() == "https://accounts.example"
    assert login_server("http://given/") == "http://given"


def test_passwords_go_to_the_platform_that_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert login_server(base_url="https://bench.example/bench/") == "https://bench.example/bench"
    monkeypatch.setenv("MESOCOSM_BASE_URL", "https://other.example")
    assert login_server() == "https://other.example"
    assert login_server(saved="https://before.example") == "https://other.example"
    monkeypatch.setenv("MESOCOSM_BASE_URL", "https://api.swecc.org/bench")
    assert login_server() == "https://api.swecc.org"


def test_without_a_name_passwords_go_where_the_login_before_was() -> None:
    assert login_server(saved="https://before.example") == "https://before.example"


@pytest.mark.parametrize("url", ["", "platform", "ftp://x", "http://", "http://[x", "http://h:port", "file:/etc"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="is not a URL of a server"):
        checked(url)


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://LOCALHOST.:1", True),
        ("http://me.localhost", True),
        ("https://127.0.0.1", True),
        ("https://127.1", True),
        ("https://127.0.0.1.example", False),
        ("https://127.example", False),
        ("https://local.example", False),
        ("nonsense", False),
    ],
)
def test_this_machine_is_known_by_its_names(url: str, local: bool) -> None:
    assert is_local(url) is local


def test_a_name_and_password_in_an_address_are_not_shown() -> None:
    assert without_credentials("http://ada:secret@host:1/x?y") == "http://host:1/x?y"
    assert without_credentials("http://[x") == "http://[x"
