"""Secrets as runs get them: which value wins, what happens without a key, and changing it while others work."""

import base64
import json
import logging
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from mesocosm.core.failure import InfrastructureError, InvalidInput, MesocosmError
from mesocosm.core.redact import MARK
from mesocosm.server import workspace_secrets
from mesocosm.server.key_ring import FILE_NAME, PREFIX
from mesocosm.server.refusal import Refusal
from mesocosm.server.service import Service, local_service
from mesocosm.server.settings import read_settings
from mesocosm.server.workspace_secrets import missing_secrets, redactor_for, rotate, secrets_for, set_secret
from mesocosm.store import Store, open_store
from mesocosm.store.workspace_secrets import WORKSPACE, personal_holder

CANARY = "canary-7d1e0b55-value"
KEYS = [base64.b64encode(bytes([byte]) * 32).decode() for byte in (1, 2)]


@dataclass
class Place:
    """A server with a workspace, its owner Ada and its member Ben."""

    folder: Path
    store: Store
    service: Service
    workspace: str
    ada: int
    ben: int

    def set(self, name: str, value: str, user: int | None = None) -> None:
        """Set a secret of the workspace, or of a user."""
        holder = WORKSPACE if user is None else personal_holder(user)
        set_secret(self.service, self.workspace, holder, name, SecretStr(value), self.ada)

    def get(self, *names: str, user: int | None = None) -> dict[str, str]:
        """Return what a run of a user gets, Ada's if none is given."""
        found = secrets_for(self.service, self.workspace, user or self.ada, names)
        return {name: value.get_secret_value() for name, value in found.items()}

    def under(self, **given: Any) -> Service:
        """Return the same server with other settings."""
        return Service(read_settings(data_dir=self.folder / "data", **given), self.store)

    @property
    def key_file(self) -> Path:
        """The file with the keys."""
        return self.folder / "data" / FILE_NAME


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Return a new server."""
    store = open_store(tmp_path / "store.sqlite")
    service = Service(read_settings(data_dir=tmp_path / "data"), store)
    ada, ben = (store.users.add(name).id for name in ("ada", "ben"))
    workspace = store.workspaces.add("Reefs", ada)
    assert workspace is not None
    store.workspaces.add_member(workspace.id, ben, "member")
    yield Place(tmp_path, store, service, workspace.id, ada, ben)
    store.close()


def test_a_run_gets_what_was_set_and_its_use_is_noted(place: Place) -> None:
    place.set("API_KEY", CANARY)
    place.set("CERT", "line 1\nline 2 é\n")
    before = place.store.workspace_secrets.get(place.workspace, WORKSPACE, "API_KEY", PREFIX)
    assert before is not None
    assert before.used_at is None
    assert before.creator == "ada"
    assert place.get("CERT", "API_KEY") == {"CERT": "line 1\nline 2 é\n", "API_KEY": CANARY}
    after = place.store.workspace_secrets.get(place.workspace, WORKSPACE, "API_KEY", PREFIX)
    assert after is not None
    assert after.used_at is not None


def test_a_personal_secret_wins_in_the_runs_of_its_member_alone(place: Place) -> None:
    place.set("API_KEY", "of all")
    place.set("API_KEY", "of Ben", place.ben)
    place.set("OTHER", "Ben alone", place.ben)
    assert place.get("API_KEY", user=place.ben) == {"API_KEY": "of Ben"}
    assert place.get("API_KEY") == {"API_KEY": "of all"}
    assert missing_secrets(place.service, place.workspace, place.ben, ["OTHER", "NONE", "OTHER"]) == ("NONE",)
    assert missing_secrets(place.service, place.workspace, place.ada, ["OTHER", "NONE"]) == ("OTHER", "NONE")


def test_missing_secrets_are_all_named_and_none_is_empty(place: Place) -> None:
    place.set("API_KEY", CANARY)
    with pytest.raises(InvalidInput) as error:
        place.get("FIRST", "API_KEY", "SECOND")
    assert [problem.path for problem in error.value.problems] == ["FIRST", "SECOND"]
    assert place.get() == {}


def test_a_secret_of_another_workspace_is_not_found(place: Place) -> None:
    place.set("API_KEY", CANARY)
    other = place.store.workspaces.add("Elsewhere", place.ada)
    assert other is not None
    assert missing_secrets(place.service, other.id, place.ada, ["API_KEY"]) == ("API_KEY",)


def test_who_left_gets_nothing_and_their_own_secrets_are_gone(place: Place) -> None:
    place.set("API_KEY", CANARY)
    place.set("OTHER", "Ben alone", place.ben)
    place.store.workspaces.remove(place.workspace, place.ben, by_owner=True)
    with pytest.raises(Refusal, match="no working member"):
        place.get("API_KEY", user=place.ben)
    place.store.workspaces.add_member(place.workspace, place.ben, "viewer")
    with pytest.raises(Refusal, match="no working member"):
        place.get("API_KEY", user=place.ben)
    place.store.workspaces.set_role(place.workspace, place.ben, "member", by_owner=True)
    assert missing_secrets(place.service, place.workspace, place.ben, ["API_KEY", "OTHER"]) == ("OTHER",)
    assert place.get("API_KEY", user=place.ben) == {"API_KEY": CANARY}


def test_a_disabled_account_gets_nothing(place: Place) -> None:
    place.set("API_KEY", CANARY)
    place.store.users.set_disabled(place.ben, disabled=True)
    with pytest.raises(Refusal, match="no working member"):
        place.get("API_KEY", user=place.ben)


def test_setting_again_replaces_the_value_and_keeps_who_set_it_first(place: Place) -> None:
    place.set("API_KEY", "old")
    set_secret(place.service, place.workspace, WORKSPACE, "API_KEY", SecretStr("new"), place.ben)
    assert place.get("API_KEY") == {"API_KEY": "new"}
    (row,) = place.store.workspace_secrets.list(place.workspace, [WORKSPACE], PREFIX)
    assert row.creator == "ada"
    assert row.updated_at > row.created_at


def test_a_workspace_that_is_gone_takes_no_secret_and_says_so_without_the_row(place: Place) -> None:
    place.store.workspaces.delete(place.workspace)
    with pytest.raises(Refusal) as error:
        place.set("API_KEY", CANARY)
    assert error.value.status == 404
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__


def test_there_is_a_most_and_what_exists_can_still_be_replaced(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace_secrets, "MOST", 2)
    place.set("A", "1a")
    place.set("B", "1b")
    with pytest.raises(Refusal, match="2 secrets already"):
        place.set("C", "1c")
    place.set("B", "2b")
    place.set("C", "1c", place.ben)
    assert place.get("A", "B") == {"A": "1a", "B": "2b"}


def test_a_laptop_stores_no_secrets(place: Place) -> None:
    with pytest.raises(Refusal, match="servers only"):
        set_secret(local_service(place.store), place.workspace, WORKSPACE, "A", SecretStr("1"), None)


def test_a_lost_key_is_an_error_that_names_the_settings_and_no_new_key_is_made(place: Place) -> None:
    place.set("API_KEY", CANARY)
    place.key_file.unlink()
    for work in (
        lambda: place.get("API_KEY"),
        lambda: missing_secrets(place.service, place.workspace, place.ada, ["API_KEY"]),
        lambda: place.set("OTHER", "x"),
        lambda: place.set("API_KEY", "x"),
        lambda: rotate(place.service, "system:admin"),
    ):
        with pytest.raises(InfrastructureError, match="MESOCOSM_SECRETS_KEY"):
            work()
    assert not place.key_file.exists()


def test_another_key_is_an_error_and_setting_it_again_helps(place: Place) -> None:
    place.service = place.under(secrets_key=KEYS[0])
    place.set("API_KEY", CANARY)
    place.service = place.under(secrets_key=KEYS[1])
    with pytest.raises(InfrastructureError, match="which is not in MESOCOSM_SECRETS_KEY"):
        place.get("API_KEY")
    with pytest.raises(InfrastructureError, match="API_KEY"):
        missing_secrets(place.service, place.workspace, place.ada, ["API_KEY"])
    place.set("API_KEY", "again")
    assert place.get("API_KEY") == {"API_KEY": "again"}


def test_an_unusable_personal_secret_does_not_fall_back_to_the_workspaces(place: Place) -> None:
    place.service = place.under(secrets_key=KEYS[0])
    place.set("API_KEY", "of Ben", place.ben)
    place.service = place.under(secrets_key=KEYS[1])
    place.set("API_KEY", "of all")
    with pytest.raises(InfrastructureError):
        place.get("API_KEY", user=place.ben)


def test_a_row_that_was_copied_to_another_holder_cannot_be_decrypted(place: Place) -> None:
    place.set("API_KEY", CANARY)
    place.set("API_KEY", "of Ben", place.ben)
    with sqlite3.connect(place.folder / "store.sqlite") as file:
        file.execute(
            "UPDATE workspace_secrets SET value = (SELECT value FROM workspace_secrets WHERE holder = 'workspace')"
        )
    assert place.get("API_KEY") == {"API_KEY": CANARY}
    with pytest.raises(InfrastructureError, match="changed or moved"):
        place.get("API_KEY", user=place.ben)


def test_rotation_makes_a_key_and_every_value_stays(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace_secrets, "_BATCH", 3)
    for number in range(8):
        place.set(f"KEY_{number}", f"value {number}")
    old = place.key_file.read_text()
    done = rotate(place.service, "system:admin")
    assert (done.made, done.encrypted, done.unreadable) == (True, 8, ())
    lines = place.key_file.read_text().splitlines()
    assert lines[1:] == old.splitlines()
    assert place.key_file.stat().st_mode & 0o777 == 0o600
    assert place.get(*(f"KEY_{number}" for number in range(8)))["KEY_7"] == "value 7"
    assert not place.store.workspace_secrets.under_other_keys(f"a1.{done.key}.", "", 9)
    # The first key alone is enough now.
    place.key_file.write_text(lines[0])
    assert place.get("KEY_3") == {"KEY_3": "value 3"}


def test_a_copy_of_the_database_from_before_is_readable_with_the_keys_of_after(place: Place) -> None:
    place.set("API_KEY", CANARY)
    with sqlite3.connect(place.folder / "store.sqlite") as file:
        before = file.execute("SELECT value FROM workspace_secrets").fetchone()[0]
    rotate(place.service, "system:admin")
    with sqlite3.connect(place.folder / "store.sqlite") as file:
        file.execute("UPDATE workspace_secrets SET value = ?", (before,))
    assert place.get("API_KEY") == {"API_KEY": CANARY}


def test_rotation_with_given_keys_makes_none(place: Place) -> None:
    place.service = place.under(secrets_key=KEYS[0])
    place.set("API_KEY", CANARY)
    place.service = place.under(secrets_key=f"{KEYS[1]} {KEYS[0]}")
    done = rotate(place.service, "system:admin")
    assert (done.made, done.encrypted) == (False, 1)
    assert rotate(place.service, "system:admin").encrypted == 0
    assert not place.key_file.exists()
    place.service = place.under(secrets_key=KEYS[1])
    assert place.get("API_KEY") == {"API_KEY": CANARY}


def test_rotation_leaves_what_it_cannot_read_and_names_it(place: Place) -> None:
    place.service = place.under(secrets_key=KEYS[0])
    place.set("LOST", CANARY)
    place.service = place.under(secrets_key=KEYS[1])
    place.set("KEPT", "kept")
    place.service = place.under()
    place.key_file.parent.mkdir(exist_ok=True)
    place.key_file.write_text(KEYS[1])
    done = rotate(place.service, "system:admin")
    assert done.encrypted == 1
    assert [secret.name for secret in done.unreadable] == ["LOST"]
    place.key_file.write_text(place.key_file.read_text() + "\n" + KEYS[0])
    assert place.get("LOST", "KEPT") == {"LOST": CANARY, "KEPT": "kept"}


def test_a_value_that_is_set_while_keys_are_changed_wins(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.set("API_KEY", "old")
    replace = type(place.store.workspace_secrets).replace

    def late(secrets: Any, secret: Any, value: str) -> bool:
        monkeypatch.undo()
        place.set("API_KEY", "new")
        return replace(secrets, secret, value)

    monkeypatch.setattr(type(place.store.workspace_secrets), "replace", late)
    assert rotate(place.service, "system:admin").encrypted == 0
    assert place.get("API_KEY") == {"API_KEY": "new"}


def test_two_who_change_keys_at_once_lose_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace_secrets, "_BATCH", 2)
    for number in range(5):
        place.set(f"KEY_{number}", f"value {number}")
    replace, others = type(place.store.workspace_secrets).replace, list[Any]()

    def late(secrets: Any, secret: Any, value: str) -> bool:
        monkeypatch.undo()
        others.append(rotate(place.service, "system:other"))
        return replace(secrets, secret, value)

    monkeypatch.setattr(type(place.store.workspace_secrets), "replace", late)
    done = rotate(place.service, "system:admin")
    assert done.unreadable == others[0].unreadable == ()
    assert place.get(*(f"KEY_{number}" for number in range(5)))["KEY_4"] == "value 4"


KILLED = """
import os, sys
from pathlib import Path
from mesocosm.server import workspace_secrets
from mesocosm.server.service import opened
from mesocosm.server.settings import read_settings
from mesocosm.store.workspace_secrets import WorkspaceSecrets

