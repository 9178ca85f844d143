"""Walking along an index: cursors, and the queries that continue a listing after a place."""

import base64
import binascii
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from sqlalchemy import Column, ColumnElement, Select, and_, or_, true, tuple_
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from mesocosm.core.failure import UsageError
from mesocosm.core.foreign import read_json
from mesocosm.store.rows import plain

MAX_LIMIT = 1_000

_INFINITE = ("inf", "-inf")

Columns = tuple[Column[Any], ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a listing: columns, direction, the place it begins after, which column is NULL (`empty`)."""

    columns: tuple[ColumnElement[Any], ...]
    falling: bool
    place: tuple[Any, ...] | None
    first: ColumnElement[Any]
    empty: bool | None

    @property
    def conditions(self) -> tuple[ColumnElement[bool], ...]:
        """What holds for the rows of this part."""
        found: list[ColumnElement[bool]] = []
        if self.empty is not None:
            found.append(self.first.is_(None) if self.empty else self.first.is_not(None))
        if self.place is not None:
            here = tuple_(*self.columns)
            found.append(here < self.place if self.falling else here > self.place)
        return tuple(found)

    @property
    def order(self) -> tuple[ColumnElement[Any], ...]:
        """The columns as ORDER BY takes them."""
        return tuple(column.desc() if self.falling else column for column in self.columns)

    def after(self, place: Sequence[Any]) -> "Stretch":
        """Return the rest of this part after a place in it (values of its columns)."""
        return replace(self, place=tuple(place))

    def over(self, columns: ReadOnlyColumnCollection[str, Any]) -> "Stretch":
        """Return this part of a subquery with columns of the same names."""
        own = tuple(columns[_name(column)] for column in self.columns)
        return replace(self, columns=own, first=columns[_name(self.first)])


def _name(column: ColumnElement[Any]) -> str:
    assert isinstance(column, Column)
    return column.name


def stretches(columns: Columns, *, down: bool, after: Sequence[Any] | None, back: bool = False) -> list[Stretch]:
    """Return the parts that, one after the other, are the listing after a place (None: from its beginning).

    The first column may be NULL, and such rows come last whichever way the values go: there are two parts then, also
    because comparing rows of values needs values. `back` walks the same order towards its beginning.
    """
    first, falling = columns[0], down != back
    place = None if after is None else tuple(after)
    if not first.nullable:
        return [Stretch(columns, falling, place, first, None)]
    filled = Stretch(columns, falling, None, first, empty=False)
    empty = Stretch(columns[1:], falling, None, first, empty=True)
    if place is None:
        return [empty, filled] if back else [filled, empty]
    if place[0] is None:
        rest = replace(empty, place=place[1:])
        return [rest, filled] if back else [rest]
    rest = replace(filled, place=place)
    return [rest] if back else [rest, empty]


def together(wanted: Select[Any], columns: ReadOnlyColumnCollection[str, Any], parts: Sequence[Stretch]) -> Select[Any]:
    """Return a query of a subquery's rows in all of these parts, in their order, in one pass."""
    own = [part.over(columns) for part in parts]
    wanted = wanted.where(or_(*(and_(true(), *part.conditions) for part in own)))
    if len(own) == 1:
        return wanted.order_by(*own[0].order)
    filled = next(part for part in own if not part.empty)
    gap = filled.first.is_(None)
    return wanted.order_by(gap.desc() if own[0].empty else gap, *filled.order)


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
        found = read_json(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), list[Any])
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
    if type(value) is int:
        # What does not fit into SQL's integers raises deep inside a driver, also where the column holds others.
        return -(2**63) <= value < 2**63
    return column.type.python_type is float and isinstance(value, float)
