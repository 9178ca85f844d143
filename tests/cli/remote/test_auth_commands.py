"""`mesocosm auth …` against a platform: login, guests, whoami, tokens, and how a login is renewed."""

import json
import stat
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select, update

from mesocosm import __version__
from mesocosm.client import Client, login
from mesocosm.client.credentials import Credentials, read, write
from mesocosm.client.login import log_in
from mesocosm.server.auth import device_flow
from mesocosm.store.device_logins import DeviceState
from mesocosm.store.tenancy import device_logins

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke
    from tests.cli.remote.conftest import Open, Platform

PASSWORD = "correct horse battery staple"


@pytest.fixture
def ada(platform: "Platform") -> "Platform":
    """A platform that knows ada and her password."""
    platform.add_with_password("ada")
    return platform


def test_a_login_reads_name_and_password_where_nobody_can_be_asked(ada: "Platform", alone: Path) -> None:
    seen = ada("auth", "login", "--server-url", f"{ada.url}/", stdin=f"ada\n{PASSWORD}\n")

    assert (seen.code, seen.out) == (0, "Logged in.\n")
    assert seen.err == f"ada at {ada.url}\n"
    saved = json.loads(alone.read_text())
    assert list(saved) == ["mode", "token", "server_url", "bench_url", "refresh_token", "username"]
    assert (saved["mode"], saved["server_url"], saved["bench_url"]) == ("member", ada.url, ada.url)
    assert stat.S_IMODE(alone.stat().st_mode) == 0o600
    assert PASSWORD not in alone.read_text()


@pytest.mark.parametrize(("words", "stdin"), [(("--password-stdin",), PASSWORD), ((), f"{PASSWORD}\n")])
def test_a_login_takes_the_name_from_a_flag(ada: "Platform", words: tuple[str, ...], stdin: str) -> None:
    seen = ada("auth", "login", "--server-url", ada.url, "--username", "ada", *words, "--json", stdin=stdin)

    assert seen.code == 0
    facts = {"mode": "member", "username": "ada", "server_url": ada.url, "bench_url": ada.url, "active_team_id": None}
    assert seen.document == facts


def test_a_given_platform_is_kept_with_the_login(ada: "Platform") -> None:
    ada("auth", "login", "--server-url", ada.url, "--bench-url", "http://127.0.0.1:1/b", stdin=f"ada\n{PASSWORD}\n")

    assert read().bench_url == "http://127.0.0.1:1/b"


@pytest.mark.parametrize(
    ("words", "stdin", "said"),
    [
        ((), "ada\nwrong password\n", "error: user name or password is wrong"),
        (("--username", "ada"), "", "error: Password cannot be empty."),
        (("--username", " "), "x\n", "error: Username cannot be empty."),
    ],
)
def test_a_login_that_fails_says_why_and_leaves_the_one_before(
    ada: "Platform", words: tuple[str, ...], stdin: str, said: str
) -> None:
    before = read()

    seen = ada("auth", "login", "--server-url", ada.url, *words, stdin=stdin)

    assert (seen.code, seen.out) == (1, "")
    assert said in seen.err
    assert read() == before


def test_a_password_alone_needs_a_name(mesocosm: "Invoke") -> None:
    seen = mesocosm("auth", "login", "--password-stdin", stdin="x")

    assert seen.code == 2
    assert "--username NAME" in seen.err


def test_a_login_server_that_is_not_there_gives_words(mesocosm: "Invoke") -> None:
    seen = mesocosm("auth", "login", "--server-url", "http://127.0.0.1:1", "--username", "ada", stdin="x\n")

    assert seen.code == 1
    assert "127.0.0.1:1/auth/csrf/ got no answer: " in seen.err
    assert "Traceback" not in seen.err


def test_the_team_stays_with_the_same_user_at_the_same_server(ada: "Platform") -> None:
    ada.add_with_password("grace")
    ada("auth", "login", "--server-url", ada.url, stdin=f"ada\n{PASSWORD}\n")
    ada("team", "use", "reefs")

    ada("auth", "login", "--server-url", ada.url, stdin=f"ada\n{PASSWORD}\n")
    same = read().active_team_id
    ada("auth", "login", "--server-url", ada.url, stdin=f"grace\n{PASSWORD}\n")

    assert (same, read().active_team_id) == ("reefs", "")


