"""Rows of a dataset: from a file or folder that somebody names, else from the Hugging Face hub at a pinned revision."""

import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.benchmarks.hub import Hub, download
from mesocosm.core.failure import Incompatible, InvalidInput, Problem, UsageError
from mesocosm.core.ids import digest_bytes

__all__ = ["SUFFIXES", "Hub", "Rows", "read_rows"]

SUFFIXES = (".jsonl", ".json", ".csv", ".parquet")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a dataset in their order, and the digest of the files' bytes; `files` are names and row counts."""

    rows: Sequence[dict[str, Any]]
    content: str
    files: tuple[tuple[Path, int], ...] = ()

    def file(self, place: int) -> Path:
        """Return the file of the row at a place."""
        return self._found(place)[0]

    def text(self, place: int, name: str) -> str:
        """Return a field that must be a text. Raises InvalidInput naming file and row."""
        value = self.rows[place].get(name)
        if not isinstance(value, str):
            raise self.wrong(place, f"{name} is {value!r:.60}, no text" if value is not None else f"{name} is missing")
        return value

    def wrong(self, place: int, what: str) -> InvalidInput:
        """Return the error about the row at a place."""
        file, number = self._found(place)
        return InvalidInput(str(file), [Problem(f"row {number}", what)])

    def _found(self, place: int) -> tuple[Path, int]:
        for file, count in self.files:
            if place < count:
                return file, place + 1
            place -= count
        return Path("the data"), place + 1


def read_rows(
    subject: str, place: Path | None, hub: Hub | None, names: Sequence[str] = (), columns: Sequence[str] = ()
) -> Rows:
    """Return the rows of `place` (a file, or a folder with the files `names`, or all data files in it), else of `hub`.

    CSV files have a header unless `columns` are given. Raises UsageError for a folder without data and for data without
    rows, InvalidInput naming file and row, Incompatible when the data must come from the hub and cannot.
    """
    if place is not None:
        return _read(_files(subject, place, names), columns)
    if hub is None:
        raise Incompatible(subject, ["its data is not distributed with mesocosm: name a file with the knob data_path"])
    return _read(download(subject, hub), columns)


def _files(subject: str, place: Path, names: Sequence[str]) -> list[Path]:
    if place.is_file():
        return [place]
    named = [place / name for name in names if (place / name).is_file()]
    found = named or sorted(file for file in place.iterdir() if _format(file) in SUFFIXES and file.is_file())
    if not found:
        wanted = ", ".join(names) or "a file of " + ", ".join(SUFFIXES)
        raise UsageError(f"{subject}: {place} holds no data; expected {wanted}")
    return found


def _read(files: Iterable[Path], columns: Sequence[str]) -> Rows:
    rows: list[dict[str, Any]] = []
    contents: list[str] = []
    counted: list[tuple[Path, int]] = []
    for file in files:
        try:
            data = file.read_bytes()
            data = gzip.decompress(data) if file.suffix == ".gz" else data
        except (OSError, EOFError, zlib.error) as error:
            raise UsageError(f"{file} cannot be read: {error}") from error
        contents.append(digest_bytes(data))
        found = _rows(file, data, columns)
        counted.append((file, len(found)))
        rows += found
    if not rows:
        raise UsageError(f"{', '.join(str(file) for file, _ in counted)}: no rows; name data that has some")
    content = contents[0] if len(contents) == 1 else digest_bytes("".join(contents).encode())
    return Rows(rows, content, tuple(counted))


def _format(file: Path) -> str:
    return Path(file.stem).suffix if file.suffix == ".gz" else file.suffix


def _rows(file: Path, data: bytes, columns: Sequence[str]) -> list[dict[str, Any]]:
    kind = _format(file)
    if kind == ".parquet":
        return _parquet(file, data)
    data = data.removeprefix(_BOM)
    if kind == ".csv":
        return list(_csv(file, data, columns))
    if kind == ".json" and data.lstrip()[:1] == b"[":
        whole = _decoded(file, 0, data)
        if isinstance(whole, list):
            return [_row(file, number, row) for number, row in enumerate(whole, 1)]
    lines = enumerate(data.split(b"\n"), 1)
    return [_row(file, number, _decoded(file, number, line)) for number, line in lines if line.strip()]


def _csv(file: Path, data: bytes, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(
            str(file), [Problem("", f"is no UTF-8 text: {error.reason} at byte {error.start}")]
        ) from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header = list(columns)
    number = 0
    try:
        for fields in reader:
            if not header:
                header = fields
            elif fields:
                number += 1
                if len(fields) != len(header):
                    what = f"has {len(fields)} columns, not the {len(header)} of the header"
                    raise InvalidInput(str(file), [Problem(f"row {number}", what)])
                yield dict(zip(header, fields, strict=True))
    except csv.Error as error:
        raise InvalidInput(str(file), [Problem(f"row {number + 1}", f"is no CSV: {error}")]) from error


def _parquet(file: Path, data: bytes) -> list[dict[str, Any]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise Incompatible(str(file), ["parquet files need pyarrow: pip install 'mesocosm[hub]'"]) from error
    try:
        found: list[dict[str, Any]] = parquet.read_table(io.BytesIO(data)).to_pylist()
    except (ArrowException, OSError) as error:
        raise InvalidInput(str(file), [Problem("", f"is no parquet file: {error}")]) from error
    return found


def _decoded(file: Path, number: int, text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        place = f"line {number}" if number else ""
        raise InvalidInput(str(file), [Problem(place, f"is no JSON: {error}")]) from error


def _row(file: Path, number: int, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(str(file), [Problem(f"row {number}", f"is {value!r:.60}, no object")])
    return value
