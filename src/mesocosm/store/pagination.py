"""Keyset pagination: cursors, and the queries that continue a listing after a place."""

import base64
import binascii
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from sqlalchemy import Column, ColumnElement, Connection, Select, and_, func, or_, select, true, tuple_
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from mesocosm.core.failure import UsageError
from mesocosm.core.foreign import read_json
from mesocosm.store.rows import plain

MAX_LIMIT = 1_000

_INFINITE = ("inf", "-inf")

Columns = tuple[Column[Any], ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a listing: its sort columns, whether they descend, and the place it starts after (None: its beginning).

    `empty` says that column `first` is NULL in this part, or that it is not; None if it cannot be NULL.
    """

    columns: tuple[ColumnElement[Any], ...]
    falling: bool
    place: tuple[Any, ...] | None
    first: ColumnElement[Any]
    empty: bool | None

    @property
    def conditions(self) -> tuple[ColumnElement[bool], ...]:
        """The conditions on rows of this part."""
        found: list[ColumnElement[bool]] = []
        if self.empty is not None:
            found.append(self.first.is_(None) if self.empty else self.first.is_not(None))
        if self.place is not None:
            here = tuple_(*self.columns)
            found.append(here < self.place if self.falling else here > self.place)
        return tuple(found)

    @property
    def order(self) -> tuple[ColumnElement[Any], ...]:
        """The columns for ORDER BY."""
        return tuple(column.desc() if self.falling else column for column in self.columns)

    def after(self, place: Sequence[Any]) -> "Stretch":
        """Return the rest of this part after a place in it (values of its columns)."""
        return replace(self, place=tuple(place))

    def over(self, columns: ReadOnlyColumnCollection[str, Any]) -> "Stretch":
        """Return this part for a subquery with columns of the same names."""
        own = tuple(columns[_name(column)] for column in self.columns)
        return replace(self, columns=own, first=columns[_name(self.first)])


def _name(column: ColumnElement[Any]) -> str:
    assert isinstance(column, Column)
    return column.name


def stretches(columns: Columns, *, down: bool, after: Sequence[Any] | None, back: bool = False) -> list[Stretch]:
    """Return the parts that together are the listing after a place (None: from its beginning).

    If the first column can be NULL, such rows come last in either direction; they are a second part, also because row
    comparison does not work with NULL. `back` walks the same order backwards.
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
    """Return one query for the rows of a subquery in all these parts, in their order."""
    own = [part.over(columns) for part in parts]
    wanted = wanted.where(or_(*(and_(true(), *part.conditions) for part in own)))
    if len(own) == 1:
        return wanted.order_by(*own[0].order)
    filled = next(part for part in own if not part.empty)
    gap = filled.first.is_(None)
    return wanted.order_by(gap.desc() if own[0].empty else gap, *filled.order)


def checked(limit: int) -> int:
    """Return `limit` if it is a valid page size. Raises UsageError."""
    if not 1 <= limit <= MAX_LIMIT:
        raise UsageError(f"a page holds 1 to {MAX_LIMIT} items, not {limit}")
    return limit


def chosen(sorts: dict[str, Columns], sort: str, noun: str) -> tuple[Columns, bool]:
    """Return the columns of a sort key and whether it descends. Raises UsageError that names the known keys."""
    columns = sorts.get(sort.removeprefix("-"))
    if columns is None:
        raise UsageError(
            f"{noun} cannot be sorted by {sort!r}; choose one of {', '.join(sorts)}, with - for the reverse"
        )
    return columns, sort.startswith("-")


def write_cursor(sort: str, place: Sequence[Any]) -> str:
    """Return a place in a listing as URL-safe text."""
    # JSON has no infinity.
    values = [str(value) if isinstance(value, float) and math.isinf(value) else value for value in place]
    return base64.urlsafe_b64encode(msgspec.json.encode([sort, *values])).decode().rstrip("=")


def read_cursor(cursor: str, sort: str, columns: Columns) -> list[Any]:
    """Return the place that a cursor encodes. Raises UsageError if it is invalid or from another listing."""
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
        # An integer beyond 64 bits would raise deep inside a driver, whatever the type of the column.
        return -(2**63) <= value < 2**63
    return column.type.python_type is float and isinstance(value, float)


def number_of(connection: Connection, wanted: Select[Any], most: int) -> int:
    """Return the number of rows of a query; `most` + 1 means any larger number."""
    some = wanted.limit(most + 1).subquery()
    return connection.scalar(select(func.count()).select_from(some)) or 0
