"""A file checked in blocks: what is accepted can be run, what cannot be run is named."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pyarrow
import pytest
from pyarrow import parquet

from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.datasets import blocks, open_table
from mesocosm.rollouts import dataset_check
from mesocosm.rollouts.dataset_check import PREVIEWED, CheckedDataset, check_dataset
from mesocosm.rollouts.rows import read_rows
from mesocosm.rollouts.tables import Columns

GOOD = {"user_prompt": "1 + 1?", "ground_truth": "2"}


def written(folder: Path, text: str | bytes, name: str = "data.jsonl") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_a_good_file_is_described(tmp_path: Path) -> None:
    rows = [{"user_prompt": f"{n} + 1?", "ground_truth": n + 1, "level": n % 2} for n in range(30)]
    found = check_dataset(written(tmp_path, lines(*rows)), "jsonl")
    assert (found.rows, found.mode, found.faults, found.warnings) == (30, "prompt", (), ())
    assert found.roles == {"user_prompt": ("user_prompt",), "ground_truth": ("ground_truth",)}
    assert [column.name for column in found.columns] == ["user_prompt", "ground_truth", "level"]
    assert found.columns[1].range is not None
    assert (found.columns[1].range.min, found.columns[1].range.mean, found.columns[1].range.max) == (1, 15.5, 30)
    assert [row.cells for row in found.preview] == rows[:PREVIEWED]


def test_the_digest_is_that_of_the_rows_whatever_the_format(tmp_path: Path) -> None:
    from pyarrow import Table, parquet

    rows = [{"user_prompt": f"{n}?", "ground_truth": str(n)} for n in range(9)]
    csv = "user_prompt,ground_truth\r\n" + "".join(f"{n}?,{n}\r\n" for n in range(9))
    parquet.write_table(Table.from_pylist(rows), tmp_path / "data.parquet")
    digests = {
        check_dataset(written(tmp_path, lines(*rows)), "jsonl").digest,
        check_dataset(written(tmp_path, csv, "data.csv"), "csv").digest,
        check_dataset(tmp_path / "data.parquet", "parquet").digest,
    }
    assert len(digests) == 1
    other = check_dataset(written(tmp_path, lines(*rows[:-1], {**rows[-1], "ground_truth": "x"})), "jsonl").digest
    assert other not in digests


BAD = {
    "an empty prompt": lines(GOOD, {"user_prompt": " "}),
    "no prompt": lines(GOOD, {"ground_truth": "1"}),
    "a prompt that is a number": lines(GOOD, {"user_prompt": 3}),
    "NaN": lines(GOOD) + '{"user_prompt": "x", "ground_truth": NaN}',
    "no object": lines(GOOD) + "[1]",
    "no JSON": lines(GOOD) + "nonsense",
    "metadata that is a text": lines({"metadata": "x"}),
    "metadata that is a list": lines({"metadata": {"a": 1}}, {"metadata": [1]}),
    "a row of nothing": lines({"metadata": {"a": 1}}, {"metadata": None}),
    "other columns": lines({"question": "1?", "answer": "1"}),
}


@pytest.mark.parametrize("what", BAD)
def test_what_a_run_would_refuse_is_refused_with_the_same_words(tmp_path: Path, what: str) -> None:
    path = written(tmp_path, BAD[what])
    with pytest.raises(InvalidInput) as refused:
        read_rows(open_table(path, name=path.name))
    found = check_dataset(path, "jsonl")
    assert [(one.path, one.message) for one in found.faults] == [
        (one.path, one.message) for one in refused.value.problems
    ]
    assert all(one.fix for one in found.faults)
    assert found.faults_total == len(found.faults)


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    for text in ("", "user_prompt,ground_truth\n"):
        path = written(tmp_path, text, "data.csv")
        with pytest.raises(UsageError):
            open_table(path)
        assert [one.message for one in check_dataset(path, "csv").faults] == ["has no rows"]


def test_few_rows_and_rows_that_repeat_are_only_warned_of(tmp_path: Path) -> None:
    found = check_dataset(written(tmp_path, lines(GOOD, GOOD)), "jsonl")
    assert not found.faults
    assert found.duplicates == 1
    assert any("fewer than 4 rows" in words for words in found.warnings)
    assert any("repeats an earlier one" in words for words in found.warnings)


def test_columns_may_have_other_names(tmp_path: Path) -> None:
    path = written(tmp_path, lines({"question": "1?", "answer": "1"}))
    found = check_dataset(path, "jsonl", columns=Columns(user_prompt="question", ground_truth=("answer",)))
    assert not found.faults
    assert found.roles == {"user_prompt": ("question",), "ground_truth": ("answer",)}
    refused = check_dataset(path, "jsonl")
    assert "--columns user_prompt=question" in refused.faults[0].fix


def test_a_column_in_a_late_row_changes_the_mode_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_BLOCK", 200)
    rows: list[dict[str, Any]] = [*([GOOD] * 50), {"user_prompt": "", "metadata": {"a": 1}}]
    path = written(tmp_path, lines(*rows))
    assert read_rows(open_table(path)).roles.mode == "metadata"
    found = check_dataset(path, "jsonl")
    assert (found.mode, found.faults) == ("metadata", ())


def test_faults_are_counted_and_the_first_are_listed(tmp_path: Path) -> None:
    found = check_dataset(written(tmp_path, lines(*[{"user_prompt": ""}] * 100)), "jsonl")
    assert (len(found.faults), found.faults_total) == (20, 100)


def test_long_cells_are_cut_in_the_preview_and_named(tmp_path: Path) -> None:
    found = check_dataset(written(tmp_path, lines({**GOOD, "long": "x" * 9_000, "list": [1] * 5_000})), "jsonl")
    (row,) = found.preview
    assert row.cut == ("long", "list")
    assert row.cells["long"] == "x" * 2_000
    assert row.cells["list"].startswith("[1,1")


def test_a_file_with_too_many_columns_is_refused(tmp_path: Path) -> None:
    found = check_dataset(written(tmp_path, lines(*({f"c{n}": 1, **GOOD} for n in range(2_000)))), "jsonl")
    assert [one.message for one in found.faults] == ["has more than 1,000 columns"]


def run_check(path: Path, mib: int) -> CheckedDataset:
    words = [sys.executable, "-m", "mesocosm.rollouts.dataset_check", str(path), path.suffix[1:], path.name, "{}"]
    done = subprocess.run([*words, str(mib)], capture_output=True, check=True)
    return msgspec.json.decode(done.stdout, type=CheckedDataset)


def test_a_large_file_is_read_in_less_memory_than_it_has(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    row = lines({"user_prompt": "x" * 100_000, "ground_truth": "1"}).encode()
    with path.open("wb") as file:
        for _ in range(3_000):
            file.write(row)
    found = run_check(path, 200)
    assert (found.rows, found.faults) == (3_000, ())


def test_a_file_that_needs_too_much_memory_is_refused(tmp_path: Path) -> None:
    found = run_check(written(tmp_path, b'{"user_prompt": [' + b"[]," * 5_000_000 + b"[]]}"), 200)
    assert [one.message for one in found.faults] == ["needs more than 200 MiB of memory to be read"]


def test_a_parquet_file_whose_values_find_no_room_is_not_called_another_format(tmp_path: Path) -> None:
    path = tmp_path / "zeros.parquet"
    values = [b"\0" * (200 << 20)] * 3
    parquet.write_table(pyarrow.table({"user_prompt": ["q"] * 3, "pad": values}), path, compression="zstd")
    (fault,) = run_check(path, 300).faults
    assert fault.message.startswith("needs more memory than there is")
    assert "row groups" in fault.fix


def test_a_small_parquet_file_with_very_many_bytes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "same.parquet"
    prompts = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 1_000, pyarrow.int32()), ["x" * 4_000])
    parquet.write_table(pyarrow.table({"user_prompt": prompts}), path)
    assert check_dataset(path, "parquet").rows == 1_000
    monkeypatch.setattr(dataset_check, "MOST_BYTES", 1 << 20)
    (fault,) = check_dataset(path, "parquet").faults
    assert "decompressed" in fault.message


def test_splits_are_counted_with_the_places_of_their_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_BLOCK", 100)
    names = ["a", "a", "b", None, "a", "b", "b", "b"]
    file = written(tmp_path, lines(*({**GOOD, "user_prompt": f"{n}?", "split": name} for n, name in enumerate(names))))
    found = check_dataset(file, "jsonl")
    assert found.roles["split"] == ("split",)
    assert found.splits == {"a": 3, "b": 4, "": 1}
    assert found.split_spans == {"a": (0, 2, 4, 5), "b": (2, 3, 5, 8), "": (3, 4)}
    monkeypatch.setattr(dataset_check, "MOST_SPANS", 3)
    assert check_dataset(file, "jsonl").split_spans == {}


def test_a_column_with_too_many_splits_names_none(tmp_path: Path) -> None:
    file = written(tmp_path, lines(*({**GOOD, "split": f"s{n}"} for n in range(101))))
    (fault,) = check_dataset(file, "jsonl").faults
    assert "names more than 100 splits" in fault.message
    assert check_dataset(file, "jsonl", columns=Columns(split="")).splits == {}
