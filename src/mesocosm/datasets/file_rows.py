"""What a format yields: rows, the line of each, the columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["FileRows"]


@dataclass(frozen=True, slots=True)
class FileRows:
    """Rows of one file. `lines` is empty where rows have none; `columns` those that are there even without rows."""

    rows: list[dict[str, Any]]
    lines: Sequence[int] = ()
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
