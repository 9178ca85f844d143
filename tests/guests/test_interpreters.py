"""Which Python a guest runs in, and what it sees of our variables."""

import sys
from pathlib import Path

import pytest

from mesocosm.core.failure import Incompatible, UsageError
from mesocosm.guests.interpreter import MARK, facts_of, guests_folder, python_for
from mesocosm.guests.kinds import KINDS, GuestKind
from mesocosm.sandboxes.inherited import inherited

NOWHERE = GuestKind("nowhere", "Nowhere", "X", ("no_such_module_here",), ("nothing",), "nowhere")
HERE = GuestKind("here", "Here", "X", ("json",), ("nothing",), "here")


def test_our_own_python_is_taken_if_it_has_the_package() -> None:
    assert python_for(HERE).how == "own"


def test_a_named_interpreter_is_taken_as_it_is() -> None:
    assert [python_for(NOWHERE, sys.executable).path, python_for(NOWHERE, sys.executable).how] == [
        sys.executable,
        "named",
    ]


def test_a_named_program_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="--python no-such-python: there is no such program"):
        python_for(HERE, "no-such-python")


def test_an_installed_guest_comes_before_our_own_python() -> None:
    program = guests_folder() / "here" / "abc" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.symlink_to(sys.executable)
    (guests_folder() / "here" / MARK).write_text('{"environment": "abc"}')
    assert [python_for(HERE).how, python_for(HERE).path] == ["installed", str(program)]


def test_a_half_installed_guest_does_not_count(tmp_path: Path) -> None:
    program = guests_folder() / "nowhere" / "abc" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.symlink_to(sys.executable)
    with pytest.raises(Incompatible):
        python_for(NOWHERE)


def test_without_the_package_the_message_has_both_remedies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Incompatible, match=r"mesocosm guests install nowhere`.*--python PATH"):
        python_for(NOWHERE)


def test_an_interpreter_says_which_packages_it_has() -> None:
    facts = facts_of(sys.executable, ("msgspec", "no_such_module_here"))
    assert facts is not None
    assert list(facts.packages) == ["msgspec"]


def test_every_framework_has_a_name_of_its_own() -> None:
    assert [name for name, kind in KINDS.items() if kind.name != name] == []


def test_certificates_proxies_and_package_sources_reach_a_program() -> None:
    given = {
        "SSL_CERT_FILE": "/certs.pem",
        "HTTPS_PROXY": "http://proxy:3128",
        "UV_INDEX_URL": "https://index.example/simple",
        "PIP_INDEX_URL": "https://index.example/simple",
    }
    assert inherited(given) == given


@pytest.mark.parametrize(
    "given",
    [
        {"HTTPS_PROXY": "http://me:word@proxy:3128"},
        {"UV_INDEX_URL": "https://token@index.example/simple"},
        {"UV_PUBLISH_TOKEN": "abc"},
        {"PIP_INDEX_URL": "https://me:word@index.example/simple"},
        {"OPENAI_API_KEY": "sk-1"},
        {"MY_SETTING": "1"},
    ],
)
def test_credentials_and_other_variables_do_not(given: dict[str, str]) -> None:
    assert inherited(given) == {}
