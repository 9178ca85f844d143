"""Listings of runs and benchmarks: pages by cursor, so that the last page costs what the first one does.

Whatever is asked costs at most a short walk along the index of the order, and one pass over the narrow lines of all
runs: 20 to 35 ms of a hundred thousand. Where an index of a filter leads to few lines, only these are read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Column, ColumnElement, Connection, Select, func, select
from sqlalchemy.sql.base import ReadOnlyColumnCollection
from sqlalchemy.sql.elements import UnaryExpression
from sqlalchemy.sql.operators import custom_op

from mesocosm.core.ports import Page
from mesocosm.core.run import Run, RunStatus
from mesocosm.store.filters import RunFilter
from mesocosm.store.lines import joined, key, tag_key
from mesocosm.store.pagination import Columns, Stretch, checked, chosen, read_cursor, stretches, together, write_cursor
from mesocosm.store.part import Part
from mesocosm.store.rows import SUMMARY, plain, run_from
from mesocosm.store.schema import benchmarks, run_lines, run_tags, runs
from mesocosm.store.tenancy import orders
from mesocosm.store.visibility import VisibleTo

_WINDOW = 2_000
"""Lines looked at along the index of the order before all lines are read: 3 ms."""

_FEW = 5_000
"""Lines that are read one by one where the index of a filter leads to them: a pass over all takes longer."""

_ALL = 1_000_000_000
"""A limit that limits nothing, but keeps a planner from reading lines one by one along an index."""

_FACET = 200
"""Values of a facet at most."""

_ORDERS: dict[str, Columns] = {
    name: (run_lines.c[name], run_lines.c.run_id)
    for name in (
        *("created_at", "name", "benchmark", "model", "agent", "status", "score"),
        *("cost", "tokens", "duration", "attempt"),
    )
} | {"id": (run_lines.c.run_id,)}
SORTS = tuple(_ORDERS)
"""What runs can be sorted by; a leading `-` turns the order around."""


class BenchmarkRow(msgspec.Struct, frozen=True):
    """A benchmark that was run: one row for each digest of its content, with the number of stored runs."""

    id: str
    digest: str
    version: str
    title: str
    kind: str
    first_run_at: float
    runs: int


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


class Listing(Part):
    """Listings of the store."""

    def list_runs(
        self,
        filter: RunFilter | None = None,  # noqa: A002 - what a caller would call it
        *,
        cursor: str | None = None,
        limit: int = 50,
        status: RunStatus | None = None,
        benchmark: str | None = None,
        model: str | None = None,
        group: str | None = None,
        text: str | None = None,
        sort: str = "-created_at",
    ) -> Page:
        """Return a page of runs, without their `info` (get_run has it).

        The single filters must fit besides `filter`; `text` is as in RunFilter. Runs without the value that they are
        sorted by come last in both directions; names are sorted without regard to case. Cost and tokens of a run that
        is going on are sorted as they were at its latest heartbeat. Raises UsageError for a cursor, limit or sort that
        cannot be.
        """
        columns, down = chosen(_ORDERS, sort, "runs")
        after = None if cursor is None else read_cursor(cursor, sort, columns)
        old = RunFilter(
            statuses=() if status is None else (status,),
            benchmarks=() if benchmark is None else (benchmark,),
            models=() if model is None else (model,),
            groups=() if group is None else (group,),
            text=text or "",
        )
        given = filter or RunFilter()
        parts = stretches(columns, down=down, after=after)
        checked(limit)

        def fitting(line: Line) -> list[ColumnElement[bool]]:
            return [*self._conditions(given, line), *self._conditions(old, line)]

        leads = [*_leads(given), *_leads(old)]

        def work(connection: Connection) -> Page:
            places = _places(connection, columns, parts, fitting, limit + 1, _few(connection, leads))
            shown = _whole(connection, [place[-1] for place in places[:limit]])
            return Page(shown, write_cursor(sort, places[limit - 1]) if len(places) > limit else None)

        return self._database.read(work)

    def count_runs(
        self,
        filter: RunFilter | None = None,  # noqa: A002
        most: int = 10_000,
    ) -> tuple[int, bool]:
        """Return how many runs fit, and whether that is exact: counting ends at `most`."""
        wanted = filter or RunFilter()
        some = select(run_lines.c.run_id).where(*self._conditions(wanted, run_lines.c))

        def work(connection: Connection) -> tuple[int, bool]:
            lead = _few(connection, _leads(wanted))
            found = _number(connection, some if lead is None else some.where(run_lines.c.run_id.in_(lead)), most)
            return min(found, most), found <= most

        return self._database.read(work)

    def run_facets(self, visible_to: VisibleTo | None = None) -> RunFacets:
        """Return the values of status, benchmark, model, agent, kind and tag among all runs, or those a person sees."""
        columns: tuple[Column[Any], ...] = tuple(
            run_lines.c[name] for name in ("status", "benchmark", "model", "agent", "kind")
        )

        def work(connection: Connection) -> RunFacets:
            return RunFacets(*(_facet(connection, column, visible_to) for column in (*columns, run_tags.c.tag)))

        return self._database.read(work)

    def _conditions(self, wanted: RunFilter, columns: Line) -> list[ColumnElement[bool]]:
        def line(name: str) -> ColumnElement[Any]:
            return self._unindexed(columns[name])

        found: list[ColumnElement[bool]] = [line(name).in_(words) for name, words in _words(wanted).items()]
        if wanted.since is not None:
            found.append(line("created_at") >= wanted.since)
        if wanted.until is not None:
            found.append(line("created_at") < wanted.until)
        # Not LIKE: SQLite's takes no notice of case.
        place = func.strpos if self._database.postgres else func.instr
        found += [place(columns.tags, joined([tag])) > 0 for tag in wanted.tags]
        words = plain(wanted.text).casefold().split()
        if wanted.visible_to is not None:
            found.append(wanted.visible_to.runs(columns.run_id))
        return found + [columns.search.contains(word, autoescape=True) for word in words]

    def _unindexed(self, column: ColumnElement[Any]) -> ColumnElement[Any]:
        # Without statistics SQLite takes any index with an equality for selective; most runs are finished ones.
        if self._database.postgres:
            return column
        return UnaryExpression(column, operator=custom_op("+"), type_=column.type)

    def unfinished(self, signature: str) -> tuple[Run, ...]:
        """Return the runs of this experiment that may be resumed (or are going on), newest first, at most twenty."""
        done = runs.c.completed + runs.c.truncated + runs.c.timeout + runs.c.failed
        wanted = (
            select(*SUMMARY)
            .where(runs.c.signature == signature)
            .where(
                (runs.c.status.in_((RunStatus.PENDING, RunStatus.RUNNING, RunStatus.STOPPED))) | (done < runs.c.planned)
            )
            .order_by(runs.c.attempt.desc(), runs.c.id.desc())
            .limit(20)
        )
        return self._database.read(lambda connection: tuple(map(run_from, connection.execute(wanted).mappings())))

    def list_benchmarks(self) -> tuple[BenchmarkRow, ...]:
        """Return the benchmarks that runs were made of, by id, the version used latest first."""
        same = (runs.c.benchmark == benchmarks.c.id) & (runs.c.benchmark_digest == benchmarks.c.digest)
        number = select(func.count()).where(same).scalar_subquery()
        wanted = select(*benchmarks.c, number).order_by(benchmarks.c.id, benchmarks.c.first_run_at.desc())
        return self._database.read(
            lambda connection: tuple(
                BenchmarkRow(row.id, row.digest, row.version, row.title, row.kind, row.first_run_at, row[-1])
                for row in connection.execute(wanted)
            )
        )


def _words(wanted: RunFilter) -> dict[str, list[str]]:
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


def _leads(wanted: RunFilter) -> list[Lead]:
    line = run_lines.c
    # No index has groups.
    words = [(line[name], found) for name, found in _words(wanted).items() if name != "group_id"]
    tagged = [select(run_tags.c.run_id).where(run_tags.c.tag == tag_key(tag)) for tag in wanted.tags]
    return [*tagged, *(select(line.run_id).where(column.in_(found)) for column, found in words)]


def _few(connection: Connection, leads: Sequence[Lead]) -> Lead | None:
    """Return the lead to the fewest runs; None where all lead to many."""
    numbers = [_number(connection, lead, _FEW) for lead in leads]
    fewest = min(numbers, default=_FEW + 1)
    return leads[numbers.index(fewest)] if fewest <= _FEW else None


def _number(connection: Connection, wanted: Select[Any], most: int) -> int:
    """Return how many rows a query has; `most` + 1 stands for any more."""
    some = wanted.limit(most + 1).subquery()
    return connection.scalar(select(func.count()).select_from(some)) or 0


def _places(
    connection: Connection,
    columns: Columns,
    parts: Sequence[Stretch],
    fitting: Fitting,
    limit: int,
    lead: Lead | None,
) -> list[tuple[Any, ...]]:
    """Return the places (values of `columns`) of at most `limit` lines that fit."""
    conditions = fitting(run_lines.c)
    if lead is not None:
        return _all(connection, columns, parts, [*conditions, run_lines.c.run_id.in_(lead)], limit)
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
    walk = select(run_lines).where(*part.conditions).order_by(*part.order).limit(_WINDOW).subquery()
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


def _whole(connection: Connection, ids: Sequence[str]) -> tuple[Run, ...]:
    """Return runs in the order of their ids; one that was deleted at this moment is left out."""
    rows = connection.execute(select(*SUMMARY).where(runs.c.id.in_(ids))).mappings().all()
    found = {row["id"]: run_from(row) for row in rows}
    return tuple(found[run_id] for run_id in ids if run_id in found)


def _facet(connection: Connection, column: Column[Any], visible_to: VisibleTo | None) -> Facet:
    number = func.count()
    wanted = select(column, number).group_by(column).order_by(number.desc(), column).limit(_FACET)
    if visible_to is not None:
        # Not one by one as in lists: all of them are counted.
        visible = select(orders.c.run_id).where(visible_to.sees())
        wanted = wanted.where(column.table.c.run_id.in_(visible))
    return tuple((value, count) for value, count in connection.execute(wanted))
