"""Runs of one's own machine, uploaded with the published program."""

from dataclasses import replace

import pytest
from tests.compat.osmosis_local_run import ATTEMPTS, Attempt, LocalRunFolder
from tests.osmosis.conftest import Program

NAMES = iter(range(1_000))


@pytest.fixture
def local(osmosis: Program) -> LocalRunFolder:
    """Return a finished run in the clone, with an id and a name that no other test has."""
    number = next(NAMES)
    found = LocalRunFolder(osmosis.folder / ".osmosis" / "evals", f"local-{number}", run_id=f"{number:032x}")
    found.write()
    return found


def test_a_local_run_is_uploaded_shown_and_downloaded(osmosis: Program, local: LocalRunFolder) -> None:
    done = osmosis("eval", "upload", local.name)["resource"]
    assert (done["status"], done["eval_run_name"], done["uploaded_files"]) == ("finalized", local.name, 10)
    data = osmosis("eval", "info", local.name)["data"]
    summary = data["summary"]
    assert (data["eval_run"]["status"], summary["graded"], summary["failed"], summary["skipped"]) == (
        "finished",
        3,
        2,
        1,
    )
    saved = osmosis("eval", "download", local.name, "--type", "all", "-o", str(osmosis.home / "out"))
    assert saved["status"] == "success"
    assert (osmosis.home / "out" / "artifacts" / "row_2_run_1" / "notes" / "a.txt").read_bytes() == b"noted"
    error = osmosis.call("eval", "retry", local.name, "--yes").error
    assert (error["code"], f"--name {local.name}" in error["message"]) == ("VALIDATION", True)
    assert "configs/eval/a.toml" in error["message"]


def test_changed_results_are_uploaded_with_replace(osmosis: Program, local: LocalRunFolder) -> None:
    osmosis("eval", "upload", local.name)
    assert osmosis("eval", "upload", local.name)["resource"]["status"] == "finalized"
    replace(local, attempts=(*ATTEMPTS[:3], Attempt(1, 1, 1.0), *ATTEMPTS[4:])).write()
    error = osmosis.call("eval", "upload", local.name).error
    assert (error["code"], "--replace" in error["message"]) == ("CONFLICT", True)
    osmosis("eval", "upload", local.name, "--replace")
    assert osmosis("eval", "info", local.name)["data"]["summary"]["graded"] == 4


def test_a_run_that_is_refused_says_why(osmosis: Program, local: LocalRunFolder) -> None:
    (first, *rest) = local.attempts
    replace(local, attempts=(replace(first, reward=1e300), *rest)).write()
    error = osmosis.call("eval", "upload", local.name).error
    assert error["code"] == "VALIDATION"
    assert "larger than one can be" in str(error)
