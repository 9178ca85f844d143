"""Tables in numbers."""

import json
from pathlib import Path
from typing import Any

import pytest

from mesocosm.datasets import DataTable, open_table
from mesocosm.datasets.summary import MOST_DISTINCT, ColumnSummary, NumberRange, TextLengths, kind_of, summarize


def table(*rows: dict[str, Any]) -> DataTable:
    columns = tuple(dict.fromkeys(column for row in rows for column in row))
    return DataTable("made", columns, rows, "digest")


def test_a_column_is_told_in_types_gaps_lengths_and_range() -> None:
    rows: list[dict[str, Any]] = [{"q": "abc", "n": 1}, {"q": "", "n": 2.5}, {"q": None}, {"q": "abc", "n": 7}]
    text, number = summarize(table(*rows)).columns
    assert text == ColumnSummary("q", {"text": 3}, 0, 1, 1, 2, False, TextLengths(0, 3, 3))
    assert number == ColumnSummary("n", {"integer": 2, "number": 1}, 1, 0, 0, 3, False, None, NumberRange(1, 7, 3.5))


@pytest.mark.parametrize(
    ("value", "kind"),
    [("x", "text"), (True, "boolean"), (1, "integer"), (1.5, "number"), ([], "list"), ({}, "object"), (None, "null")],
)
def test_types_are_called_as_people_call_them(value: Any, kind: str) -> None:
    assert kind_of(value) == kind


def test_mixed_types_are_warned_of_with_counts_and_the_first_odd_one() -> None:
    summary = summarize(table({"a": 1}, {"a": 2.5}, {"a": "x"}, {"a": None}))
    assert summary.warnings == ("column a has mixed types: 1 integer, 1 number, 1 text (the first integer: row 1)",)
    assert summarize(table({"a": 1}, {"a": 2.5}, {"a": None})).warnings == ()
    assert summarize(table({"a": 1}, {"a": "x"}, {"a": 3})).warnings == (
        "column a has mixed types: 2 integer, 1 text (the first text: row 2)",
    )


def test_rows_that_lack_a_column_are_warned_of() -> None:
    assert summarize(table({"a": 1, "b": 1}, {"a": 2}, {"a": 3})).warnings == (
        "2 of 3 rows have no column b (the first: row 2)",
    )


def test_rows_that_occur_twice_are_counted_whatever_the_order_of_their_columns() -> None:
    summary = summarize(table({"a": 1, "b": [1]}, {"b": [1], "a": 1}, {"a": 1, "b": [2]}))
    assert summary.duplicates == 1
    assert summary.warnings == ("1 of 3 rows repeats an earlier one",)


def test_one_and_true_are_different_values() -> None:
    (column,) = summarize(table({"a": 1}, {"a": True}, {"a": "1"})).columns
    assert column.distinct == 3


def test_different_values_are_counted_up_to_a_bound() -> None:
    some, many = (summarize(table(*({"a": n} for n in range(MOST_DISTINCT + more)))).columns[0] for more in (0, 1))
    assert (some.distinct, some.distinct_capped) == (MOST_DISTINCT, False)
    assert (many.distinct, many.distinct_capped) == (MOST_DISTINCT, True)


def test_numbers_in_csv_have_a_range(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("n,t,e,w\n1.5,x,,nan\n,2,,1\n-3,4,,2\n")
    numbers, texts, empty, weird = summarize(open_table(path)).columns
    assert numbers.range == NumberRange(-3, 1.5, -0.75)
    assert texts.range is empty.range is weird.range is None
    assert empty.empty == 3


def test_a_summary_names_its_data(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"a": 1}))
    summary = summarize(open_table(path))
    assert (summary.format, summary.rows, summary.bytes) == ("jsonl", 1, len(path.read_bytes()))
    assert summary.digest == open_table(path).digest
