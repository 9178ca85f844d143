"""`mesocosm admin secrets rotate`, and what a backup has of secrets."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

from mesocosm.cli.main import call
from mesocosm.server.key_ring import FILE_NAME
from mesocosm.server.service import opened
from mesocosm.server.settings import read_settings
from mesocosm.server.workspace_secrets import secrets_for, set_secret
from mesocosm.store.workspace_secrets import WORKSPACE

CANARY = "canary-of-a-backup-8842"
Call = Callable[..., tuple[int, str]]


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("MESOCOSM_") and "_TEST_" not in name]:
        monkeypatch.delenv(name)


@pytest.fixture
def admin(capsys: pytest.CaptureFixture[str]) -> Call:
    """Return what calls `mesocosm admin`, and gives code and output."""

    def calling(*words: str | Path) -> tuple[int, str]:
        code = call(["admin", *map(str, words)])
        told = capsys.readouterr()
        return code, told.out + told.err

    return calling


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return the directory of a server with one secret."""
    folder = tmp_path / "data"
    with opened(read_settings(data_dir=folder)) as service:
        made = service.store.workspaces.add("Reefs", service.store.users.add("ada").id)
        assert made is not None
        set_secret(service, made.id, WORKSPACE, "API_KEY", SecretStr(CANARY), 1)
    return folder


def value(folder: Path) -> str:
    """Return the value of the secret."""
    with opened(read_settings(data_dir=folder)) as service:
        found = service.store.workspaces.membership("Reefs", 1)
        assert found is not None
        return secrets_for(service, found.workspace.id, 1, ["API_KEY"])["API_KEY"].get_secret_value()


def test_a_new_key_encrypts_everything_and_the_file_keeps_the_old_one(admin: Call, data: Path) -> None:
    old = (data / FILE_NAME).read_text()
    code, told = admin("secrets", "rotate", "--data-dir", data)
    assert code == 0, told
    assert "encrypted 1 secret with it" in told
    assert (data / FILE_NAME).read_text().endswith(old)
    assert len((data / FILE_NAME).read_text().split()) == 2
    assert old.strip() not in told
    assert value(data) == CANARY
    code, told = admin("secrets", "rotate", "--data-dir", data, "--json")
    assert json.loads(told) | {"key": ""} == {"key": "", "new": True, "encrypted": 1, "unreadable": []}
    with opened(read_settings(data_dir=data)) as service:
        (entry, _) = service.store.audit.list()[:2]
    assert (entry.action, entry.actor) == ("secret.rotate", "system:admin")


def test_given_keys_are_used_and_a_lost_one_is_named_with_an_exit_code(
    admin: Call, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = (data / FILE_NAME).read_text().strip()
    new = "A" * 43 + "="
    monkeypatch.setenv("MESOCOSM_SECRETS_KEY", new)
    code, told = admin("secrets", "rotate", "--data-dir", data)
    assert code == 4
    assert "1 could not be decrypted and stay as they are: API_KEY of workspace" in told
    monkeypatch.setenv("MESOCOSM_SECRETS_KEY", f"{new},{old}")
    code, told = admin("secrets", "rotate", "--data-dir", data)
    assert (code, told.splitlines()[0].startswith("encrypted 1 secret with the first of the given keys")) == (0, True)
    monkeypatch.setenv("MESOCOSM_SECRETS_KEY", new)
    code, told = admin("secrets", "rotate", "--data-dir", data)
    assert (code, "put one in front of the others on every host" in told) == (0, True)
    assert value(data) == CANARY


@pytest.mark.parametrize("key", ["short", "x" * 44, "AAAA"])
def test_what_is_no_key_is_an_error_that_names_the_setting_and_not_the_text(
    admin: Call, data: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("MESOCOSM_SECRETS_KEY", key)
    code, told = admin("secrets", "rotate", "--data-dir", data)
    assert (code, "MESOCOSM_SECRETS_KEY" in told, key in told) == (4, True, False)


def test_a_backup_has_no_key_and_says_so_at_both_ends(admin: Call, data: Path, tmp_path: Path) -> None:
    key = (data / FILE_NAME).read_text().strip()
    code, told = admin("backup", tmp_path / "copy", "--data-dir", data, "--environments", "--objects")
    assert code == 0, told
    assert "the key of the secrets is not in it: keep a copy of secrets.key of the data directory elsewhere" in told
    for path in (tmp_path / "copy").rglob("*"):
        if path.is_file():
            assert key.encode() not in path.read_bytes()
            assert CANARY.encode() not in path.read_bytes()
            assert path.name != FILE_NAME
    code, told = admin("restore", tmp_path / "copy", "--data-dir", tmp_path / "new")
    assert (code, "bring it back as well: secrets.key of the data directory" in told) == (0, True)
    with pytest.raises(Exception, match=r"secrets\.key of the data directory, for there is no such file"):
        value(tmp_path / "new")
    (tmp_path / "new" / FILE_NAME).write_text(key)
    assert value(tmp_path / "new") == CANARY


def test_a_backup_without_secrets_speaks_of_no_key(admin: Call, tmp_path: Path) -> None:
    with opened(read_settings(data_dir=tmp_path / "data")):
        pass
    code, told = admin("backup", tmp_path / "copy", "--data-dir", tmp_path / "data")
    assert (code, "key" in told) == (0, False)
