"""`open_table`: open a file, a folder or a hub dataset as one table."""

import re
from collections.abc import Sequence
from pathlib import Path

from mesocosm.core.failure import Incompatible, UnknownName, UsageError
from mesocosm.core.ids import digest, digest_bytes
from mesocosm.datasets.folder import read_folder, read_texts
from mesocosm.datasets.hub import HubDataset, HubReference, download, list_files
from mesocosm.datasets.layout import chosen_files
from mesocosm.datasets.reading import ReadFile, format_of, no_rows, read_file
from mesocosm.datasets.splits import SPLIT, rows_of_split
from mesocosm.datasets.table import DataTable

__all__ = ["combined", "is_hub_id", "open_reference", "open_table"]

_HUB = "hf:"
_ID = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
_REMEDY = "name a file or folder"


def open_table(
    place: Path | str,
    *,
    revision: str = "",
    split: str = "",
    config: str = "",
    kind: str = "",
    name: str = "",
    split_column: str = SPLIT,
) -> DataTable:
    """Return the table of a file, of a folder, or of a dataset on the Hugging Face hub (`org/name`, `hf:name`).

    `kind` is the format (csv, tsv, jsonl, json, parquet; text: a file is one row), needed if file names do not show it.
    `revision` and `config` apply to the hub; without a revision the newest commit is used, and named in the notes.
    `split` is one of the hub, or the rows of a file that have it in the column `split_column`. `name` replaces `place`
    in messages.
    Raise UsageError if the data does not exist or has no rows, InvalidInput with every problem by row and column,
    UnknownName for an unknown dataset, revision, configuration or split, Incompatible if the hub cannot be reached or a
    package is missing.
    """
    text = str(place)
    if is_hub_id(place):
        here = "" if text.startswith(_HUB) else f"there is no file or folder {text} here; "
        return _from_hub(text.removeprefix(_HUB), revision, split, config, kind, here + _REMEDY)
    path = Path(place)
    for word, value in (("revision", revision), ("config", config)):
        if value:
            raise UsageError(f"{path}: a {word} ({value}) is for datasets of the Hugging Face hub, and this is a file")
    if path.is_dir():
        kind, files = read_folder(path, kind)
    elif path.exists() and kind == "text":
        files = read_texts(path.parent, [path])
    elif path.exists():
        files = [read_file(path, kind)]
        kind = kind or format_of(path)
    else:
        raise UsageError(f"{path}: no such file or folder; for a dataset of the Hugging Face hub write {_HUB}org/name")
    table = _table(name or text, kind, files)
    return rows_of_split(table, split_column, split) if split else table


def open_reference(text: str) -> tuple[DataTable, str, str]:
    """Return the table of a word like `hf:ORG/NAME@REVISION:CONFIG:SPLIT`, its configuration and its split.

    Both are empty if the dataset has only one. Raises as `open_table`.
    """
    reference = HubReference.read(text)
    failed: Exception | None = None
    for config, split in reference.choices():
        try:
            table = open_table(f"{_HUB}{reference.repository}", revision=reference.revision, config=config, split=split)
        except (UnknownName, UsageError) as error:
            # Of two meanings of one word, the second counts, unless the first only has no such split.
            failed = failed if isinstance(failed, UnknownName) else error
        else:
            return table, config, split
    assert failed is not None
    raise failed


def is_hub_id(place: Path | str) -> bool:
    """Return whether `place` is on the hub: it starts with `hf:`, or is a str `org/name` without a local file."""
    text = str(place)
    if text.startswith(_HUB):
        return True
    return (
        isinstance(place, str) and bool(_ID.fullmatch(text)) and not format_of(Path(text)) and not Path(text).exists()
    )


def combined(files: Sequence[ReadFile]) -> str:
    """Return the digest of files in their order; for one file, that of its bytes."""
    digests = [file.part.digest for file in files]
    return digests[0] if len(digests) == 1 else digest_bytes("".join(digests).encode())


def _from_hub(repository: str, revision: str, split: str, config: str, kind: str, remedy: str) -> DataTable:
    listing = list_files(repository, revision, remedy)
    try:
        names = chosen_files(repository, listing, config, split)
    except UsageError as error:
        if listing.cached:
            said = f"the Hugging Face hub cannot be asked, and what was fetched before is not enough: {error}"
            raise Incompatible(repository, [said]) from error
        raise
    paths = download(repository, HubDataset(repository, listing.commit, names), remedy)
    files = [read_file(path, kind or format_of(Path(name)), name=name) for path, name in zip(paths, names, strict=True)]
    read = _table(repository, kind or format_of(Path(names[0])), files)
    identity = {name: file.part.digest for name, file in zip(names, files, strict=True)}
    where = " (the hub could not be asked; from the cache)" if listing.cached else ""
    pinned = f"{repository} at commit {listing.commit}{where}: {', '.join(names[:4])}" + ", …" * (len(names) > 4)
    return DataTable(
        repository,
        read.columns,
        read.rows,
        digest({"hub": repository, "revision": listing.commit, "files": identity}),
        read.files,
        read.format,
        listing.commit,
        (pinned, *read.notes),
    )


def _table(name: str, kind: str, files: Sequence[ReadFile]) -> DataTable:
    rows = files[0].found.rows if len(files) == 1 else [row for file in files for row in file.found.rows]
    if not rows:
        raise no_rows([file.path for file in files])
    shapes = dict.fromkeys(map(tuple, rows))
    columns = tuple(dict.fromkeys(column for shape in shapes for column in shape))
    notes = tuple(
        note if len(files) == 1 else f"{file.part.name}: {note}" for file in files for note in file.found.notes
    )
    return DataTable(name, columns, rows, combined(files), tuple(file.part for file in files), kind, "", notes)
