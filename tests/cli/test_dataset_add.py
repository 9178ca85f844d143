"""`mesocosm dataset add`: rows of a file made from runs of this machine."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.local_runs import IN_PROCESS, command, play_benchmark, play_environment, play_rollout

from mesocosm.core.run import Run
from mesocosm.store import open_store

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def rollout(results: Path, tmp_path: Path) -> str:
    """Return the id of a run of the rollout of `eval init`, of which every row passed."""
    (run_id,) = play_rollout(results, tmp_path / "ws")
    return run_id


def lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def digests(results: Path, run_id: str) -> set[str]:
    """Return the digests of the tasks of a run."""
    store = open_store(results)
    try:
        return {episode.task_digest for episode in store.episodes.list(run_id).items}
    finally:
        store.close()


def test_rows_of_a_run_are_the_same_tasks_when_they_are_run_again(results: Path, tmp_path: Path, rollout: str) -> None:
    workspace = tmp_path / "ws"
    file = workspace / "data" / "again.jsonl"
    said = command(results, "dataset", "add", file, "--from", "last")
    count = len((workspace / "data" / "arith.jsonl").read_text().splitlines())
    assert said == f"Added {count} rows to {file}, which has {count} rows now.\n"
    assert {line["origin_run"] for line in lines(file)} == {rollout}
    config = workspace / "configs" / "eval" / "arith.toml"
    command(results, "eval", "run-local", config, "--dataset-file", file, "--set", IN_PROCESS)
    store = open_store(results)
    newest: Run = store.runs.list(limit=1).items[0]
    store.close()
    assert newest.id != rollout
    assert digests(results, newest.id) == digests(results, rollout)


def test_the_same_rows_again_leave_the_file_as_it_is(
    mesocosm: "Invoke", results: Path, tmp_path: Path, rollout: str
) -> None:
    file = tmp_path / "hard.jsonl"
    command(results, "dataset", "add", file, "--from", rollout)
    # Without the line end of its last line, a new file would differ.
    file.write_text(file.read_text().rstrip("\n"))
    before = file.read_text(), file.stat().st_ino
    done = mesocosm("dataset", "add", file, "--from", rollout, "--json", "--results-dir", results)
    assert (done.document["added"], done.document["duplicates"]) == (0, len(lines(file)))
    assert (file.read_text(), file.stat().st_ino) == before


def test_a_choice_of_episodes(mesocosm: "Invoke", results: Path, tmp_path: Path, rollout: str) -> None:
    file = tmp_path / "hard.jsonl"
    none = mesocosm("dataset", "add", file, "--from", rollout, "--failed", "--results-dir", results)
    assert none.code == 2
    assert "choose by another filter" in none.err
    assert not file.exists()
    command(results, "dataset", "add", file, "--from", rollout, "--episodes", "1", "0")
    assert len(lines(file)) == 2
    command(results, "dataset", "add", file, "--from", rollout, "--outcome", "pass")
    assert len(lines(file)) > 2


def test_a_benchmark_gives_its_prompts_and_the_solutions_that_it_has(results: Path, tmp_path: Path) -> None:
    (run_id,) = play_benchmark(results)
    file = tmp_path / "rows.jsonl"
    command(results, "dataset", "add", file, "--from", run_id)
    found = lines(file)
    assert len(found) == 3
    assert all(line["user_prompt"] and line["ground_truth"] for line in found)
    assert {line["origin_task"] for line in found} == digests(results, run_id)
    command(results, "dataset", "validate", file)


def test_an_environment_gives_what_its_agent_was_asked_first(results: Path, tmp_path: Path) -> None:
    runs = play_environment(results)
    file = tmp_path / "rows.jsonl"
    command(results, "dataset", "add", file, "--from", runs[0])
    found = lines(file)
    assert [line["seed"] for line in found] == [0, 1, 2, 3]
    assert all("Reward" in line["system_prompt"] for line in found)
    assert all("ground_truth" not in line for line in found)


def test_a_file_whose_rows_have_other_columns_is_refused_unchanged(
    mesocosm: "Invoke", results: Path, tmp_path: Path, rollout: str
) -> None:
    file = tmp_path / "hard.jsonl"
    file.write_text('{"question": "1?"}\n')
    done = mesocosm("dataset", "add", file, "--from", rollout, "--results-dir", results)
    assert done.code == 2
    assert "--columns user_prompt=question" in done.err
    assert file.read_text() == '{"question": "1?"}\n'
    mapped = ("--columns", "user_prompt=question")
    command(results, "dataset", "add", file, "--from", rollout, *mapped)
    assert all("question" in line for line in lines(file))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rows.csv",), "rows are added to JSON lines"),
        (("data/rows",), "rows are added to JSON lines"),
        (("rows.jsonl", "--workspace", "Reef"), "leave --workspace out"),
        (("rows", "--columns", "user_prompt=q"), "--columns is for files"),
        (("rows.jsonl", "--failed", "--outcome", "pass"), "exclude each other"),
        (("rows.jsonl", "--failed", "--episodes", "1"), "leave --failed"),
    ],
)
def test_words_that_do_not_fit_together_are_refused(mesocosm: "Invoke", words: tuple[str, ...], said: str) -> None:
    done = mesocosm("dataset", "add", *words, "--from", "last")
    assert done.code == 2
    assert said in done.err
