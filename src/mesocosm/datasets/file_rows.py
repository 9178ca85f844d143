"""The result of reading a file of any format: rows, their lines, columns, notes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["FileRows"]


@dataclass(frozen=True, slots=True)
class FileRows:
    """Rows of one file. `lines` is empty if rows have none; `columns` are those declared by the file."""

    rows: list[dict[str, Any]]
    lines: Sequence[int] = ()
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
