"""Rows of a dataset: from a given file or folder, or else from the Hugging Face hub at a pinned revision."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mesocosm.core.failure import Incompatible, InvalidInput, Problem, UsageError
from mesocosm.datasets.hub import HubDataset, download
from mesocosm.datasets.opening import combined
from mesocosm.datasets.reading import format_of, no_rows, read_file

__all__ = ["SUFFIXES", "HubDataset", "DatasetRows", "read_rows"]

SUFFIXES = (".jsonl", ".json", ".csv", ".parquet")


@dataclass(frozen=True, slots=True)
class DatasetRows:
    """The rows of a dataset in order, and the digest of the files' bytes; `files` are paths and row counts."""

    rows: Sequence[dict[str, Any]]
    content: str
    files: tuple[tuple[Path, int], ...] = ()

    def file(self, place: int) -> Path:
        """Return the file that holds the row at index `place`."""
        return self._found(place)[0]

    def text(self, place: int, name: str) -> str:
        """Return a field that must be a string. Raises InvalidInput naming file and row."""
        value = self.rows[place].get(name)
        if not isinstance(value, str):
            raise self.wrong(place, f"{name} is {value!r:.60}, no text" if value is not None else f"{name} is missing")
        return value

    def wrong(self, place: int, what: str) -> InvalidInput:
        """Return an error about the row at index `place`."""
        file, number = self._found(place)
        return InvalidInput(str(file), [Problem(f"row {number}", what)])

    def _found(self, place: int) -> tuple[Path, int]:
        for file, count in self.files:
            if place < count:
                return file, place + 1
            place -= count
        return Path("the data"), place + 1


def read_rows(
    subject: str, place: Path | None, hub: HubDataset | None, names: Sequence[str] = (), columns: Sequence[str] = ()
) -> DatasetRows:
    """Return the rows of `place` (a file, a folder with the files `names`, or all data files in it), or else of `hub`.

    CSV files have a header unless `columns` are given. Raises UsageError for a folder without data or for data without
    rows, InvalidInput naming file and row, and Incompatible if the hub is needed but cannot be used.
    """
    if place is not None:
        return _read(_files(subject, place, names), columns)
    if hub is None:
        raise Incompatible(
            subject, ["its data is not distributed with mesocosm: name a file with the parameter data_path"]
        )
    return _read(download(subject, hub, "name a file with the parameter data_path"), columns)


def _files(subject: str, place: Path, names: Sequence[str]) -> list[Path]:
    if place.is_file():
        return [place]
    named = [place / name for name in names if (place / name).is_file()]
    found = named or sorted(file for file in place.iterdir() if format_of(file) and file.is_file())
    if not found:
        wanted = ", ".join(names) or "a file of " + ", ".join(SUFFIXES)
        raise UsageError(f"{subject}: {place} holds no data; expected {wanted}")
    return found


def _read(files: Iterable[Path], columns: Sequence[str]) -> DatasetRows:
    # Files with any other suffix hold one JSON object per line.
    read = [read_file(file, format_of(file) or "jsonl", columns=columns) for file in files]
    rows = [row for file in read for row in file.found.rows]
    if not rows:
        raise no_rows([file.path for file in read])
    return DatasetRows(rows, combined(read), tuple((file.path, file.part.rows) for file in read))
