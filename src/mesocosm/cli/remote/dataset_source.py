"""What `mesocosm dataset upload` sends: a file as it is, or rows of several files and of the hub in one file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click
import msgspec

from mesocosm.core.failure import UsageError
from mesocosm.datasets.blocks import BLOCKWISE, read_blocks
from mesocosm.datasets.faults import DatasetProblems
from mesocosm.datasets.reading import format_of
from mesocosm.datasets.splits import split_name

if TYPE_CHECKING:
    from mesocosm.datasets import DataTable
    from mesocosm.server.schemas.dataset import DatasetSource

__all__ = ["UploadSource", "open_source"]

_HUB = "hf:"
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class UploadSource:
    """A file to upload: where it is, its name, and where its rows come from (None: from files)."""

    path: Path
    name: str
    source: "DatasetSource | None" = None


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of a file or of the hub, in blocks, and the split that they are named after."""

    place: str
    split: str
    blocks: Iterator["DataTable"]
    source: "DatasetSource | None" = None


def open_source(
    places: Sequence[str], name: str | None, splits: Sequence[str], column: str, folder: Path
) -> UploadSource:
    """Return what to upload. Several places are written into one file of `folder`, each as a split.

    `column` is that of the splits, which `splits` name; by default their files do. Raises UsageError, and what opening
    a dataset of the hub raises.
    """
    if splits and len(splits) != len(places):
        raise UsageError(f"{len(places)} places and {len(splits)} splits: give --split once for each, in their order")
    is_split = len(places) > 1 or bool(splits)
    if not is_split and not places[0].startswith(_HUB):
        path = Path(places[0])
        _kind(path)
        return UploadSource(path, path.name)
    if len(places) > 1 and not name:
        raise UsageError("several files are one dataset, with a split of each: name it with --name")
    if is_split and not column:
        raise UsageError("no column holds the splits: leave split= out of --columns")
    parts = [_part(place) for place in places]
    names = [_checked(given or part.split) for given, part in zip(splits or [""] * len(parts), parts, strict=True)]
    if len(set(names)) < len(names):
        raise UsageError(f"two of the splits {', '.join(names)} have one name; give each its own with --split")
    first = parts[0]
    stem = name or (Path(first.place).stem if first.source is None else first.source.repository.rpartition("/")[2])
    path = folder / "rows.jsonl"
    with path.open("wb") as file:
        for part, split in zip(parts, names, strict=True):
            _write(part, file, {column: split} if is_split else {})
    return UploadSource(path, f"{stem}.jsonl", _source(parts, names))


def _checked(split: str) -> str:
    try:
        return split_name(split)
    except ValueError as error:
        raise UsageError(f"--split {split[:200]!r} {error}") from error


def _kind(path: Path) -> str:
    """Return the format of a file. Raises UsageError if it is none, or cannot be uploaded."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file; a dataset is one CSV, JSONL or Parquet file")
    kind = "" if path.suffix.lower() == ".gz" else format_of(path)
    if kind not in BLOCKWISE:
        raise UsageError(f"{path} is no CSV, JSONL or Parquet file by its ending; convert it, or rename it")
    return kind


def _part(place: str) -> Part:
    if place.startswith(_HUB):
        return _of_hub(place)
    path = Path(place)
    return Part(place, path.name.partition(".")[0], _blocks(path, _kind(path)))


def _blocks(path: Path, kind: str) -> Iterator["DataTable"]:
    faults = DatasetProblems()
    for table in read_blocks(path, kind, faults, str(path)):
        faults.check(str(path))
        yield table
    faults.check(str(path))


def _of_hub(place: str) -> Part:
    from mesocosm.datasets.opening import open_reference
    from mesocosm.server.schemas.dataset import DatasetSource

    table, config, split = open_reference(place)
    for note in table.notes:
        click.echo(f"note: {note}", err=True)
    source = DatasetSource(kind="hub", repository=table.name, revision=table.revision, config=config, split=split)
    return Part(place, split or config or table.name.rpartition("/")[2], iter((table,)), source)


def _write(part: Part, file: BinaryIO, split: dict[str, str]) -> None:
    """Write rows as lines of JSON, with a column of the split. Raises UsageError if they have such a column."""
    for table in part.blocks:
        if taken := next((column for column in split if column in table.columns), ""):
            words = "upload it alone, or name another column with --columns split=NAME"
            raise UsageError(f"{part.place} has a column {taken} already, where its split would stand; {words}")
        file.writelines(_encode({**row, **split}) + b"\n" for row in table.rows)


def _source(parts: Sequence[Part], names: Sequence[str]) -> "DatasetSource | None":
    """Return the common source of parts that are all of one revision of one dataset of the hub."""
    first = parts[0].source
    same = {(part.source.repository, part.source.revision) for part in parts if part.source is not None}
    if first is None or len(same) > 1 or any(part.source is None for part in parts):
        return None
    configs = dict.fromkeys(part.source.config for part in parts if part.source is not None)
    split = first.split if len(parts) == 1 else ", ".join(names)
    return first.model_copy(update={"config": ", ".join(filter(None, configs))[:200], "split": split[:200]})
