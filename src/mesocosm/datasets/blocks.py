"""Read a data file in blocks, so that its size does not matter: the rows and problems of `reading.read_file`."""

import codecs
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import IO

from mesocosm.core.failure import InvalidInput, Problem
from mesocosm.datasets.arrow import parquet_blocks
from mesocosm.datasets.content import encoding_of
from mesocosm.datasets.delimited import DelimitedReader
from mesocosm.datasets.faults import DatasetProblems
from mesocosm.datasets.file_rows import FileRows
from mesocosm.datasets.json_rows import line_rows
from mesocosm.datasets.table import DataTable, TableFile

__all__ = ["BLOCKWISE", "LONGEST_ROW", "read_blocks"]

BLOCKWISE = ("csv", "jsonl", "parquet")
"""Formats that can be read in blocks."""
LONGEST_ROW = 16 << 20
"""Maximum size of a row as text, in bytes or characters."""

_BLOCK = 1 << 20
_CHUNK = 1 << 20


def read_blocks(file: Path, kind: str, faults: DatasetProblems, name: str = "") -> Iterator[DataTable]:
    """Yield the rows of a file as tables of some megabytes; add problems to `faults`.

    A block with unreadable rows is left out. A table has the columns that its rows have, in parquet those of the file.
    Raise Incompatible for parquet without pyarrow.
    """
    subject = name or file.name
    with file.open("rb") as source:
        blocks = _READERS[kind](source, subject, faults)
        before = 0
        try:
            while True:
                known = faults.total
                found, count = next(blocks, (None, 0))
                if found is None:
                    return
                if faults.total == known:
                    yield _table(subject, kind, found, before)
                before += count
        except InvalidInput as error:
            for problem in error.problems:
                faults.take(problem)


def _table(name: str, kind: str, found: FileRows, before: int) -> DataTable:
    shapes = dict.fromkeys(map(tuple, found.rows))
    declared = found.columns if kind != "jsonl" else ()
    columns = tuple(dict.fromkeys((*declared, *(column for shape in shapes for column in shape))))
    part = TableFile(name, len(found.rows), 0, "", found.lines, before=before)
    return DataTable(name, columns, found.rows, "", (part,), kind, "", found.notes)


def _csv(source: IO[bytes], name: str, faults: DatasetProblems) -> Iterator[tuple[FileRows, int]]:
    lines = _Lines(source, name)
    reader = DelimitedReader(lines, ",", (), faults)
    while not reader.over:
        lines.row = reader
        before = reader.number
        found = reader.read(_BLOCK)
        yield found, reader.number - before


class _Lines:
    """The lines of a text file with their line ends, as csv.reader needs them. Raises InvalidInput."""

    def __init__(self, source: IO[bytes], name: str) -> None:
        self._source = source
        self._name = name
        self._encoding = encoding_of(name, _head(source))
        self.row: DelimitedReader | None = None

    def __iter__(self) -> Iterator[str]:
        text = TextIOWrapper(self._source, self._encoding if self._encoding == "utf-16" else "utf-8-sig", newline="")
        line, row, size = 0, -1, 0
        try:
            while piece := text.readline(LONGEST_ROW + 1):
                line += 1
                if "\0" in piece:
                    what = "holds a NUL character: the file is not text, or UTF-16 without byte order mark"
                    raise InvalidInput(self._name, [Problem(f"line {line}", what, "save it as UTF-8")])
                # Without a reader of rows, each line is one.
                number = self.row.number if self.row is not None else line - 1
                size, row = (size if number == row else 0) + len(piece), number
                if size > LONGEST_ROW:
                    raise _too_long(self._name, number + 1, line)
                yield piece
        except UnicodeDecodeError as error:
            raise InvalidInput(self._name, [_undecodable(self._source, self._encoding, error)]) from error


def _jsonl(source: IO[bytes], name: str, faults: DatasetProblems) -> Iterator[tuple[FileRows, int]]:
    start = lines = rows = 0
    pieces: list[bytes] = []
    size = 0
    for line in _utf8_lines(source, name):
        if len(line) > LONGEST_ROW:
            raise _too_long(name, rows + sum(1 for piece in pieces if piece.strip()) + 1, lines + len(pieces) + 1)
        pieces.append(line)
        size += len(line)
        if size >= _BLOCK:
            yield (block := _json_block(pieces, faults, start, lines, rows))
            start, lines, rows = start + size, lines + len(pieces), rows + block[1]
            pieces, size = [], 0
    if pieces:
        yield _json_block(pieces, faults, start, lines, rows)


def _json_block(
    pieces: list[bytes], faults: DatasetProblems, start: int, lines: int, rows: int
) -> tuple[FileRows, int]:
    count = sum(1 for piece in pieces if piece.strip())
    if not count:
        return FileRows([]), 0
    return line_rows(b"".join(pieces), faults, start, lines_before=lines, rows_before=rows), count


def _utf8_lines(source: IO[bytes], name: str) -> Iterator[bytes]:
    """Yield the lines of a file as UTF-8, without byte order mark; one that is too long is cut."""
    head = _head(source)
    if encoding_of(name, head) == "utf-16":
        yield from (line.encode() for line in _Lines(source, name))
        return
    if head.startswith(codecs.BOM_UTF8):
        source.seek(len(codecs.BOM_UTF8))
    while line := source.readline(LONGEST_ROW + 1):
        yield line


def _parquet(source: IO[bytes], name: str, faults: DatasetProblems) -> Iterator[tuple[FileRows, int]]:
    for found in parquet_blocks(name, source, faults):
        yield found, len(found.rows)


_READERS = {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet}


def _head(source: IO[bytes]) -> bytes:
    head = source.read(4)
    source.seek(0)
    return head


def _too_long(name: str, number: int, line: int) -> InvalidInput:
    what = f"is longer than {LONGEST_ROW >> 20} MiB (line {line})"
    return InvalidInput(name, [Problem(f"row {number}", what, "shorten it; in CSV, look for a quote that never ends")])


def _undecodable(source: IO[bytes], encoding: str, error: UnicodeDecodeError) -> Problem:
    """Return the problem of the first invalid byte, which is searched from the beginning."""
    source.seek(0)
    decoder = codecs.getincrementaldecoder(encoding)()
    lines = offset = 0
    chunk = b"?"
    while chunk:
        chunk = source.read(_CHUNK)
        waiting = len(decoder.getstate()[0])
        try:
            lines += decoder.decode(chunk, final=not chunk).count("\n")
        except UnicodeDecodeError as wrong:
            error = wrong
            lines += wrong.object[: wrong.start].decode(encoding, errors="ignore").count("\n")
            offset += wrong.start - waiting
            break
        offset += len(chunk)
    kind = "UTF-16" if encoding == "utf-16" else "UTF-8"
    wrong_byte = error.object[error.start] if error.start < len(error.object) else 0
    what = f"is not {kind} text: {error.reason} at byte {offset:,} (0x{wrong_byte:02x})"
    return Problem(f"line {lines + 1}", what, "save the file as UTF-8")
