"""Listings of runs and benchmarks: cursor pagination, so that the last page costs as much as the first.

Every query costs at most a short scan along the index of the order, and one pass over the narrow index rows of all
runs: 20 to 35 ms for 100,000. If the index of a filter narrows it down to few rows, only these are read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Select, func, select
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from mesocosm.core.run import Run
from mesocosm.store.filters import RunFilter, VisibleTo
from mesocosm.store.pagination import Columns, Stretch, number_of, together
from mesocosm.store.rows import SUMMARY, run_from
from mesocosm.store.run_index import key, tag_key
from mesocosm.store.schema import run_index, run_tags, runs
from mesocosm.store.tenancy import requests

_WINDOW = 2_000
"""Rows to scan along the index of the order before all rows are read: 3 ms."""

_FEW = 5_000
"""Up to this many rows found by the index of a filter are read one by one; above, a pass over all is faster."""

_ALL = 1_000_000_000
"""A limit without effect on results; it keeps the query planner from reading rows one by one along an index."""

_FACET = 200
"""Maximum values of a facet."""

RUN_ORDERS: dict[str, Columns] = {
    name: (run_index.c[name], run_index.c.run_id)
    for name in (
        *("created_at", "name", "benchmark", "model", "agent", "status", "score"),
        *("cost", "tokens", "duration", "attempt"),
    )
} | {"id": (run_index.c.run_id,)}
SORTS = tuple(RUN_ORDERS)
"""Sort keys of runs; a leading `-` reverses the order."""


Line = ReadOnlyColumnCollection[str, Any]
Fitting = Callable[[Line], list[ColumnElement[bool]]]
Lead = Select[tuple[str]]
"""A query for run ids that a single index answers; its result includes all runs that match the filter."""
Facet = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class RunFacets:
    """The values that runs can be filtered by, with their number of runs, most frequent first, at most 200 each.

    The last four are of submitted runs that the person sees all of.
    """

    statuses: Facet
    benchmarks: Facet
    models: Facet
    agents: Facet
    kinds: Facet
    tags: Facet
    workspaces: Facet
    configurations: Facet
    branches: Facet
    creators: Facet


def words_of(wanted: RunFilter) -> dict[str, list[str]]:
    """Return, by column of the index rows, the words of which it must equal one."""
    given = {
        "status": wanted.statuses,
        "kind": wanted.kinds,
        "agent": wanted.agents,
        "benchmark": wanted.benchmarks,
        "model": wanted.models,
        "group_id": wanted.groups,
    }
    return {name: list(map(key, values)) for name, values in given.items() if values}


def leads_of(wanted: RunFilter) -> list[Lead]:
    """Return the queries that can use an index for a filter."""
    line = run_index.c
    # There is no index on groups.
    words = [(line[name], found) for name, found in words_of(wanted).items() if name != "group_id"]
    tagged = [select(run_tags.c.run_id).where(run_tags.c.tag == tag_key(tag)) for tag in wanted.tags]
    return [*tagged, *(select(line.run_id).where(column.in_(found)) for column, found in words)]


def fewest(connection: Connection, leads: Sequence[Lead]) -> Lead | None:
    """Return the lead with the fewest runs; None if all have too many."""
    numbers = [number_of(connection, lead, _FEW) for lead in leads]
    fewest = min(numbers, default=_FEW + 1)
    return leads[numbers.index(fewest)] if fewest <= _FEW else None


def places_of(
    connection: Connection,
    columns: Columns,
    parts: Sequence[Stretch],
    fitting: Fitting,
    limit: int,
    lead: Lead | None,
) -> list[tuple[Any, ...]]:
    """Return the places (values of `columns`) of at most `limit` matching index rows."""
    conditions = fitting(run_index.c)
    if lead is not None:
        return _all(connection, columns, parts, [*conditions, run_index.c.run_id.in_(lead)], limit)
    if conditions:
        found = _near(connection, columns, parts[0], fitting, limit)
        return found if len(found) == limit else _all(connection, columns, parts, conditions, limit)
    found = []
    for part in parts:
        walk = select(*columns).where(*part.conditions).order_by(*part.order)
        found += [tuple(row) for row in connection.execute(walk.limit(limit - len(found)))]
    return found


def _near(
    connection: Connection, columns: Columns, part: Stretch, fitting: Fitting, limit: int
) -> list[tuple[Any, ...]]:
    """Return places of matching rows among the next `_WINDOW` ones of the index; enough of them if many rows match."""
    walk = select(run_index).where(*part.conditions).order_by(*part.order).limit(_WINDOW).subquery()
    wanted = select(*(walk.c[column.name] for column in columns)).where(*fitting(walk.c))
    return [tuple(row) for row in connection.execute(wanted.order_by(*part.over(walk.c).order).limit(limit))]


def _all(
    connection: Connection,
    columns: Columns,
    parts: Sequence[Stretch],
    conditions: Sequence[ColumnElement[bool]],
    limit: int,
) -> list[tuple[Any, ...]]:
    """Return places of matching rows of all parts; without a lead this takes a pass over all rows."""
    lines = select(*columns).where(*conditions).limit(_ALL).subquery()
    return [tuple(row) for row in connection.execute(together(select(lines), lines.c, parts).limit(limit))]


def whole_runs(connection: Connection, ids: Sequence[str]) -> tuple[Run, ...]:
    """Return runs in the order of `ids`; runs deleted in the meantime are left out."""
    rows = connection.execute(select(*SUMMARY).where(runs.c.id.in_(ids))).mappings().all()
    found = {row["id"]: run_from(row) for row in rows}
    return tuple(found[run_id] for run_id in ids if run_id in found)


def facet(connection: Connection, column: Column[Any], visible_to: VisibleTo | None) -> Facet:
    """Return the values of a column with their number of runs, most frequent first."""
    number = func.count()
    wanted = select(column, number).group_by(column).order_by(number.desc(), column).limit(_FACET)
    if visible_to is not None:
        # Unlike in lists, all rows are counted, so select the visible runs at once.
        visible = select(requests.c.run_id).where(visible_to.sees())
        wanted = wanted.where(column.table.c.run_id.in_(visible))
    return tuple((value, count) for value, count in connection.execute(wanted))


def submission_facet(connection: Connection, column: Column[Any], visible_to: VisibleTo | None) -> Facet:
    """Return the values of a column of submitted runs that the person sees all of, without the empty one."""
    number = func.count()
    wanted = select(column, number).where(column.is_not(None), column != "")
    if visible_to is not None:
        wanted = wanted.where(visible_to.owns())
    wanted = wanted.group_by(column).order_by(number.desc(), column).limit(_FACET)
    return tuple((value, count) for value, count in connection.execute(wanted))
