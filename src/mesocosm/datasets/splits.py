"""Splits: the parts of a dataset that the rows name in a column."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.ids import canonical_json, digest, digest_bytes
from mesocosm.datasets.table import DataTable

__all__ = ["SPLIT", "rows_of_split", "split_name", "split_places", "unknown_split"]

SPLIT = "split"
"""The usual column with the split of a row."""

_LONGEST = 200
_LISTED = 20


def split_name(value: Any) -> str:
    """Return the split that a cell names, empty for none. Raises ValueError if the value cannot name one."""
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return canonical_json(value).decode()
    if not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable():
        raise ValueError(f"is not the name of a split: a text of up to {_LONGEST} characters in one line")
    return value


def split_places(table: DataTable, column: str, split: str) -> list[int]:
    """Return the indexes of the rows of a split.

    Raises UsageError if there is no such column, or a cell of it names no split; UnknownName for an unknown split.
    """
    if not column or column not in table.columns:
        what = f"has no column {column!r} that names" if column else "has no column that names"
        raise UsageError(f"{table.name} {what} the split {split!r} of a row; leave the split out, or map a column")
    try:
        names = [split_name(row.get(column)) for row in table.rows]
    except ValueError as error:
        raise UsageError(f"{table.name}, column {column}: a value {error}; leave the split out") from error
    places = [place for place, name in enumerate(names) if name == split]
    if not places:
        raise unknown_split(table.name, split, names)
    return places


def unknown_split(name: str, split: str, known: Iterable[str]) -> UnknownName:
    """Return the error for a split that a dataset does not have; it lists those that it has."""
    splits = [one for one in dict.fromkeys(known) if one]
    listed = ", ".join(splits[:_LISTED]) + (", …" if len(splits) > _LISTED else "")
    return UnknownName(f"{name} has no split {split!r}; it has {listed or 'none'}")


def rows_of_split(table: DataTable, column: str, split: str) -> DataTable:
    """Return the rows of a table that are in a split; the digest covers them alone. Raises as `split_places`."""
    places = split_places(table, column, split)
    rows = [table.rows[place] for place in places]
    content = digest({"split": split, "rows": digest_bytes(b"\n".join(map(canonical_json, rows)))})
    return replace(table, rows=rows, digest=content, places=places)
