"""Rows added to a dataset: in its columns, once, and the same rows to workflow and grader as before."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mesocosm.core.failure import InvalidInput
from mesocosm.datasets.blocks import read_blocks
from mesocosm.datasets.faults import DatasetProblems
from mesocosm.rollouts.added_rows import AddedRows, NewRow, add_rows
from mesocosm.rollouts.dataset_check import check_dataset
from mesocosm.rollouts.rows import RolloutRow, read_rows
from mesocosm.rollouts.tables import Columns

USUAL = Columns()
MINE = Columns(user_prompt="question", ground_truth=("answer",))
ORIGIN = {"origin_run": "r1", "origin_episode": "e1", "origin_task": "t1"}


def asked(text: str, label: str | None = None, **metadata: Any) -> NewRow:
    """Return a new row with a prompt of one message."""
    return NewRow(({"role": "user", "content": text},), label, metadata or None, origin=ORIGIN)


def grown(
    file: Path | None, rows: list[NewRow], columns: Columns = USUAL, kind: str = "jsonl"
) -> tuple[AddedRows, str]:
    """Add rows; return what came of it and the file that was written."""
    out = io.BytesIO()
    return add_rows(file, kind, columns, rows, out), out.getvalue().decode()


def played(text: str, tmp_path: Path, columns: Columns = USUAL) -> list[RolloutRow]:
    """Return the rows of a JSONL file as rollouts get them."""
    file = tmp_path / "played.jsonl"
    file.write_text(text)
    (table,) = read_blocks(file, "jsonl", DatasetProblems())
    return list(read_rows(table, columns))


def same(row: RolloutRow, new: NewRow) -> bool:
    """Return whether a row is the one that was added."""
    return (row.prompt, row.label, row.metadata) == (new.prompt, new.label, new.metadata)


def test_a_new_dataset_has_the_columns_of_the_rows_and_their_origin(tmp_path: Path) -> None:
    new = [asked("1 + 1?", "2", level=1), asked("2 + 2?", "4", level=2)]
    found, text = grown(None, new, MINE)
    assert (found.rows, found.added, found.duplicates) == (2, 2, 0)
    assert json.loads(text.splitlines()[0]) == {"question": "1 + 1?", "answer": "2", "level": 1, **ORIGIN}
    rows = played(text, tmp_path, MINE)
    assert [same(row, one) for row, one in zip(rows, new, strict=True)] == [True, True]
    assert rows[0].labels == {"level": "1", "origin_run": "r1"}


def said(*words: str) -> tuple[dict[str, str], ...]:
    """Return messages, each written as `role: content`."""
    return tuple(dict(zip(("role", "content"), one.split(": "), strict=True)) for one in words)


@pytest.mark.parametrize(
    "row",
    [
        NewRow(said("system: Be brief.", "user: 1 + 1?"), "2"),
        NewRow(({"role": "user", "content": [{"type": "text", "text": "Hi"}]},)),
        NewRow(said("user: a", "assistant: b", "user: c")),
        NewRow(said("system: x", "developer: y", "user: z")),
        NewRow(({"role": "user", "content": "q", "name": "ann"},), "l", {"label": "other", "user_prompt": 1}),
        NewRow((), None, {"only": ["metadata"]}),
        NewRow((), "label alone", None),
    ],
)
def test_a_row_comes_back_as_it_was(row: NewRow, tmp_path: Path) -> None:
    found, text = grown(None, [row])
    assert found.added == 1, found
    (back,) = played(text, tmp_path)
    assert same(back, row)


def test_one_row_without_a_prompt_gives_all_a_metadata_column(tmp_path: Path) -> None:
    new = [asked("1 + 1?", "2", level=1), NewRow((), None, {"seed": 3}), asked("2 + 2?")]
    _, text = grown(None, new)
    assert [json.loads(line)["metadata"] for line in text.splitlines()] == [{"level": 1}, {"seed": 3}, {}]
    assert all(same(row, one) for row, one in zip(played(text, tmp_path), new, strict=True))


def test_rows_that_are_there_are_not_added_again(tmp_path: Path) -> None:
    file = tmp_path / "hard.jsonl"
    file.write_text('{"user_prompt": "1 + 1?", "ground_truth": 2}\n{"user_prompt": "2 + 2?", "ground_truth": "4"}')
    before = file.read_text()
    found, text = grown(file, [asked("1 + 1?", "2"), asked("3 + 3?", "6"), asked("3 + 3?", "6"), asked("1 + 1?", "3")])
    assert (found.rows, found.added, found.duplicates) == (4, 2, 2)
    assert text.startswith(before + "\n")
    file.write_text(text)
    again, unchanged = grown(file, [asked("3 + 3?", "6"), asked("1 + 1?", "3")])
    assert (again.added, again.duplicates, unchanged) == (0, 2, text)


@pytest.mark.parametrize("kind", ["csv", "parquet", "utf-16"])
def test_other_formats_become_json_lines_with_the_same_rows(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "base"
    if kind == "csv":
        file.write_text('question,answer,level\n"1, or 2?",2,\n2 + 2?,4,easy\n')
    elif kind == "parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table({"question": ["1, or 2?", "2 + 2?"], "answer": [2, 4]}), file)
    else:
        file.write_text('{"question": "1, or 2?", "answer": 2}\n{"question": "2 + 2?", "answer": 4}\n', "utf-16")
    kind = "jsonl" if kind == "utf-16" else kind
    digest = check_dataset(file, kind, columns=MINE).digest
    nothing, text = grown(file, [], MINE, kind)
    assert nothing.rows == 2
    copy = tmp_path / "copy.jsonl"
    copy.write_text(text)
    assert check_dataset(copy, "jsonl", columns=MINE).digest == digest
    old = asked("2 + 2?", "4", **({"level": "easy"} if kind == "csv" else {}))
    found, text = grown(file, [old, asked("3 + 3?", "6")], MINE, kind)
    assert (found.added, found.duplicates) == (1, 1)
    assert played(text, tmp_path, MINE)[2].label == "6"


def test_a_dataset_with_metadata_gets_rows_with_metadata(tmp_path: Path) -> None:
    file = tmp_path / "base.jsonl"
    file.write_text('{"metadata": {"a": 1}}\n')
    new = [asked("1 + 1?", "2", level=1), NewRow((), None, {"a": 1})]
    found, text = grown(file, new)
    assert (found.added, found.duplicates) == (1, 1)
    assert same(played(text, tmp_path)[1], new[0])


def test_a_row_without_a_place_in_the_columns_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    file = tmp_path / "base.jsonl"
    file.write_text('{"user_prompt": "1 + 1?", "ground_truth": "2"}\n')
    rows = [asked("new"), NewRow((), None, {"seed": 1}, origin=ORIGIN), asked("q", None, ground_truth="x")]
    found, _ = grown(file, rows)
    assert found.added == 0
    words = [(fault.path, fault.message.split(",")[0]) for fault in found.faults]
    assert words == [("episode e1", "has no prompt"), ("episode e1", "has 'ground_truth' in its metadata")]


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "base.jsonl"
    file.write_text('{"user_prompt": "1"}\n{"user_prompt": \n')
    with pytest.raises(InvalidInput):
        grown(file, [asked("new")])


def test_it_is_a_program_of_its_own(tmp_path: Path) -> None:
    rows, out = tmp_path / "rows", tmp_path / "out"
    rows.write_bytes(msgspec.json.encode(asked("1 + 1?", "2")) + b"\n")
    words = ["", "", '{"ground_truth": ["answer"]}', str(rows), str(out), "512"]
    said = subprocess.run(
        [sys.executable, "-m", "mesocosm.rollouts.added_rows", *words], check=True, capture_output=True
    )
    assert msgspec.json.decode(said.stdout, type=AddedRows).added == 1
    assert json.loads(out.read_text()) == {"user_prompt": "1 + 1?", "answer": "2", **ORIGIN}
