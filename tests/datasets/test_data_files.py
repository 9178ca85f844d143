"""Files of every format and encoding as tables, and what is said about broken ones."""

import csv
import gzip
import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.datasets import DataTable, open_table
from mesocosm.datasets.content import read_bytes
from mesocosm.datasets.reading import read_file

ROWS = [{"user_prompt": "1 + 1 = ?", "ground_truth": "2"}, {"user_prompt": 'a, "b"\né', "ground_truth": "c"}]
LINES = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)
Write = Callable[[str, bytes | str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return what writes a file and returns its path."""

    def written(name: str, content: bytes | str) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return written


def separated(separator: str) -> str:
    lines = [["user_prompt", "ground_truth"], *(list(row.values()) for row in ROWS)]
    quoted = [['"' + cell.replace('"', '""') + '"' for cell in line] for line in lines]
    return "\r\n".join(separator.join(line) for line in quoted) + "\r\n"


def as_parquet(path: Path, rows: list[dict[str, Any]], schema: pyarrow.Schema | None = None) -> Path:
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), path)
    return path


def problems(path: Path, **where: str) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        open_table(path, **where)
    assert str(path) in str(caught.value)
    return [str(problem) for problem in caught.value.problems]


def test_every_format_gives_the_same_rows(tmp_path: Path, write: Write) -> None:
    write("a.jsonl", LINES)
    write("b.ndjson", LINES.replace("\n", "\r\n"))
    write("c.json", json.dumps(ROWS, indent=2))
    write("d.json", json.dumps({"version": 1, "data": ROWS}))
    write("e.json", LINES)
    write("f.csv", separated(","))
    write("g.tsv", separated("\t"))
    as_parquet(tmp_path / "h.parquet", ROWS)
    for file in list(tmp_path.iterdir()):
        (tmp_path / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
    files = sorted(tmp_path.iterdir())
    assert len(files) == 16
    for file in files:
        table = open_table(file)
        assert list(table.rows) == ROWS, file
        assert table.columns == ("user_prompt", "ground_truth")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.tsv"])
def test_texts_are_read_in_the_encoding_that_they_announce(write: Write, name: str, encoding: str) -> None:
    texts = {
        "jsonl": LINES,
        "json": json.dumps(ROWS, ensure_ascii=False),
        "csv": separated(","),
        "tsv": separated("\t"),
    }
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    table = open_table(write(name, mark + texts[name.partition(".")[2]].encode(encoding)))
    assert list(table.rows) == ROWS


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", b"q,a\n1,2\n\xe9,2\n", "line 3: is not UTF-8 text: invalid continuation byte at byte 8 (0xe9)"),
        (
            "a.jsonl",
            b'\xef\xbb\xbf{"q": 1}\n{"q": "\xe9"}\n',
            "line 2: is not JSON: no UTF-8 at byte 19 of the file (0xe9)",
        ),
        ("a.json", b'[{"q": 1},\n{"q": "\xe9"}]', "is not JSON: no UTF-8 at byte 18 of the file (0xe9), on line 2"),
        ("a.csv", b"\xff\xfeq\x00\n\x00x", "line 2: is not UTF-16 text: truncated data at byte 6 (0x78)"),
        ("a.csv", "\ufeffq".encode("utf-32"), "is in UTF-32, which is not read"),
        ("a.csv", "q,a\n1,2\n".encode("utf-16-le"), "line 1: holds a NUL character"),
        ("a.csv", "q,a\n1,\0\n", "line 2: holds a NUL character"),
        ("a.jsonl", b'{"q": 1}\n{"q": "\0"}\n', "line 2: is not JSON: it holds a NUL character"),
    ],
)
def test_bytes_that_are_no_text_are_named(write: Write, name: str, content: bytes, expected: str) -> None:
    said = problems(write(name, content))
    assert len(said) == 1
    assert said[0].startswith(expected)


def test_cells_of_any_length_are_read_and_the_limit_of_the_process_stays(write: Write) -> None:
    before = csv.field_size_limit()
    long = "x" * (2**24 + 1)
    assert open_table(write("a.csv", f"q,a\n{long},1\n")).rows == [{"q": long, "a": "1"}]
    problems(write("b.csv", f'q,a\n{"x" * 2 * before},"1\n'))
    assert csv.field_size_limit() == before


def test_rows_of_csv_know_their_lines(write: Write) -> None:
    table = open_table(write("a.csv", 'q,a\n"two\nlines",1\n\nx,2\n'))
    assert [table.line(index) for index in range(2)] == [2, 5]
    assert str(table.problem(1, "a", "is wrong")) == "row 2, column a: is wrong (line 5)"


def test_rows_of_json_lines_know_their_lines(write: Write) -> None:
    table = open_table(write("a.jsonl", '{"n": 1}\n\n{"n": 2}\n'))
    assert str(table.problem(0, "n", "is wrong")) == "row 1, column n: is wrong"
    assert str(table.problem(1, "n", "is wrong")) == "row 2, column n: is wrong (line 3)"
    assert open_table(write("a.json", '[{"n": 1}]')).line(0) is None


def test_columns_of_the_same_name_are_refused(write: Write) -> None:
    assert problems(write("a.csv", "q,a,q,,\n1,2,3,4,5\n")) == [
        'header: columns 1 and 3 are both named "q"',
        "header: columns 4 and 5 both have no name",
    ]
    table = pyarrow.table([pyarrow.array([1]), pyarrow.array([2])], names=["q", "q"])
    parquet.write_table(table, write("a.parquet", b""))
    assert problems(write("a.csv", "q,a\n1,2\n").with_suffix(".parquet")) == ["header: several columns are named 'q'"]


@pytest.mark.parametrize(("mark", "called"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_another_separator_than_commas_is_named(write: Write, mark: str, called: str) -> None:
    found = problems(write("a.csv", f'q{mark}a\n"1"{mark}2\n'))
    assert len(found) == 1
    assert found[0].startswith(f"header: its columns (q, a) are separated by {called}, not by commas")


def test_ragged_rows_are_all_named(write: Write) -> None:
    assert problems(write("a.csv", "q,a\n1\n1,2\n1,2,3\n")) == [
        "row 1: has 1 columns, not the 2 of the header (line 2)",
        "row 3: has 3 columns, not the 2 of the header (line 4)",
    ]


def test_a_ragged_row_below_a_wrong_header_keeps_its_number(write: Write) -> None:
    assert problems(write("a.csv", "q,q\n1,2\n3\n"))[1].startswith("row 2: has 1 columns")


def test_an_open_quote_is_named_with_the_line_where_it_begins(write: Write) -> None:
    (said,) = problems(write("a.csv", 'q,a\n1,2\n3,"4\n5,6\n'))
    assert said.startswith("row 2: is not CSV:")
    assert said.endswith("(it begins on line 3)")


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_numbers_that_json_does_not_know_are_named(write: Write, name: str) -> None:
    rows = ['{"q": "x", "score": 1}', '{"q": "x", "score": NaN}', '{"q": [{"deep": -Infinity}], "score": 1}']
    content = "\n".join(rows) if name == "a.jsonl" else f"[{', '.join(rows)}]"
    assert problems(write(name, content)) == [
        "row 2, column score: is NaN, which is not JSON",
        "row 3, column q: is -Infinity, which is not JSON",
    ]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.jsonl", '{"n": 1}\n{"n": \n', "line 2: is not JSON"),
        ("a.jsonl", '{"n": 1}\n[1]\n', "row 2: is [1], no object"),
        ("a.jsonl", '{"n": 1}{"n": 2}\n', "line 1: is not JSON"),
        ("a.jsonl", "[" * 100_000, "line 1: is not JSON: it is nested too deeply"),
        ("a.json", '[{"n": 1}, 2]', "row 2: is 2, no object"),
        ("a.json", '{"data": [{"n": 1}, 2]}', "row 2: is 2, no object"),
        ("a.json", "7", "is 7, no list of objects"),
        ("a.json", '[{"n": 1}', "is not JSON"),
        ("a.json", '{\n"n": 1,\n', "is not JSON"),
        ("a.parquet", b"PAR1 and more", "is not a parquet file"),
    ],
)
def test_what_is_no_row_is_named(write: Write, name: str, content: bytes | str, expected: str) -> None:
    assert problems(write(name, content))[0].startswith(expected)


def test_twenty_problems_are_shown_and_the_others_counted(write: Write) -> None:
    with pytest.raises(InvalidInput, match=r"\(the first 20 of 1,234 problems\)") as caught:
        open_table(write("a.csv", "q,a\n" + "1\n" * 1234))
    assert len(caught.value.problems) == 20


@pytest.mark.parametrize(
    ("name", "content"), [("a.jsonl", ""), ("a.csv", "q,a\n"), ("a.json", "[]"), ("a.json", " \n"), ("a.tsv", "\ufeff")]
)
def test_data_without_a_row_is_refused(write: Write, name: str, content: str) -> None:
    with pytest.raises(UsageError, match="no rows; name data that has some"):
        open_table(write(name, content))


def test_a_file_of_no_known_format_is_refused_unless_it_is_named(write: Write) -> None:
    path = write("rows.data", LINES)
    with pytest.raises(UsageError, match=r"'\.data' is not a known format; name one of csv, tsv, jsonl, json, parquet"):
        open_table(path)
    assert list(open_table(path, kind="jsonl").rows) == ROWS


def test_a_place_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file or folder"):
        open_table(tmp_path / "a.jsonl")


def test_what_is_for_the_hub_is_refused_for_files(write: Write) -> None:
    with pytest.raises(UsageError, match=r"a revision \(main\) is for datasets of the Hugging Face hub"):
        open_table(write("a.jsonl", LINES), revision="main")


@pytest.mark.parametrize("packed", [False, True])
def test_files_that_are_too_large_are_refused(write: Write, packed: bool) -> None:
    content = LINES.encode() * 10
    path = write("a.jsonl.gz", gzip.compress(content)) if packed else write("a.jsonl", content)
    assert read_bytes(path, most=len(content)) == content
    with pytest.raises(UsageError, match="more than 10 bytes, and datasets are read into memory as a whole"):
        read_file(path, most=10)


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(b"{}" * 99, mtime=0)[:-12], b"\x1f\x8b\x08\x00xxxx"])
def test_broken_archives_are_refused(write: Write, content: bytes) -> None:
    with pytest.raises(UsageError, match=r"a\.jsonl\.gz cannot be read"):
        open_table(write("a.jsonl.gz", content))


def test_the_digest_is_that_of_the_bytes(write: Write) -> None:
    first = open_table(write("a.jsonl", LINES))
    same = open_table(write("b.jsonl.gz", gzip.compress(LINES.encode())))
    other = open_table(write("c.jsonl", LINES + '{"n": 1}'))
    assert first.digest == same.digest != other.digest


def test_columns_are_all_that_occur_in_the_order_of_their_appearance(write: Write) -> None:
    table = open_table(write("a.jsonl", '{"b": 1}\n{"a": 1, "b": 2}\n{"c": 1}\n'))
    assert table.columns == ("b", "a", "c")


def test_values_of_parquet_become_json(tmp_path: Path) -> None:
    row = {
        "time": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "day": date(2026, 1, 2),
        "span": timedelta(seconds=90),
        "price": Decimal("1.50"),
        "raw": b"\x00\xff",
        "score": float("nan"),
        "nested": {"scores": [1.5, float("nan")]},
        "pairs": [("a", 1)],
    }
    kinds = pyarrow.schema(
        [
            ("time", pyarrow.timestamp("us", "UTC")),
            ("day", pyarrow.date32()),
            ("span", pyarrow.duration("us")),
            ("price", pyarrow.decimal128(5, 2)),
            ("raw", pyarrow.binary()),
            ("score", pyarrow.float64()),
            ("nested", pyarrow.struct([("scores", pyarrow.list_(pyarrow.float64()))])),
            ("pairs", pyarrow.map_(pyarrow.string(), pyarrow.int64())),
        ]
    )
    table = open_table(as_parquet(tmp_path / "a.parquet", [row], kinds))
    assert table.rows[0] == {
        "time": "2026-01-02T03:04:05+00:00",
        "day": "2026-01-02",
        "span": 90.0,
        "price": "1.50",
        "raw": "AP8=",
        "score": None,
        "nested": {"scores": [1.5, None]},
        "pairs": {"a": 1},
    }
    assert table.notes == ("column score: 1 NaN read as null",)


def test_times_finer_than_python_knows_are_an_error_of_the_file(tmp_path: Path) -> None:
    kinds = pyarrow.schema([("time", pyarrow.time64("ns"))])
    path = as_parquet(tmp_path / "a.parquet", [{"time": 1}], kinds)
    assert problems(path)[0].startswith("holds values that cannot be read: ")


def test_infinite_numbers_of_parquet_are_named(tmp_path: Path) -> None:
    path = as_parquet(tmp_path / "a.parquet", [{"n": 1.0}, {"n": float("inf")}])
    assert problems(path) == ["row 2, column n: is inf, which is not JSON"]


def test_a_table_can_be_made_of_rows_without_files() -> None:
    table = DataTable("made", ("q",), [{"q": 1}], "digest")
    assert len(table) == 1
    assert str(table.problem(0, "q", "is wrong")) == "row 1, column q: is wrong"
    assert table.line(0) is None
