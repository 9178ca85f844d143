"""Rows of a dataset: from a file or folder that somebody names, else from the Hugging Face hub at a pinned revision."""

import csv
import gzip
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.failure import Incompatible, InvalidInput, Problem, UsageError
from mesocosm.core.ids import digest_bytes

SUFFIXES = (".jsonl", ".json", ".csv", ".parquet")


@dataclass(frozen=True, slots=True)
class Hub:
    """Files of a dataset on the Hugging Face hub: repository, the commit that is meant, paths inside."""

    repository: str
    revision: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a dataset in their order, and the digest of the files' bytes."""

    rows: Sequence[dict[str, Any]]
    content: str


def read_rows(subject: str, place: Path | None, hub: Hub | None, names: Sequence[str] = ()) -> Rows:
    """Return the rows of `place` (a file, or a folder with the files `names`, or all data files in it), else of `hub`.

    Raises UsageError for a folder without data, InvalidInput naming file and row, Incompatible when the data must come
    from the hub and cannot.
    """
    if place is not None:
        return _read(_files(subject, place, names))
    if hub is None:
        raise Incompatible(subject, ["its data is not distributed with mesocosm: name a file with the knob data_path"])
    return _read(_downloaded(subject, hub))


def _files(subject: str, place: Path, names: Sequence[str]) -> list[Path]:
    if place.is_file():
        return [place]
    named = [place / name for name in names if (place / name).is_file()]
    found = named or sorted(file for file in place.iterdir() if _format(file) in SUFFIXES)
    if not found:
        wanted = ", ".join(names) or "a file of " + ", ".join(SUFFIXES)
        raise UsageError(f"{subject}: {place} holds no data; expected {wanted}")
    return found


def _downloaded(subject: str, hub: Hub) -> list[Path]:
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as error:
        reason = (
            "its data is on the Hugging Face hub; pip install 'mesocosm[hub]', or name a file with the knob data_path"
        )
        raise Incompatible(subject, [reason]) from error
    try:
        return [
            Path(hf_hub_download(hub.repository, file, revision=hub.revision, repo_type="dataset"))
            for file in hub.files
        ]
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        reason = (
            f"its data (dataset {hub.repository} at {hub.revision[:8]}) cannot be fetched from the Hugging Face hub: "
            f"{str(error).splitlines()[0]}; name a file with the knob data_path"
        )
        raise Incompatible(subject, [reason]) from error


def _read(files: Iterable[Path]) -> Rows:
    rows: list[dict[str, Any]] = []
    contents: list[str] = []
    for file in files:
        try:
            data = file.read_bytes()
            data = gzip.decompress(data) if file.suffix == ".gz" else data
        except (OSError, EOFError) as error:
            raise UsageError(f"{file} cannot be read: {error}") from error
        contents.append(digest_bytes(data))
        rows += _rows(file, data)
    return Rows(rows, contents[0] if len(contents) == 1 else digest_bytes("".join(contents).encode()))


def _format(file: Path) -> str:
    return Path(file.stem).suffix if file.suffix == ".gz" else file.suffix


def _rows(file: Path, data: bytes) -> list[dict[str, Any]]:
    match _format(file):
        case ".csv":
            return [dict(row) for row in csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))]
        case ".parquet":
            return _parquet(file, data)
        case ".json":
            whole = _decoded(file, 0, data) if data.lstrip()[:1] == b"[" else None
            if isinstance(whole, list):
                return [_row(file, number, row) for number, row in enumerate(whole, 1)]
    lines = enumerate(data.split(b"\n"), 1)
    return [_row(file, number, _decoded(file, number, line)) for number, line in lines if line.strip()]


def _parquet(file: Path, data: bytes) -> list[dict[str, Any]]:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise Incompatible(str(file), ["parquet files need pyarrow: pip install 'mesocosm[hub]'"]) from error
    found: list[dict[str, Any]] = parquet.read_table(io.BytesIO(data)).to_pylist()
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
