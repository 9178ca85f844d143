"""Splits of a file: rows that name the same part of the dataset in a column."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.datasets import open_table
from mesocosm.datasets.splits import split_name

LINES = '{"a": 1, "split": "train"}\n\n{"a": 2, "split": "test"}\n{"a": 3}\n{"a": 4, "split": "test", "fold": 2}\n'

Write = Callable[..., Path]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text(LINES)
    return path


def test_a_split_is_opened_with_the_true_places_of_its_rows(file: Path) -> None:
    table = open_table(file, split="test")
    assert [row["a"] for row in table.rows] == [2, 4]
    assert [table.where(place) for place in range(2)] == ["row 2", "row 4"]
    assert [table.line(place) for place in range(2)] == [3, 5]


def test_the_digest_of_a_split_covers_its_rows_alone(file: Path) -> None:
    digest = open_table(file, split="test").digest
    file.write_text(LINES + '{"a": 5, "split": "train"}\n')
    assert open_table(file, split="test").digest == digest
    assert open_table(file, split="train").digest != digest
    file.write_text(LINES + '{"a": 5, "split": "test"}\n')
    assert open_table(file, split="test").digest != digest


def test_another_column_can_name_the_splits(file: Path) -> None:
    assert [row["a"] for row in open_table(file, split="2", split_column="fold").rows] == [4]


def test_a_split_that_is_not_there_lists_those_that_are(file: Path) -> None:
    with pytest.raises(UnknownName, match="has no split 'dev'; it has train, test"):
        open_table(file, split="dev")


@pytest.mark.parametrize("column", ["part", ""])
def test_without_a_column_of_splits_none_can_be_chosen(file: Path, column: str) -> None:
    with pytest.raises(UsageError, match="leave the split out, or map a column"):
        open_table(file, split="test", split_column=column)


@pytest.mark.parametrize(
    ("value", "name"), [(None, ""), ("", ""), ("test", "test"), (3, "3"), (2.0, "2"), (True, "true"), ("ä b", "ä b")]
)
def test_values_that_name_a_split(value: Any, name: str) -> None:
    assert split_name(value) == name


@pytest.mark.parametrize("value", [["test"], {"a": 1}, "a\nb", "x" * 201])
def test_values_that_name_none(value: Any) -> None:
    with pytest.raises(ValueError, match="not the name of a split"):
        split_name(value)


def test_a_cell_that_names_no_split_is_told_when_one_is_chosen(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"split": ["a"]}\n')
    with pytest.raises(UsageError, match="column split"):
        open_table(path, split="a")
