"""`mesocosm dataset`: what it prints, and with which code it ends."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from mesocosm.cli.main import TREE

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke

ROWS = [
    {"question": "1 + 1 = ?", "answer": 2, "level": "easy"},
    {"question": "What is\nthe capital of a country whose name is long enough?", "answer": "x", "level": "hard"},
]
MAPPED = ("--columns", "user_prompt=question", "ground_truth=answer")


@pytest.fixture(autouse=True)
def group() -> Iterator[None]:
    """Have the group among the commands."""
    with patch.dict(TREE, {"dataset": ("mesocosm.cli.dataset:dataset", "Look at datasets.")}):
        yield


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Return a dataset whose columns must be mapped."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_preview_shows_the_first_rows_and_what_rollouts_make_of_them(mesocosm: "Invoke", rows: Path) -> None:
    done = mesocosm("dataset", "preview", rows, "--rows", "9", *MAPPED)
    assert done.code == 0
    assert f"{rows} · 2 rows · 3 columns" in done.out
    assert "1  What is the capital of a country whose name is …  x" in done.out
    assert "prompt mode: user_prompt ← question, ground_truth ← answer" in done.out
    assert "reach the workflow as metadata: level" in done.out


def test_preview_says_what_is_missing_for_rollouts(mesocosm: "Invoke", rows: Path) -> None:
    done = mesocosm("dataset", "preview", rows)
    assert done.code == 0
    assert "column user_prompt: is missing; the columns are question, answer, level" in done.out
    assert '→ map it: [dataset] columns = { user_prompt = "question" }' in done.out


def test_preview_as_a_document_holds_cells_and_rows(mesocosm: "Invoke", rows: Path) -> None:
    document = mesocosm("dataset", "preview", rows, "--rows", "1", "--json", *MAPPED).document
    assert (document["rows"], document["columns"], document["problems"]) == (2, ["question", "answer", "level"], [])
    assert document["preview"] == [
        {
            "row": 0,
            "cells": ROWS[0],
            "prompt": [{"role": "user", "content": "1 + 1 = ?"}],
            "label": "2",
            "metadata": {"level": "easy"},
            "labels": {"level": "easy"},
        }
    ]
    raw = mesocosm("dataset", "preview", rows, "--json").document
    assert [list(row) for row in raw["preview"]] == [["row", "cells"]] * 2
    assert raw["problems"][0]["path"] == "column user_prompt"


def test_validate_says_that_all_is_well(mesocosm: "Invoke", rows: Path) -> None:
    done = mesocosm("dataset", "validate", rows, *MAPPED)
    assert (done.code, done.out.splitlines()[0]) == (0, f"{rows}: ok, 2 rows")
    assert done.err == "! column answer has mixed types: 1 integer, 1 text (the first integer: row 1)\n"


def test_validate_names_every_problem_and_fails(mesocosm: "Invoke", tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('user_prompt,label\n,1\n"x",2\n" ",3\n')
    done = mesocosm("dataset", "validate", path)
    assert done.code == 1
    assert "row 1, column user_prompt: is empty (line 2)" in done.err
    assert "row 3, column user_prompt: is empty (line 4)" in done.err
    assert done.err.endswith("Rows of problems are counted from 1.\n")
    document = mesocosm("dataset", "validate", path, "--json").document
    assert (document["ok"], len(document["problems"])) == (False, 2)


def test_validate_fails_for_a_file_that_cannot_be_parsed(mesocosm: "Invoke", tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"user_prompt": "x", "score": NaN}\n')
    done = mesocosm("dataset", "validate", path)
    assert done.code == 1
    assert "row 1, column score: is NaN, which is not JSON" in done.err
    document = mesocosm("dataset", "validate", path, "--json").document
    assert document["problems"][0]["path"] == "row 1, column score"
    assert document["ok"] is False


def test_validate_of_nothing_is_an_error_of_use(mesocosm: "Invoke", tmp_path: Path) -> None:
    done = mesocosm("dataset", "validate", tmp_path / "none.jsonl")
    assert done.code == 2
    assert "no such file or folder" in done.err


def test_validate_tells_rows_without_ground_truth(mesocosm: "Invoke", tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("user_prompt,label\nx,\ny,2\n")
    done = mesocosm("dataset", "validate", path)
    assert (done.code, done.err) == (0, "! 1 of 2 rows have no ground truth (the first: row 1)\n")


def test_a_solution_that_the_workflow_sees_is_warned_of(mesocosm: "Invoke", rows: Path) -> None:
    words = (rows, "--columns", "user_prompt=question")
    said = "no column is the ground truth, and the workflow sees answer as metadata"
    checked = mesocosm("dataset", "validate", *words)
    assert (checked.err.count(said), checked.out.count(said)) == (1, 0)
    assert f"warning: {said}" in mesocosm("dataset", "info", *words).out
    assert f"warning: {said}" in mesocosm("dataset", "preview", *words).out


def test_info_tells_columns_and_digest(mesocosm: "Invoke", rows: Path) -> None:
    done = mesocosm("dataset", "info", rows, *MAPPED)
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == f"{rows} · 2 rows · 3 columns · {rows.stat().st_size:,} bytes · jsonl"
    assert lines[1].startswith("digest ")
    assert any(line.split() == ["level", "text", "–", "–", "–", "2", "4", "/", "4", "/", "4", "–"] for line in lines)
    assert "warning: column answer has mixed types: 1 integer, 1 text (the first integer: row 1)" in lines
    document = mesocosm("dataset", "info", rows, "--json", *MAPPED).document
    assert (document["mode"], document["roles"]["user_prompt"]) == ("prompt", "question")
    assert [column["name"] for column in document["columns"]] == ["question", "answer", "level"]


def test_info_tells_metadata_mode_and_what_is_kept_from_the_workflow(mesocosm: "Invoke", tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"metadata": {"a": 1}, "level": 3}))
    out = mesocosm("dataset", "info", path).out
    assert "metadata mode: metadata ← metadata" in out
    assert "do not reach the workflow (results can be sliced by them): level" in out
    assert "no column of ground truth: graders get no label" in out


def test_info_without_a_usable_column_says_so(mesocosm: "Invoke", rows: Path) -> None:
    document = mesocosm("dataset", "info", rows, "--json").document
    assert (document["mode"], document["roles"]) == (None, {})
    assert document["problems"][0]["path"] == "column user_prompt"


@pytest.mark.parametrize("word", ["question", "prompt=question"])
def test_columns_that_are_no_roles_are_refused(mesocosm: "Invoke", rows: Path, word: str) -> None:
    done = mesocosm("dataset", "preview", rows, "--columns", word)
    assert done.code == 2
    assert "write ROLE=NAME, with a role of user_prompt, system_prompt, ground_truth, metadata" in done.err


def test_several_columns_of_ground_truth_are_tried_in_their_order(mesocosm: "Invoke", rows: Path) -> None:
    words = ("--columns", "user_prompt=question", "ground_truth=answer", "label=level")
    document = mesocosm("dataset", "info", rows, "--json", *words).document
    assert document["roles"]["ground_truth"] == ["answer", "level"]


def test_a_format_can_be_named(mesocosm: "Invoke", tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_text("user_prompt\tn\nx\t1\n")
    assert mesocosm("dataset", "info", path, "--format", "tsv", "--json").document["columns"][1]["name"] == "n"


def test_the_group_alone_shows_its_commands(mesocosm: "Invoke") -> None:
    done = mesocosm("dataset")
    assert done.code == 0
    assert all(name in done.out for name in ("preview", "validate", "info"))
