"""Read rows of CSV and TSV files: a header, then one text per column."""

import csv
import io
import threading
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mesocosm.core.reading import format_value
from mesocosm.datasets.faults import DatasetProblems
from mesocosm.datasets.file_rows import FileRows

__all__ = ["DelimitedReader", "delimited_rows"]

_LONGEST = 2**31 - 1
_lock = threading.Lock()


def delimited_rows(text: str, separator: str, columns: Sequence[str], faults: DatasetProblems) -> FileRows:
    """Return the rows of a text with a header, or without one if `columns` is given; skip empty lines."""
    return DelimitedReader(io.StringIO(text, newline=""), separator, columns, faults).read()


class DelimitedReader:
    """Reads rows from lines with a header, or without one if `columns` is given; empty lines are skipped.

    `number` counts the rows that were read, including invalid ones; `over` is set after the last.
    """

    def __init__(self, lines: Iterable[str], separator: str, columns: Sequence[str], faults: DatasetProblems) -> None:
        self.header = list(columns)
        self.number = 0
        self.over = False
        self._faults = faults
        self._begin = 1
        self._separator = separator
        self._reader = csv.reader(lines, delimiter=separator, strict=True)

    def read(self, most: int | None = None) -> FileRows:
        """Return the next rows, with about `most` characters; by default all."""
        rows: list[dict[str, Any]] = []
        places = array("Q")
        size = 0
        with _long_cells():
            try:
                for fields in self._reader:
                    line, self._begin = self._begin, self._reader.line_num + 1
                    if not fields:
                        continue
                    if not self.header:
                        self.header = fields
                        _twice(fields, self._faults)
                        if self._is_separated_otherwise(fields):
                            break
                        continue
                    self.number += 1
                    if len(fields) == len(self.header):
                        rows.append(dict(zip(self.header, fields, strict=True)))
                        places.append(line)
                    else:
                        what = f"has {len(fields)} columns, not the {len(self.header)} of the header (line {line})"
                        self._faults.add(f"row {self.number}", what)
                    if most is not None and (size := size + len(fields) + sum(map(len, fields))) >= most:
                        return FileRows(rows, places, tuple(self.header))
            except csv.Error as error:
                what = f"is not CSV: {error} (it begins on line {self._begin})"
                self._faults.add(f"row {self.number + 1}", what)
        self.over = True
        return FileRows(rows, places, tuple(self.header))

    def _is_separated_otherwise(self, header: Sequence[str]) -> bool:
        """Report a header that is one column here because another character separates its names."""
        others = {";": "semicolons", "\t": "tabs", "|": "bars"}
        found = next((mark for mark in others if mark in header[0]), "") if len(header) == 1 else ""
        if not found or self._separator != ",":
            return False
        names = ", ".join(header[0].split(found)[:4])
        what = f"its columns ({names}) are separated by {others[found]}, not by commas"
        self._faults.add("header", what, "save the file with commas")
        return True


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
