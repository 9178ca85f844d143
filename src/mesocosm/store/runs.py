"""Runs: adding, reading, listing, saving, tagging, deleting."""

import time
from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, func, select, update
from sqlalchemy.sql.elements import UnaryExpression
from sqlalchemy.sql.operators import custom_op

from mesocosm.core.failure import RunLeased, UnknownName
from mesocosm.core.ids import digest
from mesocosm.core.ports import Page
from mesocosm.core.run import BUILTIN, LeaseOwner, Run, RunStatus
from mesocosm.store.database import Database
from mesocosm.store.deletion import delete_run
from mesocosm.store.episodes import bins_text, count_outcomes, new_means
from mesocosm.store.filters import RunFilter, VisibleTo
from mesocosm.store.lease_owner import abandoned
from mesocosm.store.lookup import resolve
from mesocosm.store.pagination import checked, chosen, number_of, read_cursor, stretches, write_cursor
from mesocosm.store.rows import SUMMARY, holder_from, json_text, plain, run_from, search_text, state_values
from mesocosm.store.run_index import insert_run, joined, key, refresh_index_row, replace_tags, write_state
from mesocosm.store.run_lists import (
    RUN_ORDERS,
    Line,
    RunFacets,
    facet,
    fewest,
    leads_of,
    places_of,
    submission_facet,
    whole_runs,
    words_of,
)
from mesocosm.store.schema import run_index, run_tags, runs
from mesocosm.store.seals import rechain
from mesocosm.store.tenancy import requests


