"""Runs of the elizaOS orchestrator: one for each executed row, which has one number and no items."""

from pathlib import Path

from tests.interop.imports.conftest import Importing
from tests.interop.imports.foreign_files import write_orchestrator

from mesocosm.core.failure import Cause
from mesocosm.store import open_store
from mesocosm.store.foreign_database import is_orchestrator, own_file


def test_an_executed_row_is_a_run_with_its_attempt(tmp_path: Path, importing: Importing) -> None:
    runs = importing(write_orchestrator(tmp_path / "orchestrator.sqlite"))
    assert [(found.run.benchmark, found.run.agent, found.run.attempt) for found in runs] == [
        ("bfcl", "eliza", 1),
        ("bfcl", "eliza", 3),
        ("gsm8k", "eliza", 1),
        ("bfcl", "hermes", 1),
    ]
    assert [found.run.metrics[0].value for found in runs] == [0.5, 0.75, None, 0.25]
    assert [found.episodes[0].trial for found in runs] == [0, 2, 0, 0]


def test_one_number_of_a_program_has_no_interval_but_that_of_its_items(tmp_path: Path, importing: Importing) -> None:
    first, second, *_ = importing(write_orchestrator(tmp_path / "orchestrator.sqlite"))
    assert (first.run.metrics[0].low, first.run.metrics[0].weak) != (None, False)
    assert (second.run.metrics[0].low, second.run.metrics[0].method) == (None, "none")


def test_runs_of_one_configuration_share_their_task_whoever_played(tmp_path: Path, importing: Importing) -> None:
    first, second, other, hermes = importing(write_orchestrator(tmp_path / "orchestrator.sqlite"))
    digests = [found.episodes[0].task_digest for found in (first, second, hermes)]
    assert len(set(digests)) == 1
    assert other.episodes[0].task_digest not in digests
    assert first.run.benchmark_digest == hermes.run.benchmark_digest


def test_a_failed_row_is_missing_with_its_error(tmp_path: Path, importing: Importing) -> None:
    failed = importing(write_orchestrator(tmp_path / "orchestrator.sqlite"))[2]
    assert failed.episodes[0].scores[0].missing is Cause.PROGRAM_FAILED
    assert failed.episodes[0].failure is not None
    assert failed.episodes[0].failure.message == "GROQ_API_KEY is missing"


def test_our_file_is_beside_theirs_and_theirs_stays(tmp_path: Path) -> None:
    theirs = write_orchestrator(tmp_path / "orchestrator.sqlite")
    before = theirs.read_bytes()
    assert is_orchestrator(theirs)
    store = open_store(tmp_path)
    store.close()
    assert own_file(theirs) == tmp_path / "mesocosm-results.sqlite"
    assert (tmp_path / "mesocosm-results.sqlite").exists()
    assert theirs.read_bytes() == before


def test_our_own_file_is_none_of_theirs(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.close()
    assert not is_orchestrator(tmp_path / "orchestrator.sqlite")
    assert not (tmp_path / "mesocosm-results.sqlite").exists()
