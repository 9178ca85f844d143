"""Read one data file in any format: its rows, all problems, the digest of its bytes."""

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
"""Names of formats; `text`: each file is one row."""

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
    """A file and its content."""

    path: Path
    part: TableFile
    found: FileRows


def format_of(file: PurePath) -> str:
    """Return the format of a file by its suffix, with or without `.gz`; empty if unknown."""
    named = PurePath(file.stem) if file.suffix.lower() == ".gz" else file
    return _SUFFIXES.get(named.suffix.lower(), "")


def read_file(
    file: Path, kind: str = "", *, name: str = "", columns: Sequence[str] = (), most: int = MOST_BYTES
) -> ReadFile:
    """Return the rows of a file in format `kind` (default: by its name); CSV has a header unless `columns` is given.

    Raise UsageError for an unknown format and for a file that cannot be read or is larger than `most` bytes,
    InvalidInput with all problems by row (counted from 1) and column, Incompatible for parquet without pyarrow.
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
    """Return the error for files without rows."""
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
