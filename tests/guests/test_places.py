"""Where sources and options name files."""

from pathlib import Path

import pytest

from mesocosm.core.folder import from_root, without_folders
from mesocosm.guests.places import (
    FOLDER,
    inspect_place,
    lm_eval_place,
    python_place,
    skyrl_place,
    verifiers_place,
)


@pytest.fixture(autouse=True)
def files(place: Path) -> Path:
    """Files below the working directory."""
    for name in ("t.py", "own.yaml", "more.yaml", "set/set.py"):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).touch()
    return place


@pytest.mark.parametrize("written", ["t.py@sums", "./t.py@sums", "set/../t.py@sums", "{}/t.py@sums"])
def test_a_file_of_inspect_has_one_place_however_it_is_written(written: str, files: Path) -> None:
    assert inspect_place(written.format(files), {}) == (f"{files}/t.py@sums", {FOLDER: str(files)})


@pytest.mark.parametrize("name", ["inspect_evals/tau2_airline", "absent.py@sums"])
def test_what_is_no_file_stays_as_it_is(name: str) -> None:
    assert inspect_place(name, {"count": 3}) == (name, {"count": 3})


def test_where_a_guest_was_started_first_stays(files: Path) -> None:
    assert inspect_place(f"{files}/t.py", {FOLDER: "/elsewhere"})[1] == {FOLDER: "/elsewhere"}


def test_a_task_set_keeps_its_options(files: Path) -> None:
    assert verifiers_place("./set,harness=null", {"count": 2}) == (
        f"{files}/set,harness=null",
        {"count": 2, FOLDER: str(files)},
    )


@pytest.mark.parametrize("name", ["set", "owner/name", "textarena,game=Wordle-v0"])
def test_the_name_of_a_task_set_is_no_folder(name: str) -> None:
    assert verifiers_place(name, {}) == (name, {})


def test_files_among_tasks_and_included_folders_have_their_places(files: Path) -> None:
    assert lm_eval_place("gsm8k, own.yaml,more.yaml", {"include_path": "set,."}) == (
        f"gsm8k,{files}/own.yaml,{files}/more.yaml",
        {"include_path": [f"{files}/set", str(files)], FOLDER: str(files)},
    )


def test_tasks_by_name_have_no_place() -> None:
    assert lm_eval_place("gsm8k,arc_easy", {"num_fewshot": 2}) == ("gsm8k,arc_easy", {"num_fewshot": 2})


def test_rows_and_interpreters_are_found_from_every_folder(files: Path) -> None:
    assert skyrl_place("gsm8k", {"data": "rows.jsonl", "python": "env/bin/python"}) == (
        "gsm8k",
        {"data": f"{files}/rows.jsonl", "python": f"{files}/env/bin/python"},
    )


def test_an_interpreter_on_the_path_stays_a_name() -> None:
    assert python_place("Taxi-v3", {"python": "python3.12"}) == ("Taxi-v3", {"python": "python3.12"})


def test_a_path_is_shown_by_its_name() -> None:
    assert without_folders("gsm8k,/home/someone/own.yaml") == "gsm8k,own.yaml"
    assert without_folders("/home/someone/t.py@sums") == "t.py@sums"
    assert without_folders("owner/name") == "owner/name"


def test_a_home_folder_is_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert from_root("~/x/./y") == "/home/someone/x/y"
