"""One data file in any format: its rows, every problem of them together, the digest of its bytes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from mesocosm.core.failure import UsageError
from mesocosm.core.ids import digest_bytes
from mesocosm.datasets.arrow import parquet_rows
from mesocosm.datasets.content import MOST_BYTES, read_bytes, read_text, utf8
from mesocosm.datasets.delimited import delimited_rows
from mesocosm.datasets.faults import DatasetProblems
from mesocosm.datasets.file_rows import FileRows
from mesocosm.datasets.json_rows import document_rows, line_rows
from mesocosm.datasets.table import TableFile

__all__ = ["FORMATS", "ReadFile", "format_of", "no_rows", "read_file"]

FORMATS = ("csv", "tsv", "jsonl", "json", "parquet", "text")
"""What a format may be called; `text`: a file is one row, or each file of a folder."""

_READ = FORMATS[:-1]
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
}


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file and what is in it."""

    path: Path
    part: TableFile
    found: FileRows


def format_of(file: PurePath) -> str:
    """Return the format of a file by its name, empty for an unknown one; `.gz` may follow."""
    named = PurePath(file.stem) if file.suffix.lower() == ".gz" else file
    return _SUFFIXES.get(named.suffix.lower(), "")


def read_file(
    file: Path, kind: str = "", *, name: str = "", columns: Sequence[str] = (), most: int = MOST_BYTES
) -> ReadFile:
    """Return the rows of a file in a format (by default that of its name); CSV has a header unless `columns` are given.

    Raises UsageError for a file that cannot be read or has no rows, InvalidInput with all problems, each naming its row
    (counted from 1) and column, and Incompatible for parquet without pyarrow.
    """
    kind = kind or format_of(file)
    if kind not in _READ:
        raise UsageError(
            f"{file}: {kind or file.suffix or 'no suffix'!r} is not a known format; name one of {', '.join(_READ)}"
        )
    data = read_bytes(file, most)
    faults = DatasetProblems()
    subject = name or str(file)
    found = _rows(subject, data, kind, columns, faults)
    faults.check(subject)
    part = TableFile(name or file.name, len(found.rows), len(data), digest_bytes(data), found.lines)
    return ReadFile(file, part, found)


def no_rows(files: Sequence[Path]) -> UsageError:
    """Return the error about files without rows."""
    return UsageError(f"{', '.join(str(file) for file in files)}: no rows; name data that has some")


def _rows(name: str, data: bytes, kind: str, columns: Sequence[str], faults: DatasetProblems) -> FileRows:
    if kind == "parquet":
        return parquet_rows(name, data, faults)
    if kind in ("csv", "tsv"):
        return delimited_rows(read_text(name, data), "," if kind == "csv" else "\t", columns, faults)
    text = utf8(name, data)
    if not text.strip():
        return FileRows([])
    start = len(data) - len(text) if len(text) < len(data) else 0
    return (line_rows if kind == "jsonl" else document_rows)(text, faults, start)
