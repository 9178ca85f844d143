"""`mesocosm upgrade-check`: what it finds in files of every age, and that it changes none."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mesocosm.store.migrations import SCRIPTS
from mesocosm.store.revision import DATABASE_NAME, HEAD

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Outcome, Played

RELEASED = Path(__file__).parents[1] / "store" / "released"
OLDER_CONFIGURATION = '[eval]\nrollout = "sums"\nentrypoint = "main.py"\ndataset = "d"\n[llm]\nmodel = "openai/m"\n'


def older(place: Path, revision: str = "0005") -> Path:
    """Write the results database of an earlier version."""
    file = place / DATABASE_NAME
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript((RELEASED / f"{revision}.sqlite.sql").read_text())
    return file


def only(outcome: "Outcome") -> dict[str, object]:
    (found,) = outcome.document["items"]
    assert isinstance(found, dict)
    return found


def test_results_of_an_earlier_version_are_named_with_every_step_and_stay_as_they_are(
    mesocosm: "Invoke", here: Path
) -> None:
    file = older(here)
    before = file.read_bytes()

    seen = mesocosm("upgrade-check")

    assert seen.code == 0
    assert f"schema 0005 becomes {HEAD}" in seen.out
    steps = sorted(file.name[:4] for file in (SCRIPTS / "versions").glob("[0-9]*.py") if file.name[:4] > "0005")
    assert [line[:9] for line in seen.out.splitlines()[2:-1]] == [f"    {step}:" for step in steps]
    assert file.read_bytes() == before
    assert list(here.iterdir()) == [file]


def test_results_of_a_newer_version_cannot_be_used(mesocosm: "Invoke", here: Path) -> None:
    with closing(sqlite3.connect(older(here))) as connection:
        connection.execute("UPDATE mesocosm_schema SET version_num = '9999'")
        connection.commit()

    seen = mesocosm("upgrade-check", "--json")

    assert (seen.code, only(seen)["status"]) == (1, "newer")


def test_current_files_are_current(mesocosm: "Invoke", played: "Played") -> None:
    seen = mesocosm("upgrade-check", played.manifest, played.results, "--json")

    assert (seen.code, [one["status"] for one in seen.document["items"]]) == (0, ["current", "current"])


def test_an_older_configuration_is_named_key_by_key(mesocosm: "Invoke", here: Path) -> None:
    (here / "old.toml").write_text(OLDER_CONFIGURATION)

    found = only(mesocosm("upgrade-check", "--json"))

    assert (found["kind"], found["status"]) == ("configuration", "older")
    assert '[llm] model is an older spelling: [experiment] model_path = "openai/m"' in found["changes"]  # type: ignore[operator]


def test_a_manifest_that_this_version_refuses_fails_the_check(mesocosm: "Invoke", here: Path, scaffolded: Path) -> None:
    shutil.copy(scaffolded / "benchanything.json", here)

    seen = mesocosm("upgrade-check", "--json")

    assert (seen.code, only(seen)["status"]) == (1, "invalid")
    assert "adapter" in str(only(seen)["changes"])


@pytest.mark.parametrize("words", [("notes.txt",), ()])
def test_other_files_are_none_of_ours(mesocosm: "Invoke", here: Path, words: tuple[str, ...]) -> None:
    (here / "notes.txt").write_text("")
    (here / "pyproject.toml").write_text("[project]\n")

    seen = mesocosm("upgrade-check", *words)

    assert seen.code == (2 if words else 0)
    assert ("is neither a manifest" in seen.err) if words else ("no manifest, configuration" in seen.out)
