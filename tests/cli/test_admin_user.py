"""`mesocosm admin user`: people with an account, on the store directly."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesocosm.server.auth import passwords
from mesocosm.server.service import Service
from mesocosm.server.settings import read_settings
from mesocosm.store import open_store
from mesocosm.store.revision import DATABASE_NAME

Call = Callable[..., Any]


@pytest.fixture
def user(mesocosm: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Return what runs `mesocosm admin user` on a platform of its own."""
    for name, cost in {"MEMORY_KIB": 8, "PASSES": 1, "LANES": 1}.items():
        monkeypatch.setattr(passwords, name, cost)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mesocosm-data").mkdir()
    open_store(tmp_path / "mesocosm-data" / DATABASE_NAME).close()
    return lambda *words, **given: mesocosm("admin", "user", *words, **given)


def _right(place: Path, name: str, password: str) -> bool:
    store = open_store(place / "mesocosm-data" / DATABASE_NAME)
    try:
        accounts = Service(read_settings(), store).accounts
        found = accounts.users.named(name)
        return found is not None and accounts.passwords.right(password, found.password)
    finally:
        store.close()


def test_somebody_is_added_with_a_password_that_is_shown_once(user: Call, tmp_path: Path) -> None:
    added = user("add", "ada", "--admin")
    assert added.code == 0
    line, shown = added.out.splitlines()
    assert line == "added ada (admin)"
    assert _right(tmp_path, "ada", shown.rpartition(" ")[2])
    assert "password" not in user("list").out


def test_the_list_tells_who_there_is(user: Call) -> None:
    user("add", "ada", "--admin")
    user("add", "eve")
    user("disable", "eve")
    listed = user("list", "--json").document
    assert [(each["username"], each["role"], each["disabled"]) for each in listed] == [
        ("eve", "member", True),
        ("ada", "admin", False),
    ]
    rows = [line.split()[:4] for line in user("list").out.splitlines()[1:]]
    assert rows == [["2", "eve", "member", "disabled"], ["1", "ada", "admin", "active"]]


def test_a_reset_shows_another_password(user: Call, tmp_path: Path) -> None:
    first = user("add", "ada", "--json").document["password"]
    second = user("reset", "ADA", "--json").document["password"]
    assert [_right(tmp_path, "ada", password) for password in (first, second)] == [False, True]


@pytest.mark.filterwarnings("ignore::getpass.GetPassWarning")
def test_a_password_can_be_asked_for(user: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.prompt", lambda *_words, **_given: "correct horse battery staple")
    added = user("add", "ada", "--ask")
    assert added.out == "added ada (member)\n"
    assert _right(tmp_path, "ada", "correct horse battery staple")


def test_roles_and_numbers_are_understood(user: Call) -> None:
    user("add", "ada")
    assert user("role", "1", "admin").out == "ada is now admin\n"
    assert user("role", "1", "boss").code == 2


def test_the_last_administrator_stays(user: Call) -> None:
    user("add", "ada", "--admin")
    refused = user("disable", "ada")
    assert refused.code == 1
    assert "only administrator" in refused.err
    user("add", "eve", "--admin")
    assert user("disable", "ada").code == 0
    assert user("enable", "ada").out == "enabled ada\n"


def test_names_that_nobody_has_or_somebody_has_already_are_refused(user: Call) -> None:
    user("add", "ada")
    assert user("add", "ADA").code == 1
    assert user("reset", "nobody").code == 1
    assert "nobody" in user("reset", "nobody").err


def test_what_is_done_here_is_written_down(user: Call, tmp_path: Path) -> None:
    (tmp_path / "mesocosm-data").rename(tmp_path / "there")
    user("add", "ada", "--data-dir", "there")
    store = open_store(tmp_path / "there" / DATABASE_NAME)
    entries = Service(read_settings(), store).store.audit.list()
    store.close()
    assert [(entry.actor, entry.action, entry.target) for entry in entries] == [("system:admin", "user.add", "user:1")]


@pytest.mark.parametrize(("words", "older"), [([], 1), (["--at-once"], 0)])
def test_tokens_are_signed_with_a_new_key(
    user: Call, mesocosm: Call, tmp_path: Path, words: list[str], older: int
) -> None:
    user("add", "ada")
    store = open_store(tmp_path / "mesocosm-data" / DATABASE_NAME)
    try:
        keys = store.signing_keys
        before = keys.valid()[0].id
        made = mesocosm("admin", "rotate-keys", "--json", *words).document["key_id"]
        assert [key.id for key in keys.valid()] == [made, before][: 1 + older]
    finally:
        store.close()


@pytest.mark.parametrize("words", [("add", "ada"), ("list",), ("disable", "ada"), ("reset", "ada")])
def test_in_a_folder_without_a_server_nothing_is_made(
    user: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    refused = user(*words)
    assert (refused.code, refused.out) == (2, "")
    assert f"there is no server in {elsewhere / 'mesocosm-data'}; name its directory with --data-dir" in refused.err
    assert list(elsewhere.iterdir()) == []