folder, left = Path(sys.argv[1]), int(sys.argv[2])
replace = WorkspaceSecrets.replace

def counted(self, secret, value):
    global left
    if not left:
        os.kill(os.getpid(), 9)
    left -= 1
    return replace(self, secret, value)

WorkspaceSecrets.replace = counted
with opened(read_settings(data_dir=folder)) as service:
    workspace_secrets.rotate(service, "system:admin")
"""


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_rotation_that_is_killed_loses_nothing_and_is_finished_by_the_next(tmp_path: Path, after: int) -> None:
    data = tmp_path / "data"
    data.mkdir()
    store = open_store(data / "orchestrator.sqlite")
    service = Service(read_settings(data_dir=data), store)
    ada = store.users.add("ada").id
    workspace = store.workspaces.add("Reefs", ada)
    assert workspace is not None
    names = [f"KEY_{number}" for number in range(4)]
    for name in names:
        set_secret(service, workspace.id, WORKSPACE, name, SecretStr(f"{CANARY} {name}"), ada)
    store.close()
    command = [sys.executable, "-c", KILLED, str(data), str(after)]
    assert subprocess.run(command, check=False, capture_output=True).returncode == -9
    store = open_store(data / "orchestrator.sqlite")
    service = Service(read_settings(data_dir=data), store)
    for _ in range(2):
        found = secrets_for(service, workspace.id, ada, names)
        assert [found[name].get_secret_value() for name in names] == [f"{CANARY} {name}" for name in names]
        done = rotate(service, "system:admin")
        assert done.encrypted == len(names)
        assert not done.unreadable
    store.close()
    assert [path.name for path in data.iterdir() if path.name.startswith(".secrets")] == []


def test_a_redactor_hides_values_their_lines_and_this_process_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVER_API_KEY", "server-canary-1")
    values = {
        "API_KEY": SecretStr(CANARY),
        "PEM": SecretStr("first-line-1\n  second-line-2\n"),
        "PIN": SecretStr("x#9"),
    }
    redactor = redactor_for(values)
    said = f"a {CANARY} b {json.dumps({'k': CANARY + chr(10)})} first-line-1 | second-line-2 | x#9 | server-canary-1"
    shown = redactor.text(said)
    for word in (CANARY, "first-line-1", "second-line-2", "x#9", "server-canary-1"):
        assert word not in shown
    assert MARK in shown
    assert redactor.text("nothing to hide") == "nothing to hide"


def test_values_are_in_no_repr_no_message_no_log_no_audit_and_not_in_the_file(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    place.set("API_KEY", CANARY)
    place.set("API_KEY", CANARY, place.ben)
    found = secrets_for(place.service, place.workspace, place.ben, ["API_KEY"])
    rotate(place.service, "system:admin")
    shown = [repr(found), str(found), f"{found['API_KEY']}", caplog.text, repr(place.store.audit.list())]
    rows = place.store.workspace_secrets.stored(place.workspace, [WORKSPACE], ["API_KEY"])
    shown += [repr(rows), repr(place.store.workspace_secrets.list(place.workspace, [WORKSPACE], PREFIX))]
    with pytest.raises(TypeError):
        json.dumps(found)
    for bad in ("\0", "* moved"):
        with sqlite3.connect(place.folder / "store.sqlite") as file:
            file.execute("UPDATE workspace_secrets SET value = value || ?", (bad,))
        with pytest.raises(MesocosmError) as error:
            place.get("API_KEY")
        shown.append(repr(error.value))
    key = place.key_file.read_text().split()[0]
    place.store.close()
    for path in place.folder.rglob("*"):
        if path.is_file() and path != place.key_file:
            shown.append(path.read_bytes().decode("latin-1"))
    assert any("a1." in text for text in shown)
    for text in shown:
        assert CANARY not in text
        assert base64.b64encode(CANARY.encode()).decode()[:20] not in text
        assert key not in text
    assert os.environ.get("API_KEY") is None