def test_a_team_that_was_chosen_before_the_first_login_stays(ada: "Platform", alone: Path) -> None:
    alone.unlink()
    ada("team", "use", "reefs")

    ada("auth", "login", "--server-url", ada.url, stdin=f"ada\n{PASSWORD}\n")

    assert read().active_team_id == "reefs"


def test_whoami_prints_who_the_platform_takes_one_for(platform: "Platform") -> None:
    platform.is_now("ada")

    seen = platform("auth", "whoami")

    assert seen.code == 0
    assert seen.out.startswith('{\n  "type": "member",\n  "user_id": ')
    assert (seen.document["username"], seen.document["guest_session_id"]) == ("ada", None)


def test_whoami_without_a_login_asks_for_one(platform: "Platform") -> None:
    seen = platform("auth", "whoami")

    assert (seen.code, seen.out) == (1, "")
    assert "Not authenticated. Run: mesocosm auth login  (member)  or  mesocosm auth guest" in seen.err


def test_whoami_says_that_a_login_has_expired(platform: "Platform") -> None:
    write(Credentials("member", platform.expired("ada"), platform.url, platform.url))

    seen = platform("auth", "whoami")

    assert (seen.code, seen.out) == (1, "")
    assert f"The login at {platform.url} has expired. Run: mesocosm auth login" in seen.err


