"""Walking along an index: cursors, and the queries that continue a listing after a place."""

import base64
import binascii
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Column, ColumnElement, tuple_

from mesocosm.core.failure import UsageError
from mesocosm.store.rows import plain

MAX_LIMIT = 1_000

_INFINITE = ("inf", "-inf")

Columns = tuple[Column[Any], ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a listing: what holds for its rows, the columns they are ordered by, and whether these fall."""

    conditions: tuple[ColumnElement[bool], ...]
    columns: Columns
    falling: bool

    @property
    def order(self) -> tuple[ColumnElement[Any], ...]:
        """The columns as ORDER BY takes them."""
        return tuple(column.desc() if self.falling else column for column in self.columns)

    def after(self, place: Sequence[Any]) -> "Stretch":
        """Return the rest of this part after a place in it (values of its columns)."""
        return Stretch((*self.conditions, _beyond(self.columns, self.falling, place)), self.columns, self.falling)


def stretches(columns: Columns, *, down: bool, after: Sequence[Any] | None, back: bool = False) -> list[Stretch]:
    """Return the parts that, one after the other, are the listing after a place (None: from its beginning).

    The first column may be NULL, and such rows come last whichever way the values go: there are two parts then, also
    because comparing rows of values needs values. `back` walks the same order towards its beginning.
    """
    first, falling = columns[0], down != back
    if not first.nullable:
        return [_stretch(columns, falling, after)]
    empty, filled = first.is_(None), first.is_not(None)
    if after is not None and after[0] is None:
        rest = [_stretch(columns[1:], falling, after[1:], empty)]
        return [*rest, _stretch(columns, falling, None, filled)] if back else rest
    values = [_stretch(columns, falling, after, filled)]
    if not back:
        return [*values, _stretch(columns[1:], falling, None, empty)]
    return values if after is not None else [_stretch(columns[1:], falling, None, empty), *values]


def _stretch(columns: Columns, falling: bool, after: Sequence[Any] | None, *fixed: ColumnElement[bool]) -> Stretch:
    conditions = list(fixed)
    if after is not None:
        conditions.append(_beyond(columns, falling, after))
    return Stretch(tuple(conditions), columns, falling)


def _beyond(columns: Columns, falling: bool, place: Sequence[Any]) -> ColumnElement[bool]:
    here, bound = tuple_(*columns), tuple(place)
    return here < bound if falling else here > bound


def checked(limit: int) -> int:
    """Return a page size that can be served. Raises UsageError."""
    if not 1 <= limit <= MAX_LIMIT:
        raise UsageError(f"a page holds 1 to {MAX_LIMIT} items, not {limit}")
    return limit


def chosen(sorts: dict[str, Columns], sort: str, noun: str) -> tuple[Columns, bool]:
    """Return the columns of a sort and whether it goes down. Raises UsageError that names the known ones."""
    columns = sorts.get(sort.removeprefix("-"))
    if columns is None:
        raise UsageError(
            f"{noun} cannot be sorted by {sort!r}; choose one of {', '.join(sorts)}, with - for the reverse"
        )
    return columns, sort.startswith("-")


def write_cursor(sort: str, place: Sequence[Any]) -> str:
    """Return a place in a listing as text that fits into an address."""
    # JSON has no infinity.
    values = [str(value) if isinstance(value, float) and math.isinf(value) else value for value in place]
    return base64.urlsafe_b64encode(msgspec.json.encode([sort, *values])).decode().rstrip("=")


def read_cursor(cursor: str, sort: str, columns: Columns) -> list[Any]:
    """Return the place that a cursor names. Raises UsageError for one of another listing, or made up."""
    try:
        found = msgspec.json.decode(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), type=list[Any])
    except (binascii.Error, ValueError, msgspec.DecodeError):
        found = []
    place = [float(v) if c.type.python_type is float and v in _INFINITE else v for c, v in zip(columns, found[1:])]  # noqa: B905
    if len(found) != len(columns) + 1 or found[0] != sort or not all(map(_fits, columns, place)):
        raise UsageError(f"cursor {cursor!r} is not of this listing; begin again without a cursor")
    return place


def _fits(column: Column[Any], value: Any) -> bool:
    if value is None:
        return bool(column.nullable)
    if column.type.python_type is str:
        return isinstance(value, str) and plain(value) == value
    if column.type.python_type is int:
        # What does not fit into SQL's integers raises deep inside a driver.
        return type(value) is int and -(2**63) <= value < 2**63
    return isinstance(value, int | float) and not isinstance(value, bool)
