"""`mesocosm secret …` against a server: where a value comes from, and that it is shown nowhere."""

import contextlib
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from mesocosm.server.workspace_secrets import secrets_for

if TYPE_CHECKING:
    from tests.cli.remote.conftest import Platform

CANARY = "canary-of-the-terminal-41"
ON_TERMINAL = "import os, sys; os.open(os.ttyname(0), os.O_RDWR); os.execv(sys.argv[1], sys.argv[1:])"
"""Makes a terminal the one that asks for hidden input, then becomes another program."""


class Reefs:
    """A workspace of ada's, in use."""

    def __init__(self, platform: "Platform") -> None:
        self.platform = platform
        self.id: str = platform("workspace", "create", "Reefs", "--use", "--json").document["id"]

    def value(self, name: str = "API_KEY") -> str:
        """Return what a run of ada's gets."""
        service = self.platform.service
        user = service.store.users.named("ada")
        assert user is not None
        return secrets_for(service, self.id, user.id, [name])[name].get_secret_value()


@pytest.fixture
def reefs(platform: "Platform") -> Reefs:
    """Return a workspace."""
    platform.is_now("ada")
    return Reefs(platform)


def test_a_value_comes_from_standard_input_without_its_last_line_break(platform: "Platform", reefs: Reefs) -> None:
    for given, kept in ((f"{CANARY}\n", CANARY), (f"{CANARY}\r\n", CANARY), ("a\nb\n\n", "a\nb\n"), (" x ", " x ")):
        seen = platform("secret", "set", "API_KEY", stdin=given)
        assert seen.code == 0, seen.err
        assert seen.out == (
            "Set the personal secret API_KEY in Reefs.\n"
            "Runs get it whose configuration lists API_KEY in [secrets] required.\n"
        )
        assert CANARY not in seen.out + seen.err
        assert reefs.value() == kept


def test_a_value_comes_from_a_variable_or_a_file(
    platform: "Platform", reefs: Reefs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_VALUE", CANARY)
    assert platform("secret", "set", "API_KEY", "--env", "MY_VALUE").code == 0
    assert reefs.value() == CANARY
    file = tmp_path / "cert.pem"
    file.write_text("first\nlast\n")
    assert platform("secret", "set", "API_KEY", "--file", str(file), "--scope", "workspace").code == 0
    assert reefs.value() == CANARY
    assert platform("secret", "delete", "API_KEY", "--yes").code == 0
    assert reefs.value() == "first\nlast"


def test_on_a_terminal_a_value_is_asked_for_and_not_shown(reefs: Reefs) -> None:
    ours, theirs = pty.openpty()
    words = [sys.executable, "-c", ON_TERMINAL, sys.executable, "-m", "mesocosm", "secret", "set", "API_KEY"]
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as program:
        os.close(theirs)
        shown = b""
        while b"Value of API_KEY: " not in shown:
            shown += os.read(ours, 1024)
        os.write(ours, f"{CANARY}\n".encode())
        with contextlib.suppress(OSError):  # how a terminal says that nobody writes any more
            while more := os.read(ours, 1024):
                shown += more
        assert program.wait(60) == 0, shown
    os.close(ours)
    assert b"Set the personal secret API_KEY" in shown
    assert CANARY.encode() not in shown
    assert reefs.value() == CANARY


@pytest.mark.parametrize(
    "words",
    [
        ("set", f"API_KEY={CANARY}"),
        ("set", CANARY),
        ("set", "api_key"),
        ("set", "PATH"),
        ("set", "API_KEY", "--env", "NOT_SET_HERE"),
        ("set", "API_KEY", "--env", "X", "--file", "y"),
        ("set", "API_KEY", "--file", "/nowhere/at/all"),
        ("delete", f"API_KEY={CANARY}", "--yes"),
    ],
)
def test_what_cannot_be_is_an_error_without_the_value(
    platform: "Platform", reefs: Reefs, words: tuple[str, ...]
) -> None:
    seen = platform("secret", *words, stdin=CANARY)
    assert seen.code == 2
    assert CANARY not in seen.out + seen.err
    assert seen.err.startswith("error: ")
    assert platform("secret", "list", "--json").document == []


@pytest.mark.parametrize("value", ["", "\n", "a\0b", "*" * 10, "x" * 65_537, "é" * 40_000, f"\ufeff{'x' * 70_000}"])
def test_a_value_that_cannot_be_is_refused_before_it_is_sent(platform: "Platform", reefs: Reefs, value: str) -> None:
    seen = platform("secret", "set", "API_KEY", stdin=value)
    assert seen.code == 2
    assert "API_KEY" in seen.err
    assert platform("secret", "list", "--json").document == []


def test_a_file_that_is_no_text_is_refused(platform: "Platform", reefs: Reefs, tmp_path: Path) -> None:
    (tmp_path / "key.der").write_bytes(b"\xff\xfe\x00canary")
    seen = platform("secret", "set", "API_KEY", "--file", str(tmp_path / "key.der"))
    assert (seen.code, "UTF-8" in seen.err, "canary" in seen.err) == (2, True, False)


def test_secrets_are_listed_by_scope_without_values(platform: "Platform", reefs: Reefs) -> None:
    assert "mesocosm secret set NAME" in platform("secret", "list").err
    platform("secret", "set", "API_KEY", stdin=CANARY)
    platform("secret", "set", "OTHER", "--scope", "workspace", stdin=CANARY)
    lines = [line.split()[:3] for line in platform("secret", "list").out.splitlines()[1:]]
    assert lines == [["API_KEY", "personal", "ada"], ["OTHER", "workspace", "ada"]]
    listed = platform("secret", "list", "--scope", "workspace", "--json")
    assert [(one["name"], one["usable"]) for one in listed.document] == [("OTHER", True)]
    assert CANARY not in listed.out


def test_deleting_asks_and_needs_a_terminal_or_yes(platform: "Platform", reefs: Reefs) -> None:
    platform("secret", "set", "API_KEY", stdin=CANARY)
    refused = platform("secret", "delete", "API_KEY", stdin="")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert platform("secret", "delete", "API_KEY", stdin="n\n").code == 0
    assert reefs.value() == CANARY
    assert platform("secret", "delete", "API_KEY", "-y").out == "Deleted the personal secret API_KEY of Reefs.\n"
    gone = platform("secret", "delete", "API_KEY", "-y")
    assert (gone.code, "API_KEY" in gone.err) == (1, True)


def test_the_typed_client_sends_the_value_and_not_its_mask(platform: "Platform", reefs: Reefs) -> None:
    from mesocosm.client import Client

    client = Client(platform.url)
    client.workspace_secrets.set("Reefs", "personal", "API_KEY", SecretStr(CANARY))
    assert reefs.value() == CANARY
    assert client.workspace_secrets.missing("Reefs", ("API_KEY", "NONE")) == ("NONE",)
    assert client.workspace_secrets.missing("Reefs", ()) == ()