def test_whoami_names_the_variable_of_a_token_that_nobody_knows(
    platform: "Platform", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWECC_BENCH_TOKEN", "mct_nonsense")

    seen = platform("auth", "whoami")

    assert seen.code == 1
    assert "does not accept the token of SWECC_BENCH_TOKEN" in seen.err


def test_whoami_gives_advice_when_nothing_answers(mesocosm: "Invoke", alone: Path) -> None:
    write(Credentials("member", "t", "https://accounts.example", "http://127.0.0.1:1"))

    seen = mesocosm("auth", "whoami", "--bench-url", "http://127.0.0.1:1")

    assert (seen.code, seen.out) == (1, "")
    assert "could not connect to the server at http://127.0.0.1:1" in seen.err
    assert "mesocosm serve" in seen.err
    assert "the saved login names that address" in seen.err


def test_a_guest_is_saved_and_known(platform: "Platform", alone: Path) -> None:
    seen = platform("auth", "guest")

    assert seen.code == 0
    assert seen.out.startswith("Guest session created (expires 20")
    assert seen.out.endswith("+00:00).\n")
    assert list(json.loads(alone.read_text())) == ["mode", "token", "bench_url"]
    assert platform("auth", "whoami").document["type"] == "guest"


def test_a_guest_tells_whose_login_it_replaces(platform: "Platform") -> None:
    platform.is_now("ada")

    assert "takes the place of the saved login of ada" in platform("auth", "guest").err


def test_a_guest_that_is_not_known_any_more_is_told(platform: "Platform") -> None:
    write(Credentials("guest", "nonsense", bench_url=platform.url))

    seen = platform("auth", "whoami")

    assert (seen.code, seen.out) == (1, "")
    assert "Run: mesocosm auth guest" in seen.err


def test_the_token_of_a_member_is_printed_bare(platform: "Platform", monkeypatch: pytest.MonkeyPatch) -> None:
    platform.is_now("ada")

    assert platform("auth", "token").out == f"{read().token}\n"
    monkeypatch.setenv("SWECC_BENCH_TOKEN", "other")
    assert platform("auth", "token").out == "other\n"


@pytest.mark.parametrize("saved", [Credentials(), Credentials("guest", "g", bench_url="http://127.0.0.1:1")])
def test_only_members_have_a_token_to_print(mesocosm: "Invoke", saved: Credentials) -> None:
    write(saved)

    seen = mesocosm("auth", "token")

    assert (seen.code, seen.out) == (1, "")
    assert "No member session. Run: mesocosm auth login" in seen.err


def test_logout_forgets_the_login_and_ends_it_at_the_server(ada: "Platform", alone: Path) -> None:
    ada("auth", "login", "--server-url", ada.url, stdin=f"ada\n{PASSWORD}\n")
    saved = read()

    seen = ada("auth", "logout")

    assert (seen.code, seen.out, seen.err) == (0, "Credentials cleared.\n", "")
    assert not alone.exists()
    write(saved)
    assert not Client().caller.renew()


def test_logout_works_without_a_server_and_with_a_damaged_file(mesocosm: "Invoke", alone: Path) -> None:
    write(Credentials("member", "t", "http://127.0.0.1:1", "http://127.0.0.1:1", refresh_token="r"))
    gone = mesocosm("auth", "logout")
    alone.write_text("{")
    damaged = mesocosm("auth", "logout")

    assert (gone.code, gone.out) == (0, "Credentials cleared.\n")
    assert "not ended at the server" in gone.err
    assert (damaged.code, damaged.out) == (0, "Credentials cleared.\n")
    assert not alone.exists()


def test_a_damaged_file_is_named_and_nothing_else_happens(mesocosm: "Invoke", alone: Path) -> None:
    alone.parent.mkdir(exist_ok=True)
    alone.write_text("{")

    seen = mesocosm("team", "list")

    assert seen.code == 2
    assert "credentials.json cannot be read" in seen.err
    assert "remove it and log in again" in seen.err


def test_personal_tokens_are_made_listed_used_and_ended(platform: "Platform", monkeypatch: pytest.MonkeyPatch) -> None:
    platform.is_now("ada")
    made = platform("auth", "token", "create", "CI", "--scope", "read", "--days", "7")
    token = made.out.strip()
    rows = platform("auth", "token", "list", "--json").document

    assert made.code == 0
    assert token.startswith("mct_")
    assert "is not shown again" in made.err
    assert [(row["name"], row["scope"]) for row in rows] == [("CI", "read")]
    assert token not in platform("auth", "token", "list").out

    monkeypatch.setenv("SWECC_BENCH_TOKEN", token)
    assert platform("auth", "whoami").document["username"] == "ada"
    assert "may only read" in platform("team", "create", "--name", "x").err
    monkeypatch.delenv("SWECC_BENCH_TOKEN")

    assert platform("auth", "token", "revoke", rows[0]["id"]).out == f"Token {rows[0]['id']} revoked.\n"
    monkeypatch.setenv("SWECC_BENCH_TOKEN", token)
    assert platform("auth", "whoami").code == 1


def test_a_login_that_is_about_to_end_is_renewed_unseen(open_platform: "Open") -> None:
    platform = open_platform(token_minutes=0.5)
    platform.add_with_password("ada")
    log_in(platform.url, "ada", PASSWORD)
    before = read()

    seen = platform("auth", "whoami")

    assert (seen.code, seen.document["username"]) == (0, "ada")
    assert read().refresh_token not in {"", before.refresh_token}


def test_commands_at_the_same_time_renew_a_login_once(open_platform: "Open") -> None:
    platform = open_platform(token_minutes=0.5)
    platform.add_with_password("ada")
    log_in(platform.url, "ada", PASSWORD)
    clients = [Client() for _ in range(6)]
    known: list[str | None] = []
    # Were a refresh token used twice, the platform would end the whole login.
    threads = [threading.Thread(target=lambda c=client: known.append(c.me.get().username)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert known == ["ada"] * 6
    assert Client().me.get().username == "ada"


def test_a_login_that_cannot_be_renewed_is_left_and_told(platform: "Platform") -> None:
    token = platform.expired("ada")
    write(Credentials("member", token, platform.url, platform.url, "reefs", "mcr_nonsense", "ada"))

    seen = platform("team", "list")

    assert seen.code == 1
    assert "the login has expired; log in again with: mesocosm auth login" in seen.err
    assert read() == Credentials("member", token, platform.url, platform.url, "reefs", "", "ada")


def test_a_renewal_that_finds_no_server_leaves_the_login_as_it_is(platform: "Platform") -> None:
    saved = Credentials("member", platform.expired("ada"), "http://127.0.0.1:1", platform.url, refresh_token="r")
    write(saved)

    assert platform("team", "list").code == 1
    assert read() == saved


def test_a_platform_that_does_not_know_a_login_any_more_is_asked_again_with_a_new_one(platform: "Platform") -> None:
    platform.add_with_password("ada")
    log_in(platform.url, "ada", PASSWORD)
    good = read()
    head, payload, _ = good.token.split(".")
    # As after a change of keys: the token looks good here.
    write(Credentials("member", f"{head}.{payload}.AAAA", platform.url, platform.url, "", good.refresh_token))

    assert platform("auth", "whoami").document["username"] == "ada"


@pytest.fixture
def decisions(ada: "Platform", monkeypatch: pytest.MonkeyPatch) -> list[DeviceState]:
    """What ada decides in her browser, one thing whenever the program waits."""
    decided: list[DeviceState] = []

    def wait(_seconds: float) -> None:
        store = ada.service.store
        state = decided.pop(0)
        if state is not DeviceState.PENDING:
            (row,) = store.database.all(select(device_logins))
            user = store.users.named("ada")
            assert user is not None
            store.device_logins.decide(row["code_digest"], user, state)

    monkeypatch.setattr(login, "sleep", wait)
    return decided


def test_a_login_in_a_browser_is_as_good_as_one_with_a_password(
    ada: "Platform", decisions: list[DeviceState], alone: Path
) -> None:
    decisions += [DeviceState.PENDING, DeviceState.APPROVED]
    seen = ada("auth", "login", "--browser", "--base-url", ada.url)

    assert (seen.code, seen.out) == (0, "Logged in.\n")
    assert seen.err.startswith(f"Open {ada.url}/device?code=")
    assert seen.err.endswith(f"ada at {ada.url}\n")
    assert [one.label for one, _ in ada.service.store.sessions.of(1)] == [f"mesocosm/{__version__}"]
    saved = json.loads(alone.read_text())
    assert list(saved) == ["mode", "token", "server_url", "bench_url", "refresh_token", "username"]
    assert ada("auth", "whoami").document["username"] == "ada"
    ada.tokens["ada"] = saved["token"]
    write(replace(read(), token=ada.expired("ada")))
    assert ada("auth", "whoami").document["username"] == "ada"
    assert ada("auth", "logout").code == 0
    assert ada.service.store.sessions.of(1) == ()


def test_a_login_that_is_refused_in_the_browser_leaves_the_one_before(
    ada: "Platform", decisions: list[DeviceState]
) -> None:
    before = read()
    decisions.append(DeviceState.DENIED)
    seen = ada("auth", "login", "--browser", "--base-url", ada.url)

    assert (seen.code, seen.out) == (1, "")
    assert "it was refused in the browser; log in again" in seen.err
    assert read() == before


def test_a_login_in_a_browser_that_nobody_confirms_ends(
    ada: "Platform", decisions: list[DeviceState], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_flow, "_LASTS_S", 0.0)
    decisions.append(DeviceState.PENDING)
    seen = ada("auth", "login", "--browser", "--base-url", ada.url)

    assert (seen.code, "nobody confirmed it in time; log in again" in seen.err) == (1, True)


def test_a_program_that_is_told_to_slow_down_does(ada: "Platform", monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            ada.service.store.database.execute(update(device_logins).values(expires_at=1.0))

    monkeypatch.setattr(login, "sleep", wait)
    assert ada("auth", "login", "--browser", "--base-url", ada.url).code == 1
    assert waits == [5, 5, 10]


def test_a_login_in_a_browser_asks_for_nothing_here(mesocosm: "Invoke") -> None:
    seen = mesocosm("auth", "login", "--browser", "--username", "ada")

    assert (seen.code, "leave" in seen.err) == (2, True)