class Runs:
    """Runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, run: Run, *, alone: bool = False) -> Run:
        """Insert a run; return it with its attempt number. Adding a stored run again changes nothing.

        With `alone`, raise RunLeased if a run of the same experiment is in progress, or one of its kind has its name.
        """

        def work(connection: Connection) -> int:
            if self._database.postgres:
                # Two processes that add the same experiment concurrently must not get the same attempt number.
                _lock(connection, run.signature)
            known = connection.scalar(select(runs.c.attempt).where(runs.c.id == run.id))
            if known is not None:
                return int(known)
            if alone:
                _check_alone(connection, run.signature)
                _check_name(self._database, connection, run)
            last = connection.scalar(select(func.max(runs.c.attempt)).where(runs.c.signature == run.signature))
            run.attempt = (last or 0) + 1
            insert_run(self._database, connection, run)
            return run.attempt

        run.attempt = self._database.write(work)
        return run

    def get(self, run_id: str) -> Run:
        """Return a run by id or unique prefix. Raises UnknownName with a suggestion."""

        def work(connection: Connection) -> Run:
            found = resolve(connection, runs, run_id)
            return run_from(connection.execute(select(runs).where(runs.c.id == found)).mappings().one())

        return self._database.read(work)

    def several(self, run_ids: Iterable[str]) -> dict[str, Run]:
        """Return the runs with these whole ids, by id; unknown ones are left out."""
        rows = self._database.among(select(runs), runs.c.id, [plain(run_id) for run_id in run_ids])
        return {row["id"]: run_from(row) for row in rows}

    def named(self, name: str, kind: str = "") -> Run | None:
        """Return the newest run (of a kind) with exactly this name, None if there is none."""
        lines = select(run_index.c.run_id).where(run_index.c.name == key(name.casefold()))
        if kind:
            lines = lines.where(run_index.c.kind == key(kind))
        wanted = (
            select(runs)
            .where(runs.c.id.in_(lines), runs.c.name == plain(name))
            .order_by(runs.c.created_at.desc(), runs.c.id.desc())
            .limit(1)
        )

        def work(connection: Connection) -> Run | None:
            fields = connection.execute(wanted).mappings().one_or_none()
            return None if fields is None else run_from(fields)

        return self._database.read(work)

    def latest(self, signature: str) -> Run | None:
        """Return the newest run of an experiment, in any status; None if it was never run."""
        return self._newest(signature)

    def finished(self, signature: str) -> Iterator[Run]:
        """Yield the finished runs of an experiment, newest first; each is read when requested."""
        place = 0
        while (run := self._newest(signature, runs.c.status == RunStatus.FINISHED, place=place)) is not None:
            yield run
            place += 1

    def _newest(self, signature: str, *conditions: ColumnElement[bool], place: int = 0) -> Run | None:
        wanted = select(runs).where(runs.c.signature == signature, *conditions)
        wanted = wanted.order_by(runs.c.attempt.desc(), runs.c.id.desc()).offset(place).limit(1)
        row = self._database.one(wanted)
        return None if row is None else run_from(row)

    def unfinished(self, signature: str) -> tuple[Run, ...]:
        """Return runs of this experiment that are in progress or can be resumed, newest first, at most twenty."""
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
        return tuple(map(run_from, self._database.all(wanted)))

    def ids(self) -> list[str]:
        """Return the ids of all runs, oldest first."""
        wanted = select(runs.c.id).order_by(runs.c.created_at, runs.c.id)
        return self._database.read(lambda connection: list(connection.scalars(wanted)))

    def conditions(self, wanted: RunFilter, columns: Line) -> list[ColumnElement[bool]]:
        """Return the conditions of a filter on columns like those of `run_index`."""

        def line(name: str) -> ColumnElement[Any]:
            return self._unindexed(columns[name])

        found: list[ColumnElement[bool]] = [line(name).in_(words) for name, words in words_of(wanted).items()]
        if wanted.since is not None:
            found.append(line("created_at") >= wanted.since)
        if wanted.until is not None:
            found.append(line("created_at") < wanted.until)
        if not wanted.builtin:
            found.append(line("model").not_in(BUILTIN))
        # Not LIKE, which ignores case in SQLite.
        place = func.strpos if self._database.postgres else func.instr
        found += [place(columns.tags, joined([tag])) > 0 for tag in wanted.tags]
        words = plain(wanted.text).casefold().split()
        if wanted.visible_to is not None:
            found.append(wanted.visible_to.runs(columns.run_id))
        found += wanted.submitted(columns.run_id)
        return found + [columns.search.contains(word, autoescape=True) for word in words]

    def _unindexed(self, column: ColumnElement[Any]) -> ColumnElement[Any]:
        # Without statistics SQLite considers any index with an equality selective, but most runs are finished.
        if self._database.postgres:
            return column
        return UnaryExpression(column, operator=custom_op("+"), type_=column.type)

    def list(
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
        """Return a page of runs, without their `info` (use `get` for it).

        The single filters apply in addition to `filter`; `text` is as in RunFilter. Runs without a value for the sort
        key come last in both directions; names are sorted ignoring case. Cost and tokens of a running run are sorted as
        of its last heartbeat. Raises UsageError for an invalid cursor, limit or sort key.
        """
        columns, down = chosen(RUN_ORDERS, sort, "runs")
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
            return [*self.conditions(given, line), *self.conditions(old, line)]

        leads = [*leads_of(given), *leads_of(old)]

        def work(connection: Connection) -> Page:
            places = places_of(connection, columns, parts, fitting, limit + 1, fewest(connection, leads))
            shown = whole_runs(connection, [place[-1] for place in places[:limit]])
            return Page(shown, write_cursor(sort, places[limit - 1]) if len(places) > limit else None)

        return self._database.read(work)

    def count(
        self,
        filter: RunFilter | None = None,  # noqa: A002
        most: int = 10_000,
    ) -> tuple[int, bool]:
        """Return the number of matching runs, and whether it is exact: counting stops at `most`."""
        wanted = filter or RunFilter()
        some = select(run_index.c.run_id).where(*self.conditions(wanted, run_index.c))

        def work(connection: Connection) -> tuple[int, bool]:
            lead = fewest(connection, leads_of(wanted))
            found = number_of(connection, some if lead is None else some.where(run_index.c.run_id.in_(lead)), most)
            return min(found, most), found <= most

        return self._database.read(work)

    def facets(self, visible_to: VisibleTo | None = None) -> RunFacets:
        """Return the values that runs can be filtered by, among all runs, or the visible ones."""
        columns: tuple[Column[Any], ...] = tuple(
            run_index.c[name] for name in ("status", "benchmark", "model", "agent", "kind")
        )

        def work(connection: Connection) -> RunFacets:
            recorded = (facet(connection, column, visible_to) for column in (*columns, run_tags.c.tag))
            given = (requests.c.workspace_id, requests.c.configuration, requests.c.branch, requests.c.actor_name)
            return RunFacets(*recorded, *(submission_facet(connection, column, visible_to) for column in given))

        return self._database.read(work)

    def save(self, run: Run, holder: LeaseOwner | None = None, *, terms: bool = False) -> None:
        """Store status, planned count, metrics, times, error, provenance and warnings of a run.

        The journal writes counters. With `terms`, also its spec and info, in the same transaction. Raises UnknownName;
        RunLeased if `holder` is given and does not (or no longer) hold the run's lease.
        """
        values = state_values(run)
        if terms:
            values |= {"spec": json_text(run.spec), "info": json_text(run.info)}
        if run.ended_at is not None:
            values |= {**new_means(self._database, run.id), "bins": bins_text(self._database, run.id)}

        def work(connection: Connection) -> bool:
            if holder is not None:
                _check_holder(connection, run.id, holder)
            known = write_state(connection, run.id, values)
            if terms:
                count_outcomes(connection, run.id)
            if known and connection.scalar(select(runs.c.chain).where(runs.c.id == run.id)) is None:
                rechain(connection, run.id)
            return known

        if not self._database.write(work):
            raise UnknownName(_gone(run.id))

    def save_terms(self, run: Run) -> None:
        """Store spec, info and provenance of a run, as after a change of how its scores are read.

        Raises UnknownName.
        """
        values = {"spec": json_text(run.spec), "info": json_text(run.info), "provenance": json_text(run.provenance)}

        def work(connection: Connection) -> int:
            known = connection.execute(update(runs).where(runs.c.id == run.id).values(values)).rowcount
            count_outcomes(connection, run.id)
            return known

        if not self._database.write(work):
            raise UnknownName(f"there is no run {run.id!r}; it may have been deleted")

    def rename(self, run: Run, name: str) -> None:
        """Rename a run. Raises UnknownName."""
        fields = (name, run.benchmark, run.benchmark_title, run.model, run.agent)
        search = search_text(run.id, fields, run.tags)

        def work(connection: Connection) -> int:
            known = connection.execute(
                update(runs).where(runs.c.id == run.id).values(name=plain(name), search=search)
            ).rowcount
            values = {"name": key(name.casefold()), "search": search, "changed_at": time.time()}
            connection.execute(update(run_index).where(run_index.c.run_id == run.id).values(values))
            return known

        if not self._database.write(work):
            raise UnknownName(f"there is no run {run.id!r}; it may have been deleted")
        run.name = name

    def set_tags(self, run_id: str, tags: Iterable[str]) -> None:
        """Replace the tags of a run. Raises UnknownName."""
        new = tuple(dict.fromkeys(tags))
        run = self.get(run_id)
        fields = (run.name, run.benchmark, run.benchmark_title, run.model, run.agent)
        search = search_text(run.id, fields, new)

        def work(connection: Connection) -> int:
            values = {"tags": json_text(new), "search": search}
            known = connection.execute(update(runs).where(runs.c.id == run.id).values(values)).rowcount
            if known:
                replace_tags(self._database, connection, run.id, new, search)
            return known

        if not self._database.write(work):
            raise UnknownName(_gone(run.id))

    def request_stop(self, run_id: str) -> None:
        """Request the process that works on a run to stop; it notices at its next heartbeat. Raises UnknownName."""
        asked = update(runs).where(runs.c.id == run_id).values(stop_requested=True)

        def work(connection: Connection) -> int:
            known = connection.execute(asked).rowcount
            refresh_index_row(connection, run_id)
            return known

        if not self._database.write(work):
            raise UnknownName(_gone(run_id))

    def delete(self, run_id: str) -> None:
        """Delete a run (id or unique prefix) with everything that belongs to it, except blobs that other runs need.

        If interrupted, the run remains as a stopped run with zero counts, to be deleted again. Raises UnknownName;
        RunLeased while a process works on the run.
        """
        found = self._database.read(lambda connection: resolve(connection, runs, run_id))
        delete_run(self._database, found)


def _lock(connection: Connection, what: str) -> None:
    """Serialise transactions that lock the same word, in PostgreSQL."""
    connection.execute(select(func.pg_advisory_xact_lock(int(digest(what)[:15], 16))))


def _gone(run_id: str) -> str:
    return f"there is no run {run_id!r}; it may have been deleted"


def _check_holder(connection: Connection, run_id: str, holder: LeaseOwner) -> None:
    """Raise RunLeased if another process has taken the run over; lock the run until the transaction ends."""
    found = connection.execute(select(runs.c.holder).where(runs.c.id == run_id).with_for_update()).one_or_none()
    if found is not None and found.holder != json_text(holder):
        now = holder_from(found.holder) or "nobody"
        raise RunLeased(
            f"run {run_id} is no longer this process's: {now} holds it now; what was written before is kept"
        )


def _check_alone(connection: Connection, signature: str) -> None:
    going = (RunStatus.PENDING.value, RunStatus.RUNNING.value)
    wanted = select(runs).where(runs.c.signature == signature, runs.c.status.in_(going))
    for row in connection.execute(wanted).mappings():
        rival = run_from(row)
        if not abandoned(rival):
            who = f" by {rival.holder}" if rival.holder else ""
            raise RunLeased(f"run {rival.id} of the same experiment is going on{who}")


def _check_name(database: Database, connection: Connection, run: Run) -> None:
    if not run.name:
        return
    if database.postgres:
        _lock(connection, f"name {run.kind} {run.name}")
    lines = select(run_index.c.run_id).where(
        run_index.c.name == key(run.name.casefold()), run_index.c.kind == key(run.kind)
    )
    wanted = select(runs.c.id).where(runs.c.id.in_(lines), runs.c.name == plain(run.name)).limit(1)
    rival = connection.scalar(wanted)
    if rival is not None:
        raise RunLeased(
            f"another command has begun run {run.name!r} at the same time ({rival}); this command again looks at it"
        )
