"""Which Python a guest runs in."""

import sys
from pathlib import Path

import pytest

from mesocosm.core.failure import Incompatible, UnknownName, UsageError
from mesocosm.guests.installable import INSTALLABLE, OPENENV, installable
from mesocosm.guests.interpreter import facts_of, python_for
from mesocosm.guests.kinds import GuestKind
from mesocosm.sandboxes.installed import MARK, guests_folder

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
    assert [name for name, kind in INSTALLABLE.items() if kind.name != name] == []


def test_what_openenv_needs_can_be_installed_as_guests_can() -> None:
    assert installable("openenv") is OPENENV
    with pytest.raises(UnknownName, match="no framework is called 'openenvy'; did you mean 'openenv'"):
        installable("openenvy")
