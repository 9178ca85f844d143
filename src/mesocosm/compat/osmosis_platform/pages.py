"""Pages as the `osmosis` command line asks for them: lists by offset, log entries by cursor."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import Query

Item = TypeVar("Item")
Limit = Annotated[int, Query(ge=1, le=1_000)]
Offset = Annotated[int, Query(ge=0, lt=2**31)]
Cursor = Annotated[str | None, Query(max_length=20)]


def offset_page(
    name: str, items: Sequence[Item], limit: int, offset: int, shown: Callable[[Item], dict[str, Any]]
) -> dict[str, Any]:
    """Return a page of a list that is there as a whole."""
    end = offset + limit
    more = end < len(items)
    return {
        name: [shown(one) for one in items[offset:end]],
        "total_count": len(items),
        "has_more": more,
        "next_offset": end if more else None,
    }


def log_page(entries: list[dict[str, Any]], limit: int, cursor: str | None) -> dict[str, Any]:
    """Return the last entries before `cursor`, which is a position in them; oldest first."""
    end = min(int(cursor), len(entries)) if cursor is not None and cursor.isdecimal() else len(entries)
    begin = max(end - limit, 0)
    return {"logs": entries[begin:end], "next_cursor": str(begin) if begin else None}
