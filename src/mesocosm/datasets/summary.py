"""Summarize a table: types, missing values, lengths and ranges of columns; duplicate rows."""

import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from mesocosm.datasets.table import DataTable

__all__ = [
    "MOST_DISTINCT",
    "ColumnSummary",
    "NumberRange",
    "RunningSummary",
    "TableSummary",
    "TextLengths",
    "kind_of",
    "summarize",
]

MOST_DISTINCT = 1000
"""Maximum number of distinct values of a column to count."""
MOST_COMPARED = 2_000_000
"""Maximum number of different rows with which others are compared to find duplicates."""

_SHORT = 64

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
    """Smallest, largest and mean number of a column; in CSV and TSV only if every non-empty cell is a number."""

    min: float
    max: float
    mean: float


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
    running = RunningSummary()
    running.add(table)
    size = sum(part.size for part in table.files)
    return running.result(table.name, size, table.digest, table.revision, table.notes)


class RunningSummary:
    """The summary of a table that is read in blocks. Its memory does not depend on the number of rows."""

    def __init__(self) -> None:
        self.rows = 0
        self.columns: dict[str, _Column] = {}
        self._format = ""
        self._begin = ""
        self._duplicates = 0
        self._known: set[bytes] = set()

    def add(self, table: DataTable) -> None:
        """Add the rows of a block."""
        self._format = self._format or table.format
        if table.rows:
            self._begin = self._begin or table.where(0)
        for name in table.columns:
            if name not in self.columns:
                self.columns[name] = _Column(name, self.rows, self._begin if self.rows else "")
        for column in self.columns.values():
            column.add(table)
        for row in table.rows:
            key = blake2b(_spelled(row), digest_size=16).digest()
            if key in self._known:
                self._duplicates += 1
            elif len(self._known) < MOST_COMPARED:
                self._known.add(key)
        self.rows += len(table.rows)

    def result(
        self, name: str, size: int, digest: str, revision: str = "", notes: tuple[str, ...] = ()
    ) -> TableSummary:
        """Return the summary; `size`, `digest`, `revision` and `notes` are those of the whole table."""
        warnings = [words for column in self.columns.values() for words in column.warnings(self.rows)]
        if self._duplicates:
            least = "at least " if len(self._known) == MOST_COMPARED else ""
            repeat = "repeats" if self._duplicates == 1 else "repeat"
            warnings.append(f"{least}{self._duplicates:,} of {self.rows:,} rows {repeat} an earlier one")
        columns = tuple(column.summary(self._format) for column in self.columns.values())
        return TableSummary(
            name, self._format, self.rows, size, digest, revision, columns, self._duplicates, notes, tuple(warnings)
        )


def kind_of(value: object) -> str:
    """Return the common name of a value's JSON type: text, boolean, integer, number, list, object, null, or other."""
    return _KINDS.get(type(value), "other")


class _Column:
    """The statistics of a column that begins after `missing` rows, the first of them at `absent_at`."""

    def __init__(self, name: str, missing: int, absent_at: str) -> None:
        self._name = name
        self._missing = missing
        self._absent_at = absent_at
        self._types: Counter[str] = Counter()
        self._first: dict[str, str] = {}
        self._seen: set[Any] = set()
        self._lengths: Counter[int] = Counter()
        self._numbers = _Numbers()
        self._cells = _Numbers()
        self._numeric = True

    def add(self, table: DataTable) -> None:
        """Add the cells of a block."""
        name = self._name
        textual = table.format in ("csv", "tsv")
        for index, row in enumerate(table.rows):
            if name not in row:
                self._missing += 1
                self._absent_at = self._absent_at or table.where(index)
                continue
            value = row[name]
            kind = kind_of(value)
            self._types[kind] += 1
            if kind not in self._first:
                self._first[kind] = table.where(index)
            if kind == "text":
                self._lengths[len(value)] += 1
                if textual and value and self._numeric:
                    self._read_number(value)
            elif kind in ("integer", "number"):
                self._numbers.add(value)
            if value is not None and len(self._seen) <= MOST_DISTINCT:
                self._seen.add(_key(value, kind))

    def _read_number(self, cell: str) -> None:
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if math.isfinite(value):
            self._cells.add(value)
        else:
            self._numeric = False

    def summary(self, kind: str) -> ColumnSummary:
        """Return the statistics. `kind` is the format of the table."""
        numbers = self._cells if kind in ("csv", "tsv") and self._numeric else self._numbers
        types = Counter({name: count for name, count in self._types.items() if name != "null"})
        return ColumnSummary(
            self._name,
            dict(types.most_common()),
            self._missing,
            self._types["null"],
            self._lengths[0],
            min(len(self._seen), MOST_DISTINCT),
            len(self._seen) > MOST_DISTINCT,
            _text_lengths(self._lengths),
            numbers.range(),
        )

    def warnings(self, rows: int) -> Iterator[str]:
        """Yield warnings of several types (integers and numbers count as one), and of rows without the column."""
        types = {kind: count for kind, count in self._types.items() if kind != "null"}
        names = set(types) - ({"integer"} if "number" in types else set())
        if len(names) > 1:
            counts = ", ".join(f"{count:,} {kind}" for kind, count in sorted(types.items(), key=lambda each: -each[1]))
            rarest = min(types, key=lambda kind: (types[kind], kind))
            yield f"column {self._name} has mixed types: {counts} (the first {rarest}: {self._first[rarest]})"
        if self._missing:
            yield f"{self._missing:,} of {rows:,} rows have no column {self._name} (the first: {self._absent_at})"


class _Numbers:
    """Smallest, largest and mean of numbers."""

    def __init__(self) -> None:
        self._count = 0
        self._min = self._max = self._mean = 0.0

    def add(self, value: float) -> None:
        """Add a number."""
        try:
            number = float(value)
        except OverflowError:
            number = math.copysign(sys.float_info.max, value)
        self._min = min(self._min, number) if self._count else number
        self._max = max(self._max, number) if self._count else number
        self._count += 1
        # A sum could overflow.
        self._mean += number / self._count - self._mean / self._count

    def range(self) -> NumberRange | None:
        """Return what is known; None without numbers."""
        return NumberRange(self._min, self._max, self._mean) if self._count else None


def _text_lengths(lengths: Mapping[int, int]) -> TextLengths | None:
    """Return smallest, median and largest length; `lengths` counts how often each occurs."""
    there = sorted(length for length, count in lengths.items() if count)
    if not there:
        return None
    total, before = sum(lengths.values()), 0
    middle = []
    for length in there:
        places = range(before, before + lengths[length])
        middle += [length for place in {(total - 1) // 2, total // 2} if place in places]
        before = places.stop
    return TextLengths(there[0], sum(middle) / len(middle), there[-1])


def _key(value: Any, kind: str) -> Any:
    """Return what tells a value from others: itself if it is short, else a digest."""
    if kind == "text" and len(value) <= _SHORT:
        return value
    spelled = _spelled(value)
    return spelled if len(spelled) <= _SHORT and kind != "text" else blake2b(spelled, digest_size=32).digest()


def _spelled(value: object) -> bytes:
    try:
        return _encode(value)
    except (OverflowError, ValueError, RecursionError):
        return repr(value).encode(errors="backslashreplace")
