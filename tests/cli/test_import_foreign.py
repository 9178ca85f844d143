"""`mesocosm import` and `export` of files of other programs, by command line."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Invoke
from tests.interop.imports.foreign_files import (
    inspect_sample,
    tau_results,
    trajectory,
    write_eval,
    write_inspect_json,
    write_lm_eval,
    write_orchestrator,
)


@pytest.fixture
def there(tmp_path: Path) -> tuple[str, Path]:
    """Return the option that names an empty results directory."""
    return "--results-dir", tmp_path / "results"


def test_a_log_is_imported_once(mesocosm: Invoke, tmp_path: Path, there: tuple[str, Path]) -> None:
    path = write_eval(tmp_path / "a.eval", [inspect_sample(1), inspect_sample(2, value="I")])
    first, again = (mesocosm("import", path, *there, "--json").document["runs"] for _ in range(2))
    assert (first[0]["new_episodes"], first[0]["form"]) == (2, "inspect")
    assert (again[0]["new_episodes"], again[0]["run_id"]) == (0, first[0]["run_id"])


def test_show_has_the_numbers_of_the_file_too(mesocosm: Invoke, tmp_path: Path, there: tuple[str, Path]) -> None:
    mesocosm("import", write_eval(tmp_path / "a.eval", [inspect_sample(1), inspect_sample(2, value="I")]), *there)
    shown = mesocosm("run", "show", "last", *there).out
    assert "* match  0.5000" in shown
    assert ["in", "the", "file", "match", "accuracy", "0.7500"] in [line.split() for line in shown.splitlines()]
    assert mesocosm("run", "show", "last", *there, "--json").document["run"]["provenance"]["headline"] == {
        "match accuracy": 0.75
    }


def test_of_mixed_files_the_whole_ones_are_taken(mesocosm: Invoke, tmp_path: Path, there: tuple[str, Path]) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    whole = write_eval(folder / "a.eval", [inspect_sample(1)])
    (folder / "half.eval").write_bytes(whole.read_bytes()[:900])
    (folder / "empty.json").write_bytes(b"")
    (folder / "other.json").write_text('{"a": 1}')
    (folder / "notes.txt").write_text("hello")
    write_lm_eval(folder / "lm")
    (folder / "tau-retail.json").write_text(json.dumps(tau_results()))
    taken = mesocosm("import", folder, *there)
    assert taken.code == 2
    assert taken.out.count("imported run") == 5
    assert "2 files could not be imported" in taken.err
    assert "half.eval cannot be read" in taken.err
    assert "empty.json is empty (0 bytes)" in taken.err
    assert "1 file without results left out" in taken.err
    assert "samples_" not in taken.err


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.eval", b"", "is empty (0 bytes)"),
        ("a.eval", b"hello", "not a whole ZIP file"),
        ("a.json", b'{"version": 2, "eval": {"task"', "is not whole JSON"),
        ("a.json", b'{"a": 1}', "holds no results that can be imported"),
        ("a.txt", b"hello", "holds no results that can be imported"),
        ("samples_x_1.jsonl", b'{"doc_id": 0}\n', "holds samples of lm-eval"),
        ("a.sqlite", b"SQLite format 3\0" + bytes(84), "not the orchestrator.sqlite"),
    ],
)
def test_what_cannot_be_imported_says_why_and_stores_nothing(
    mesocosm: Invoke, tmp_path: Path, there: tuple[str, Path], name: str, content: bytes, words: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    refused = mesocosm("import", path, *there)
    assert refused.code == 2
    assert words in refused.err
    assert not there[1].exists()


def test_a_broken_log_stores_nothing(mesocosm: Invoke, tmp_path: Path, there: tuple[str, Path]) -> None:
    broken = [inspect_sample(1), {**inspect_sample(2), "messages": ["no message"]}]
    refused = mesocosm("import", write_eval(tmp_path / "a.eval", broken), *there)
    assert refused.code == 2
    assert "no sample of Inspect" in refused.err
    assert not there[1].exists()


def test_a_list_shows_headers_and_imports_nothing(mesocosm: Invoke, tmp_path: Path, there: tuple[str, Path]) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    write_eval(folder / "a.eval", [inspect_sample(1)], zstd=True)
    write_inspect_json(folder / "b.json", [inspect_sample(1)])
    (folder / "c.json").write_text(json.dumps(trajectory()))
    listed = mesocosm("import", folder, "--list", "--json", *there).document["files"]
    assert [(row["form"], row.get("headline")) for row in listed] == [
        ("inspect", "accuracy 0.75"),
        ("inspect", "accuracy 0.75"),
        ("atif", None),
    ]
    assert not there[1].exists()


def test_a_model_can_be_named_for_files_that_do_not(mesocosm: Invoke, tmp_path: Path, there: tuple[str, Path]) -> None:
    path = tmp_path / "airline.json"
    path.write_text(json.dumps(tau_results()))
    mesocosm("import", path, "--model", "openai/gpt-4o", *there)
    assert mesocosm("run", "show", "last", *there, "--json").document["run"]["model"] == "openai/gpt-4o"


def test_a_results_directory_of_the_orchestrator_works(mesocosm: Invoke, tmp_path: Path) -> None:
    folder = tmp_path / "benchmark_results"
    folder.mkdir()
    write_orchestrator(folder / "orchestrator.sqlite")
    before = mesocosm("run", "list", "--results-dir", folder)
    assert before.code == 2
    assert f"mesocosm import {folder / 'orchestrator.sqlite'} --results-dir {folder}" in before.err
    assert mesocosm("import", folder, "--results-dir", folder).code == 0
    listed = mesocosm("run", "list", "--results-dir", folder, "--json").document["items"]
    assert sorted(run["benchmark"] for run in listed) == ["bfcl", "bfcl", "bfcl", "gsm8k"]


def test_our_own_results_are_no_file_to_import(mesocosm: Invoke, tmp_path: Path, there: tuple[str, Path]) -> None:
    mesocosm("import", write_eval(tmp_path / "a.eval", [inspect_sample(1)]), *there)
    refused = mesocosm("import", there[1] / "orchestrator.sqlite", "--results-dir", tmp_path / "other")
    assert "opened with --results-dir, not imported" in refused.err


def test_an_imported_run_cannot_be_resumed(mesocosm: Invoke, tmp_path: Path, there: tuple[str, Path]) -> None:
    mesocosm("import", write_eval(tmp_path / "a.eval", [inspect_sample(1)]), *there)
    refused = mesocosm("run", "resume", "last", *there)
    assert refused.code == 2
    assert "cannot be continued here" in refused.err


def test_a_log_is_exported_and_known_again(mesocosm: Invoke, tmp_path: Path, there: tuple[str, Path]) -> None:
    mesocosm("import", write_eval(tmp_path / "a.eval", [inspect_sample(1)]), *there)
    assert "1 sample" in mesocosm("export", "last", "-o", tmp_path / "b.eval", *there).out
    again = mesocosm("import", tmp_path / "b.eval", *there, "--json").document["runs"]
    assert again[0]["new_episodes"] == 0


def test_a_run_of_ours_that_was_exported_as_a_log_is_not_doubled(
    mesocosm: Invoke, tmp_path: Path, scaffolded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = ("--results-dir", tmp_path / "results")
    monkeypatch.chdir(scaffolded)
    mesocosm("run", "local", "--model", "builtin/random", "--episodes", "2", *there)
    (run,) = mesocosm("run", "list", *there, "--json").document["items"]
    mesocosm("export", "last", "-o", tmp_path / "ours.eval", *there)
    again = mesocosm("import", tmp_path / "ours.eval", *there, "--json")
    assert again.document["runs"][0] | {"run_id": run["id"], "new_episodes": 0} == again.document["runs"][0]
    assert "full record" in again.err
    elsewhere = mesocosm("import", tmp_path / "ours.eval", "--results-dir", tmp_path / "other", "--json").document
    assert elsewhere["runs"][0]["new_episodes"] == 2


def test_trajectories_go_out_and_come_in_with_task_and_trial(
    mesocosm: Invoke, tmp_path: Path, there: tuple[str, Path]
) -> None:
    path = tmp_path / "airline.json"
    path.write_text(json.dumps(tau_results()))
    mesocosm("import", path, *there)
    folder = tmp_path / "trajectories"
    written = mesocosm("export", "last", "--format", "atif", "-o", folder, *there)
    assert "1 episode without any step" in written.err
    assert len(list(folder.iterdir())) == 5
    taken = mesocosm("import", folder, "--results-dir", tmp_path / "other", "--json").document["runs"]
    assert [run["new_episodes"] for run in taken] == [5]
    run = mesocosm("run", "show", "last", "--results-dir", tmp_path / "other", "--json").document["run"]
    assert (run["scores"]["reward"], run["metrics"][0]["n_tasks"]) == (0.4, 3)


def test_trajectories_are_not_written_among_files(mesocosm: Invoke, tmp_path: Path, there: tuple[str, Path]) -> None:
    mesocosm("import", write_eval(tmp_path / "a.eval", [inspect_sample(1)]), *there)
    refused = mesocosm("export", "last", "--format", "atif", "-o", tmp_path, *there)
    assert refused.code == 2
    assert "not an empty directory" in refused.err
