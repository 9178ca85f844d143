"""Listings of runs and benchmarks: pages by cursor, so that the last page costs what the first one does.

Whatever is asked costs at most a short walk along the index of the order, and one pass over the narrow lines of all
runs: 20 to 35 ms of a hundred thousand. Where an index of a filter leads to few lines, only these are read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Select, func, select
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from mesocosm.core.run import Run
from mesocosm.store.filters import RunFilter, VisibleTo
from mesocosm.store.pagination import Columns, Stretch, together
from mesocosm.store.rows import SUMMARY, run_from
from mesocosm.store.run_index import key, tag_key
from mesocosm.store.schema import run_index, run_tags, runs
from mesocosm.store.tenancy import requests

_WINDOW = 2_000
"""Lines looked at along the index of the order before all lines are read: 3 ms."""

_FEW = 5_000
"""Lines that are read one by one where the index of a filter leads to them: a pass over all takes longer."""

_ALL = 1_000_000_000
"""A limit that limits nothing, but keeps a planner from reading lines one by one along an index."""

_FACET = 200
"""Values of a facet at most."""

RUN_ORDERS: dict[str, Columns] = {
    name: (run_index.c[name], run_index.c.run_id)
    for name in (
        *("created_at", "name", "benchmark", "model", "agent", "status", "score"),
        *("cost", "tokens", "duration", "attempt"),
    )
} | {"id": (run_index.c.run_id,)}
SORTS = tuple(RUN_ORDERS)
"""What runs can be sorted by; a leading `-` turns the order around."""


Line = ReadOnlyColumnCollection[str, Any]
Fitting = Callable[[Line], list[ColumnElement[bool]]]
Lead = Select[tuple[str]]
"""A query for the ids of runs that an index of its own answers; whatever fits the filter is among them."""
Facet = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class RunFacets:
    """The values that runs can be filtered by, each with its number of runs, most frequent first, at most 200 each."""

    statuses: Facet
    benchmarks: Facet
    models: Facet
    agents: Facet
    kinds: Facet
    tags: Facet


def words_of(wanted: RunFilter) -> dict[str, list[str]]:
    """Return the columns of lines that must hold one of some words."""
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
    """Return the queries of the indexes that a filter can use."""
    line = run_index.c
    # No index has groups.
    words = [(line[name], found) for name, found in words_of(wanted).items() if name != "group_id"]
    tagged = [select(run_tags.c.run_id).where(run_tags.c.tag == tag_key(tag)) for tag in wanted.tags]
    return [*tagged, *(select(line.run_id).where(column.in_(found)) for column, found in words)]


def fewest(connection: Connection, leads: Sequence[Lead]) -> Lead | None:
    """Return the lead to the fewest runs; None where all lead to many."""
    numbers = [number_of(connection, lead, _FEW) for lead in leads]
    fewest = min(numbers, default=_FEW + 1)
    return leads[numbers.index(fewest)] if fewest <= _FEW else None


def number_of(connection: Connection, wanted: Select[Any], most: int) -> int:
    """Return how many rows a query has; `most` + 1 stands for any more."""
    some = wanted.limit(most + 1).subquery()
    return connection.scalar(select(func.count()).select_from(some)) or 0


def places_of(
    connection: Connection,
    columns: Columns,
    parts: Sequence[Stretch],
    fitting: Fitting,
    limit: int,
    lead: Lead | None,
) -> list[tuple[Any, ...]]:
    """Return the places (values of `columns`) of at most `limit` lines that fit."""
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
    """Return places of lines that fit among the next ones of the index: enough of them where many fit."""
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
    """Return places of all lines that fit, whatever parts they are in; without a lead that takes a pass over all."""
    lines = select(*columns).where(*conditions).limit(_ALL).subquery()
    return [tuple(row) for row in connection.execute(together(select(lines), lines.c, parts).limit(limit))]


def whole_runs(connection: Connection, ids: Sequence[str]) -> tuple[Run, ...]:
    """Return runs in the order of their ids; one that was deleted at this moment is left out."""
    rows = connection.execute(select(*SUMMARY).where(runs.c.id.in_(ids))).mappings().all()
    found = {row["id"]: run_from(row) for row in rows}
    return tuple(found[run_id] for run_id in ids if run_id in found)


def facet(connection: Connection, column: Column[Any], visible_to: VisibleTo | None) -> Facet:
    """Return the values of a column with their numbers, most frequent first."""
    number = func.count()
    wanted = select(column, number).group_by(column).order_by(number.desc(), column).limit(_FACET)
    if visible_to is not None:
        # Not one by one as in lists: all of them are counted.
        visible = select(requests.c.run_id).where(visible_to.sees())
        wanted = wanted.where(column.table.c.run_id.in_(visible))
    return tuple((value, count) for value, count in connection.execute(wanted))
