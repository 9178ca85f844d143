"""Every command has a manual page that says what its help says."""

import importlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def man() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(DOCS)
        yield importlib.import_module("man")


def test_every_command_has_a_page_with_its_options(man: ModuleType) -> None:
    pages = dict(man.pages())
    missing = []
    for context in man.commands():
        page = pages.get(context.command_path.replace(" ", "-"), "").replace(r"\-", "-")
        shown = [one for one in context.command.params if isinstance(one, click.Option) and not one.hidden]
        missing += [f"{context.command_path} {one.opts[0]}" for one in shown if one.opts[0] not in page]
    assert missing == []
    assert "mesocosm-run-local" in pages


@click.group()
def program() -> None:
    """Do all kinds of things."""


@program.command()
@click.option("--path", help="Such as C:\\new.")
def shown(path: str) -> None:
    """Do it.

    .hidden files are skipped.

    \b
    one
    two
    """


@program.command(hidden=True)
def older() -> None:
    """Do it as before."""


def test_text_is_never_taken_for_a_macro(man: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    context = click.Context(shown, info_name="shown", parent=click.Context(program, info_name="program"))
    monkeypatch.setattr(man, "commands", lambda: [context])
    ((name, page),) = man.pages()
    assert name == "program-shown"
    assert "\n.PP\n\\&.hidden files are skipped.\n.PP\n.nf\none\ntwo\n.fi\n" in page
    assert "Such as C:\\enew." in page


def test_hidden_commands_have_no_page(man: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    above = click.Context(program, info_name="program")
    monkeypatch.setattr(man, "commands", lambda: [above, click.Context(older, info_name="older", parent=above)])
    ((name, page),) = man.pages()
    assert name == "program"
    assert "older" not in page


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_has_nothing_to_object_to(man: ModuleType) -> None:
    text = "".join(page for _, page in man.pages())
    done = subprocess.run(
        ["groff", "-K", "utf8", "-man", "-ww", "-z"], input=text.encode(), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")
