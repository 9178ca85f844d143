"""Files read in blocks: the same rows, and the same problems, as of files read as a whole."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.failure import InvalidInput, Problem
from mesocosm.datasets import blocks, open_table
from mesocosm.datasets.blocks import read_blocks
from mesocosm.datasets.faults import DatasetProblems
from mesocosm.datasets.summary import RunningSummary, summarize

ROWS: list[dict[str, Any]] = [{"user_prompt": f"{n}\n" * (n % 7), "n": str(n), "é": "ü" * (n % 3)} for n in range(400)]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_BLOCK", 300)
    monkeypatch.setattr(blocks, "_CHUNK", 64)


def csv_text(rows: list[dict[str, Any]]) -> str:
    import csv
    import io

    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def json_lines(rows: list[dict[str, Any]]) -> str:
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


def write_parquet(path: Path) -> None:
    from pyarrow import Table, parquet

    parquet.write_table(Table.from_pylist(ROWS), path, row_group_size=90)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize(("suffix", "text"), [(".csv", csv_text), (".jsonl", json_lines)])
def test_blocks_hold_the_rows_of_the_file(
    tmp_path: Path, suffix: str, text: Callable[[list[dict[str, Any]]], str], encoding: str
) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(text(ROWS).encode(encoding))
    _check_same(path)


def test_blocks_of_parquet_hold_the_rows_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_parquet(path)
    _check_same(path)


def _check_same(path: Path) -> None:
    faults = DatasetProblems()
    whole = open_table(path)
    kind = whole.format
    rows: list[Any] = []
    places: list[Problem] = []
    summary = RunningSummary()
    tables = list(read_blocks(path, kind, faults))
    for table in tables:
        rows += table.rows
        places += [table.problem(index, "n", "") for index in range(len(table))]
        summary.add(table)
    assert not faults.total
    assert len(tables) > 1
    assert rows == list(whole.rows) == ROWS
    assert places == [whole.problem(index, "n", "") for index in range(len(whole))]
    expected = summarize(whole)
    assert summary.result(expected.name, expected.bytes, expected.digest) == expected


LONG = csv_text(ROWS)
BAD: dict[str, bytes] = {
    "header.csv": b"a,a\n1,2\n",
    "ragged.csv": (LONG + "1,2\n3,4,5,6\n").encode(),
    "quote.csv": (LONG + '"1,2,3\nmore').encode(),
    "byte.csv": (LONG + "é" * 99).encode() + b"\xff,1,2\n",
    "end.csv": (LONG + "é" * 99).encode() + b"\xc3",
    "half.csv": LONG.encode("utf-16") + b"\x00",
    "nul.csv": (LONG + "1,2,\0\n").encode(),
    "wide.csv": LONG.encode("utf-32"),
    "byte.jsonl": json_lines(ROWS).encode() + b'\n{"n": "\xff"}\n',
    "nan.jsonl": json_lines(ROWS).encode() + b'\n\n{"n": NaN}\n{"n": 1}',
    "list.jsonl": json_lines(ROWS).encode() + b"\n[1]\n{]\n",
    "wide.jsonl": json_lines(ROWS).encode("utf-32"),
    "none.parquet": b"PAR1 or not",
}


@pytest.mark.parametrize("name", BAD)
def test_problems_are_those_of_the_whole_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(BAD[name])
    with pytest.raises(InvalidInput) as expected:
        open_table(path)
    faults = DatasetProblems()
    for _ in read_blocks(path, path.suffix[1:], faults):
        pass
    assert [*map(_found, faults.first)] == [*map(_found, expected.value.problems)]


def _found(problem: Problem) -> tuple[str, str, str]:
    return problem.path, problem.message, problem.fix


def test_only_a_row_is_bounded_and_not_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "LONGEST_ROW", 300)
    for name, text in (("a.jsonl", json_lines(ROWS)), ("a.csv", csv_text(ROWS))):
        path = tmp_path / name
        path.write_bytes(text.encode("utf-16"))
        faults = DatasetProblems()
        assert sum(len(table) for table in read_blocks(path, name[2:], faults)) == len(ROWS)
        assert not faults.total


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", b'user_prompt,n\n1,2\n"' + b"x\n" * 200),
        ("a.csv", b"user_prompt,n\n1,2\n" + b"x" * 400),
        ("a.jsonl", b'{"n": 1}\n{"n": "' + b"x" * 400),
    ],
)
def test_a_row_that_is_too_long_is_named_and_not_read(
    tmp_path: Path, name: str, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "LONGEST_ROW", 300)
    path = tmp_path / name
    path.write_bytes(data)
    faults = DatasetProblems()
    list(read_blocks(path, path.suffix[1:], faults))
    (problem,) = faults.first
    assert problem.path == "row 2"
    assert problem.message.startswith("is longer than")
