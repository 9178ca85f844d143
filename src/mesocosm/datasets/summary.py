"""Summarize a table: types, missing values, lengths and ranges of columns; duplicate rows."""

import math
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import msgspec

from mesocosm.datasets.table import DataTable

__all__ = ["MOST_DISTINCT", "ColumnSummary", "TextLengths", "NumberRange", "TableSummary", "kind_of", "summarize"]

MOST_DISTINCT = 1000
"""Maximum number of distinct values of a column to count."""

_KINDS: dict[type, str] = {
    str: "text",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "list",
    dict: "object",
    type(None): "null",
}
_encode = msgspec.json.Encoder(order="sorted").encode


class TextLengths(msgspec.Struct, frozen=True):
    """Lengths in characters of the text values of a column."""

    min: int
    median: float
    max: int


class NumberRange(msgspec.Struct, frozen=True):
    """The smallest and largest number of a column; in CSV and TSV only if every non-empty cell is a number."""

    min: float
    max: float


class ColumnSummary(msgspec.Struct, frozen=True):
    """One column. `types` counts values by JSON type, without null.

    `missing` rows lack the column, `null` rows have null, `empty` rows an empty text. There are `distinct` distinct
    values, or more if `distinct_capped`.
    """

    name: str
    types: dict[str, int]
    missing: int
    null: int
    empty: int
    distinct: int
    distinct_capped: bool
    lengths: TextLengths | None = None
    range: NumberRange | None = None


class TableSummary(msgspec.Struct, frozen=True):
    """Statistics of a table. `duplicates` rows repeat an earlier one; `warnings` name irregularities."""

    name: str
    format: str
    rows: int
    bytes: int
    digest: str
    revision: str
    columns: tuple[ColumnSummary, ...]
    duplicates: int
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def summarize(table: DataTable) -> TableSummary:
    """Return the summary of a table."""
    warnings: list[str] = []
    columns = tuple(_column(table, name, warnings) for name in table.columns)
    duplicates = len(table) - len({_spelled(row) for row in table.rows})
    if duplicates:
        warnings.append(f"{duplicates:,} of {len(table):,} rows repeat an earlier one")
    return TableSummary(
        table.name,
        table.format,
        len(table),
        sum(part.size for part in table.files),
        table.digest,
        table.revision,
        columns,
        duplicates,
        table.notes,
        tuple(warnings),
    )


def kind_of(value: object) -> str:
    """Return the common name of a value's JSON type: text, boolean, integer, number, list, object, null, or other."""
    return _KINDS.get(type(value), "other")


def _column(table: DataTable, name: str, warnings: list[str]) -> ColumnSummary:
    first: dict[str, int] = {}
    types: Counter[str] = Counter()
    seen: set[Any] = set()
    lengths, numbers = array("Q"), []
    absent: list[int] = []
    empty = 0
    for index, row in enumerate(table.rows):
        if name not in row:
            absent.append(index)
            continue
        value = row[name]
        kind = kind_of(value)
        types[kind] += 1
        first.setdefault(kind, index)
        if kind == "text":
            lengths.append(len(value))
            empty += not value
        elif kind in ("integer", "number"):
            numbers.append(value)
        if value is not None and len(seen) <= MOST_DISTINCT:
            seen.add(value if kind == "text" else _spelled(value))
    null = types.pop("null", 0)
    _warn(table, name, types, first, absent, warnings)
    return ColumnSummary(
        name,
        dict(types.most_common()),
        len(absent),
        null,
        empty,
        min(len(seen), MOST_DISTINCT),
        len(seen) > MOST_DISTINCT,
        TextLengths(min(lengths), median(lengths), max(lengths)) if lengths else None,
        NumberRange(min(numbers), max(numbers)) if numbers else _range_of_texts(table, name),
    )


def _range_of_texts(table: DataTable, name: str) -> NumberRange | None:
    if table.format not in ("csv", "tsv"):
        return None
    try:
        numbers = [float(row[name]) for row in table.rows if row[name]]
    except ValueError:
        return None
    finite = bool(numbers) and all(map(math.isfinite, numbers))
    return NumberRange(min(numbers), max(numbers)) if finite else None


def _warn(
    table: DataTable,
    name: str,
    types: Mapping[str, int],
    first: Mapping[str, int],
    absent: Sequence[int],
    warnings: list[str],
) -> None:
    """Warn about a column of several types (integers and numbers count as one), and about rows without the column."""
    names = set(types) - ({"integer"} if "number" in types else set())
    if len(names) > 1:
        counts = ", ".join(f"{count:,} {kind}" for kind, count in sorted(types.items(), key=lambda each: -each[1]))
        rarest = min(types, key=lambda kind: (types[kind], kind))
        warnings.append(f"column {name} has mixed types: {counts} (the first {rarest}: {table.where(first[rarest])})")
    if absent:
        where = table.where(absent[0])
        warnings.append(f"{len(absent):,} of {len(table):,} rows have no column {name} (the first: {where})")


def _spelled(value: object) -> bytes:
    try:
        return _encode(value)
    except (OverflowError, ValueError, RecursionError):
        return repr(value).encode(errors="backslashreplace")
