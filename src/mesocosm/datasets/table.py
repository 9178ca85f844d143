"""A dataset in memory: its rows in order, and the position of each in its file."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mesocosm.core.failure import Problem

__all__ = ["TableFile", "DataTable"]


@dataclass(frozen=True, slots=True)
class TableFile:
    """One file of a table: its name, number of rows, size in bytes, digest of its bytes, and the line of each row.

    `lines` is empty if rows have none (JSON documents, parquet). `whole`: the file is one row. `before`: number of rows
    that precede these in the file, if only a block of it is in the table.
    """

    name: str
    rows: int
    size: int
    digest: str
    lines: Sequence[int] = ()
    whole: bool = False
    before: int = 0


@dataclass(frozen=True)
class DataTable:
    """Rows in order, each a mapping from column to JSON value (only text in CSV and TSV).

    `columns` are all columns in order of first appearance; a row may lack some. `digest` identifies the dataset: it
    covers the bytes of the files, and for hub data also repository and commit. `notes` are facts for the reader: the
    commit, values that were converted. `places` are the indexes of the rows among those of the files, if some are left
    out.
    """

    name: str
    columns: tuple[str, ...]
    rows: Sequence[Mapping[str, Any]]
    digest: str
    files: tuple[TableFile, ...] = ()
    format: str = ""
    revision: str = ""
    notes: tuple[str, ...] = field(default=())
    places: Sequence[int] = ()

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def where(self, index: int, column: str = "") -> str:
        """Return a readable position of a row (counted from 1) and a column: `row 17, column question`."""
        part, place = self._found(index)
        words = [part.name] if part is not None and (part.whole or len(self.files) > 1) else []
        if part is None or not part.whole:
            words.append(f"row {place + 1 + (part.before if part else 0)}")
        if column:
            words.append(f"column {column}")
        return ", ".join(words)

    def line(self, index: int) -> int | None:
        """Return the line on which a row begins in its file; None if its format has no lines."""
        part, place = self._found(index)
        return part.lines[place] if part is not None and part.lines else None

    def problem(self, index: int, column: str, message: str, fix: str = "") -> Problem:
        """Return the problem of a cell (or a row, without column); name the line if it differs from the row number."""
        line = self.line(index)
        part, place = self._found(index)
        number = place + 1 + (part.before if part else 0)
        elsewhere = f" (line {line})" if line is not None and line != number else ""
        return Problem(self.where(index, column), message + elsewhere, fix)

    @cached_property
    def _ends(self) -> list[int]:
        ends, total = [], 0
        for part in self.files:
            total += part.rows
            ends.append(total)
        return ends

    def _found(self, index: int) -> tuple[TableFile | None, int]:
        index = self.places[index] if self.places else index
        number = bisect_right(self._ends, index)
        if number >= len(self.files):
            return None, index
        return self.files[number], index - (self._ends[number] - self.files[number].rows)
