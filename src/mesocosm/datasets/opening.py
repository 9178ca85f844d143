"""`open_table`: a file, a folder or a dataset of the hub as one table."""

from collections.abc import Sequence
from pathlib import Path

from mesocosm.core.failure import UsageError
from mesocosm.core.ids import digest_bytes
from mesocosm.datasets.reading import ReadFile, no_rows, read_file
from mesocosm.datasets.table import Table

__all__ = ["combined", "open_table"]

FILE = "_file"
"""The column that names the file of a row, where a table has several."""


def open_table(
    place: Path | str, *, revision: str = "", split: str = "", config: str = "", kind: str = "", name: str = ""
) -> Table:
    """Return the table at a place."""
    path = Path(place)
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    return _table(name or path.name, [read_file(path, kind)])


def combined(files: Sequence[ReadFile]) -> str:
    """Return the digest of files in their order: of one file, that of its bytes."""
    digests = [file.part.digest for file in files]
    return digests[0] if len(digests) == 1 else digest_bytes("".join(digests).encode())


def _table(name: str, files: Sequence[ReadFile]) -> Table:
    rows = files[0].found.rows
    if not rows:
        raise no_rows([file.path for file in files])
    shapes = dict.fromkeys(map(tuple, rows))
    columns = tuple(dict.fromkeys(column for shape in shapes for column in shape))
    return Table(name, columns, rows, combined(files), tuple(file.part for file in files))
