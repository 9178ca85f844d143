"""Listings: pages by cursor, so that the last page costs what the first one does."""

import base64
import binascii
from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Column, ColumnElement, Connection, Select, func, select, tuple_

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import UsageError
from mesocosm.core.ports import Page
from mesocosm.core.run import Run, RunStatus
from mesocosm.store.episodes import scores_of
from mesocosm.store.part import Part
from mesocosm.store.rows import SUMMARY, episode_from, run_from
from mesocosm.store.schema import UNUSUAL, benchmarks, episodes, runs

MAX_LIMIT = 1_000

_SORTS: dict[str, tuple[Column[Any], ...]] = {
    "created_at": (runs.c.created_at, runs.c.id),
    "benchmark": (runs.c.benchmark, runs.c.created_at, runs.c.id),
    "model": (runs.c.model, runs.c.created_at, runs.c.id),
    "score": (runs.c.score, runs.c.id),
}
SORTS = tuple(_SORTS)
"""What runs can be sorted by; a leading `-` turns the order around."""

_PLAN = (episodes.c.position, episodes.c.task_digest, episodes.c.trial)


class BenchmarkRow(msgspec.Struct, frozen=True):
    """A benchmark that was run: one row for each digest of its content, with the number of stored runs."""

    id: str
    digest: str
    version: str
    title: str
    kind: str
    first_run_at: float
    runs: int


class Listing(Part):
    """Listings of the store."""

    def list_runs(
        self,
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
        """Return a page of runs, without their `info` and `provenance` (get_run has them).

        `text` are words that must all occur in id, name, benchmark, model, agent or tags, without regard to case. Runs
        without a score come last when sorted by it. Raises UsageError for a cursor, limit or sort that cannot be.
        """
        conditions: list[ColumnElement[bool]] = [
            column == value
            for column, value in (
                (runs.c.status, status),
                (runs.c.benchmark, benchmark),
                (runs.c.model, model),
                (runs.c.group_id, group),
            )
            if value is not None
        ]
        conditions += [runs.c.search.contains(word, autoescape=True) for word in (text or "").casefold().split()]
        return self._database.read(lambda connection: _runs(connection, conditions, sort, cursor, _checked(limit)))

    def episodes(
        self, run_id: str, *, cursor: str | None = None, limit: int = 200, status: EpisodeStatus | None = None
    ) -> Page:
        """Return a page of episodes with their scores, in the order of the plan. Raises UsageError."""
        wanted = select(episodes).where(episodes.c.run_id == run_id).order_by(*_PLAN).limit(_checked(limit) + 1)
        if status is not None:
            wanted = wanted.where(episodes.c.status == status)
        if status not in {None, EpisodeStatus.COMPLETED}:
            wanted = wanted.where(UNUSUAL)
        if cursor is not None:
            wanted = wanted.where(tuple_(*_PLAN) > tuple(_read_cursor(cursor, "episodes", 3)))

        def work(connection: Connection) -> Page:
            rows = connection.execute(wanted).all()
            shown = rows[:limit]
            scored = scores_of(connection, [row.id for row in shown])
            items = tuple(episode_from(row, scored.get(row.id, ())) for row in shown)
            more = len(rows) > limit
            place = [shown[-1].position, shown[-1].task_digest, shown[-1].trial] if more else []
            return Page(items, _cursor("episodes", place) if more else None)

        return self._database.read(work)

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


def _runs(
    connection: Connection, conditions: Sequence[ColumnElement[bool]], sort: str, cursor: str | None, limit: int
) -> Page:
    columns = _SORTS.get(sort.removeprefix("-"))
    if columns is None:
        raise UsageError(f"runs cannot be sorted by {sort!r}; choose one of {', '.join(SORTS)}, with - for the reverse")
    after = None if cursor is None else _read_cursor(cursor, sort, len(columns))
    found: list[Any] = []
    for part in _parts(sort, columns, after):
        if len(found) <= limit:
            found += connection.execute(part.where(*conditions).limit(limit + 1 - len(found))).mappings().all()
    shown = found[:limit]
    if len(found) <= limit:
        return Page(tuple(map(run_from, shown)))
    return Page(tuple(map(run_from, shown)), _cursor(sort, [shown[-1][column.name] for column in columns]))


def _parts(sort: str, columns: tuple[Column[Any], ...], after: list[Any] | None) -> list[Select[Any]]:
    """Return the queries whose results, one after the other, are the rest of the listing.

    There are two where the first column may be NULL: comparing rows of values needs values.
    """
    every = select(*SUMMARY)
    if not columns[0].nullable:
        return [_from(every, sort, columns, after)]
    empty = every.where(columns[0].is_(None))
    if after is not None and after[0] is None:
        return [_from(empty, sort, columns[1:], after[1:])]
    return [_from(every.where(columns[0].is_not(None)), sort, columns, after), _from(empty, sort, columns[1:], None)]


def _from(wanted: Select[Any], sort: str, columns: tuple[Column[Any], ...], after: list[Any] | None) -> Select[Any]:
    down = sort.startswith("-")
    if after is not None:
        place = tuple_(*columns)
        wanted = wanted.where(place < tuple(after) if down else place > tuple(after))
    return wanted.order_by(*(column.desc() if down else column for column in columns))


def _checked(limit: int) -> int:
    if not 1 <= limit <= MAX_LIMIT:
        raise UsageError(f"a page holds 1 to {MAX_LIMIT} items, not {limit}")
    return limit


def _cursor(sort: str, place: list[Any]) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode([sort, *place])).decode().rstrip("=")


def _read_cursor(cursor: str, sort: str, length: int) -> list[Any]:
    try:
        found = msgspec.json.decode(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), type=list[Any])
    except (binascii.Error, ValueError, msgspec.DecodeError):
        found = []
    if len(found) != length + 1 or found[0] != sort:
        raise UsageError(f"cursor {cursor!r} is not of this listing; begin again without a cursor")
    return found[1:]
