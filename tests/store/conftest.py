"""Stores on both dialects, and small records to put into them."""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import psycopg
import pytest
from sqlalchemy import event

from mesocosm.core.entry import Chunk, Entry
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Event, Kind
from mesocosm.core.ids import digest, new_id
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Page
from mesocosm.core.run import BenchmarkRef, Counts, Run, RunSpec
from mesocosm.core.score import Score
from mesocosm.core.usage import Usage
from mesocosm.store import Store, open_store

_encode = msgspec.json.Encoder().encode


def all_pages(listing: Callable[..., Page], **given: Any) -> Iterator[Any]:
    """Yield the items of all pages of a listing."""
    cursor = None
    while True:
        page = listing(cursor=cursor, **given)
        assert page.items or cursor is None
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


class Samples:
    """Makes runs, episodes and entries; every field has a plain value that can be overridden."""

    def run(self, **given: Any) -> Run:
        """Return a run that is not stored yet."""
        spec = RunSpec(BenchmarkRef("environment", "words"), ModelSettings("ollama/llama3.2"))
        fields: dict[str, Any] = {
            "id": new_id(),
            "signature": digest("words"),
            "benchmark": "words",
            "benchmark_title": "Word game",
            "benchmark_version": "1.0",
            "benchmark_digest": digest("content"),
            "kind": "environment",
            "model": "ollama/llama3.2",
            "agent": "loop",
            "spec": spec,
            "counts": Counts(planned=10),
            "created_at": time.time(),
        }
        return Run(**(fields | given))

    def episode(self, run_id: str, index: int = 0, **given: Any) -> Episode:
        """Return a completed episode with two scores."""
        fields: dict[str, Any] = {
            "id": new_id(),
            "run_id": run_id,
            "task_digest": digest({"seed": index}),
            "task_id": f"seed {index}",
            "seed": index,
            "index": index,
            "status": EpisodeStatus.COMPLETED,
            "started_at": 1.5,
            "ended_at": 2.5,
            "steps": 1,
            "total_reward": 0.5,
            "terminal_info": {"correct": True},
            "usage": Usage(100, 10, 4, 2, 0.25, 1),
            "events": 4,
            "scores": (Score("accuracy", 1.0), Score("length", 4.0)),
        }
        return Episode(**(fields | given))

    def chunk(self, seq: int = 0, first: int = 0, count: int = 4, per_step: int = 2) -> Chunk:
        """Return a chunk of `count` events from position `first` on, `per_step` of them in each step."""
        events = [Event(n, n // per_step, 0.5, Kind.LOG, {"text": f"line {n}"}) for n in range(first, first + count)]
        raw = b"".join(_encode(event) + b"\n" for event in events)
        return Chunk(seq, first, first + count - 1, events[0].step, events[-1].step, raw)

    def entry(self, run_id: str, index: int = 0, **given: Any) -> Entry:
        """Return the only entry of a short episode."""
        return Entry(self.episode(run_id, index, **given), [self.chunk()])

    def held(self, store: Store, **given: Any) -> Run:
        """Return a stored run that this process holds."""
        run = store.runs.add(self.run(**given))
        store.leases.take(run.id, store.leases.owner())
        return run

    async def write(self, store: Store, run_id: str, entries: Sequence[Entry]) -> None:
        """Put entries into a held run through its journal."""
        journal = store.journal(run_id, store.leases.owner(), lambda _: None, lambda: None)
        for entry in entries:
            journal.write(entry)
        await journal.close()


@pytest.fixture(scope="session")
def samples() -> Samples:
    """Return the maker of records."""
    return Samples()


@contextmanager
def own_schema() -> Iterator[str]:
    """Make a schema on the PostgreSQL server that the environment names, for a while; yields its URL.

    Connections carry its name, so that a test which cuts its own leaves those of other workers alone.
    """
    url = os.environ.get("MESOCOSM_TEST_POSTGRES")
    if not url:
        reason = "MESOCOSM_TEST_POSTGRES names no PostgreSQL server; tests/postgres.sh starts one"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    name = f"test_{new_id().replace('-', '')}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
        yield f"{url}?application_name={name}&options={quote(f'-csearch_path={name}')}"
        connection.execute(f"DROP SCHEMA {name} CASCADE".encode())


@pytest.fixture(scope="session")
def postgres_schema() -> Iterator[str]:
    """Return the URL of a schema of this process."""
    with own_schema() as url:
        yield url


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty store to copy: migrating costs more than most tests."""
    path = tmp_path_factory.mktemp("store") / "empty.sqlite"
    open_store(path).close()
    return path


TABLES = """
SELECT one.relname, array_remove(array_agg(referring.relname), NULL)
FROM pg_class AS one
LEFT JOIN pg_constraint AS reference ON reference.confrelid = one.oid AND reference.conrelid != one.oid
LEFT JOIN pg_class AS referring ON referring.oid = reference.conrelid
WHERE one.relnamespace = current_schema()::regnamespace AND one.relkind = 'r'
GROUP BY one.relname
"""
"""The names of all tables, each with those that refer to it."""
NUMBERS = """
SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
FROM pg_sequences WHERE schemaname = current_schema() AND last_value IS NOT NULL
"""
"""Lets numbers begin at 1 again, as in a new store."""


def _filled(connection: "psycopg.Connection[Any]", tables: Sequence[str]) -> list[str]:
    """Return those tables in which there is anything."""
    asked = ", ".join(f"EXISTS (SELECT FROM {name})" for name in tables)
    found = connection.execute(f"SELECT {asked}".encode()).fetchone()
    assert found is not None
    return [name for name, filled in zip(tables, found, strict=True) if filled]


@pytest.fixture(scope="session")
def empty_postgres(postgres_schema: str) -> Callable[[], str]:
    """Return what makes the PostgreSQL store as it was when it was new, and names it.

    It looks where there is anything: TRUNCATE makes new files for all tables and their indexes, and takes 150 ms.
    """
    open_store(postgres_schema).close()
    with psycopg.connect(postgres_schema) as connection:
        references: dict[str, list[str]] = dict(connection.execute(TABLES).fetchall())
        tables = list(TopologicalSorter(references).static_order())
        new = set(_filled(connection, tables))
    tables = [name for name in tables if name not in new]

    def empty() -> str:
        with psycopg.connect(postgres_schema) as connection:
            for name in _filled(connection, tables):
                connection.execute(f"DELETE FROM {name}".encode())
            connection.execute(NUMBERS)
        return postgres_schema

    return empty


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the place of an empty store, on each dialect in turn."""
    if request.param == "sqlite":
        source: Path = request.getfixturevalue("migrated_file")
        return str(shutil.copy(source, tmp_path / "results.sqlite"))
    empty: Callable[[], str] = request.getfixturevalue("empty_postgres")
    return empty()


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    """Return an empty store on each dialect in turn."""
    opened = open_store(place, patience=10.0)
    yield opened
    opened.close()


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def shared_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, migrated_file: Path
) -> Iterator[Store]:
    """Return a store of a file's own on each dialect in turn, for what its tests only read."""
    with ExitStack() as opened:
        if request.param == "sqlite":
            place = str(shutil.copy(migrated_file, tmp_path_factory.mktemp("shared") / "results.sqlite"))
        else:
            place = opened.enter_context(own_schema())
        store = open_store(place, patience=10.0)
        opened.callback(store.close)
        yield store


@pytest.fixture
def sqlite_store(tmp_path: Path, migrated_file: Path) -> Iterator[Store]:
    """Return an empty SQLite store that waits for locks hardly at all."""
    opened = open_store(shutil.copy(migrated_file, tmp_path / "results.sqlite"), patience=0.3)
    yield opened
    opened.close()


@pytest.fixture
def planned(sqlite_store: Store) -> Callable[[Callable[[], object]], list[str]]:
    """Return a function that returns the steps of SQLite's plans for all that a call asks of the store."""
    engine = sqlite_store.database.engine

    def steps(call: Callable[[], object]) -> list[str]:
        asked: list[tuple[str, Any]] = []

        def note(_connection: object, _cursor: object, statement: str, given: Any, *_more: object) -> None:
            asked.append((statement, given))

        event.listen(engine, "before_cursor_execute", note)
        call()
        event.remove(engine, "before_cursor_execute", note)
        with engine.connect() as connection:
            plans = [
                connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", given)
                for sql, given in asked
                if "SELECT" in sql
            ]
            return [row[3] for plan in plans for row in plan]

    return steps
