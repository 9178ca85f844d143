"""Parts that commands share which show datasets of this machine and of a server."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mesocosm.core.failure import UsageError

if TYPE_CHECKING:
    from mesocosm.datasets.summary import ColumnSummary
    from mesocosm.rollouts.tables import Columns

COLUMN_HEADS = [
    *("column", "types", "missing", "null", "empty", "distinct", "length min/median/max", "number min/mean/max"),
]

ROW_HEAD = "row, from 0"
"""Head of the column with the index of each row, which `--rows` takes."""

_CELL = 48


def mapped(columns: Iterable[str]) -> "Columns":
    """Return the roles that `ROLE=NAME` words assign to columns. Raises UsageError."""
    from mesocosm.rollouts.tables import Columns

    roles = ("user_prompt", "system_prompt", "ground_truth", "metadata", "split")
    given: dict[str, Any] = {}
    for word in columns:
        role, equals, name = word.partition("=")
        role = "ground_truth" if role == "label" else role
        if not equals or role not in roles:
            raise UsageError(f"--columns {word!r}: write ROLE=NAME, with a role of {', '.join(roles)}")
        given[role] = (*given.get(role, ()), name) if role == "ground_truth" else name
    return Columns(**given)


def cell_text(row: Any, name: str) -> str:
    """Return a cell for a table."""
    import msgspec

    if name not in row:
        return ""
    value = row[name]
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    text = " ".join(text[: 4 * _CELL].split())
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"


def column_cells(column: "ColumnSummary") -> list[str]:
    """Return the cells of a column for a table with `COLUMN_HEADS`."""
    lengths, span = column.lengths, column.range
    return [
        column.name,
        ", ".join(kind if len(column.types) == 1 else f"{n:,} {kind}" for kind, n in column.types.items()) or "–",
        *(f"{count:,}" if count else "–" for count in (column.missing, column.null, column.empty)),
        f"{column.distinct:,}" + "+" * column.distinct_capped,
        f"{lengths.min:,} / {lengths.median:,.10g} / {lengths.max:,}" if lengths else "–",
        f"{span.min:,.10g} / {span.mean:,.10g} / {span.max:,.10g}" if span else "–",
    ]
