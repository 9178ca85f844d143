"""Read rows of CSV and TSV files: a header, then one text per column."""

import csv
import io
import threading
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mesocosm.core.reading import format_value
from mesocosm.datasets.faults import DatasetProblems
from mesocosm.datasets.file_rows import FileRows

__all__ = ["delimited_rows"]

_LONGEST = 2**31 - 1
_lock = threading.Lock()


def delimited_rows(text: str, separator: str, columns: Sequence[str], faults: DatasetProblems) -> FileRows:
    """Return the rows of a text with a header, or without one if `columns` is given; skip empty lines."""
    rows: list[dict[str, Any]] = []
    lines = array("Q")
    header = list(columns)
    begin, number = 1, 0
    with _long_cells():
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        try:
            for fields in reader:
                line, begin = begin, reader.line_num + 1
                if not fields:
                    continue
                if not header:
                    header = fields
                    _twice(header, faults)
                    continue
                number += 1
                if len(fields) == len(header):
                    rows.append(dict(zip(header, fields, strict=True)))
                    lines.append(line)
                else:
                    what = f"has {len(fields)} columns, not the {len(header)} of the header (line {line})"
                    faults.add(f"row {number}", what)
        except csv.Error as error:
            faults.add(f"row {number + 1}", f"is not CSV: {error} (it begins on line {begin})")
    return FileRows(rows, lines, tuple(header))


def _twice(header: Sequence[str], faults: DatasetProblems) -> None:
    """Report columns with the same name, because one of them would be lost."""
    first: dict[str, int] = {}
    for place, name in enumerate(header, 1):
        if name in first:
            called = f"are both named {format_value(name).removeprefix('the string ')}" if name else "both have no name"
            faults.add("header", f"columns {first[name]} and {place} {called}", "rename one of them")
        first.setdefault(name, place)


@contextmanager
def _long_cells() -> Iterator[None]:
    """Allow cells of any length. The limit is global to the process, so restore it afterwards."""
    with _lock:
        before = csv.field_size_limit(_LONGEST)
        try:
            yield
        finally:
            csv.field_size_limit(before)
