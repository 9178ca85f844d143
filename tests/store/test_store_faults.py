"""Locks, full disks, vanished servers: an error that says so, or nothing noticed; never a loss, never a double."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from sqlalchemy import event

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import InfrastructureError
from mesocosm.core.run import Counts, RunStatus
from mesocosm.core.usage import Usage
from mesocosm.store import Store, open_store

if TYPE_CHECKING:
    from tests.store.conftest import Samples

SCRIPT = Path(__file__).parents[1] / "postgres.sh"
CUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()
"""
"""Ends the other connections of the same worker, which carry the name of its schema."""


only_postgres = [
    pytest.mark.postgres,
    pytest.mark.parametrize("place", ["postgresql"], indirect=True),
]


def locked(store: Store) -> sqlite3.Connection:
    """Return a connection that keeps everybody else from writing to the file."""
    connection = sqlite3.connect(store.place, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    return connection


async def test_a_file_that_stays_locked_is_an_error_and_stays_readable(sqlite_store: Store, samples: "Samples") -> None:
    run = samples.held(sqlite_store)
    journal = sqlite_store.journal(run.id, sqlite_store.leases.owner(), lambda _: None, lambda: None)
    journal.write(samples.entry(run.id, 0))
    await journal.drain()
    with closing(locked(sqlite_store)):
        journal.write(samples.entry(run.id, 1))

        with pytest.raises(InfrastructureError, match=r"results\.sqlite .*another process kept it locked"):
            await journal.drain()
        with pytest.raises(InfrastructureError, match="kept it locked"):
            journal.write(samples.entry(run.id, 2))
        assert sqlite_store.runs.get(run.id).counts.completed == 1
    with pytest.raises(InfrastructureError, match="kept it locked"):
        await journal.close()
    assert len(sqlite_store.episodes.finished_keys(run.id)) == 1


async def test_a_lock_that_ends_in_time_is_waited_for(sqlite_store: Store, samples: "Samples") -> None:
    patient = open_store(sqlite_store.place, patience=30)
    run = samples.held(patient)
    journal = patient.journal(run.id, patient.leases.owner(), lambda _: None, lambda: None)
    tried = threading.Event()
    with closing(locked(patient)):
        event.listen(patient.database.engine, "before_cursor_execute", lambda *_: tried.set())
        for index in range(10):
            journal.write(samples.entry(run.id, index))
        assert await asyncio.to_thread(tried.wait, 10)

    await journal.close()

    assert patient.runs.get(run.id).counts.completed == 10
    patient.close()


def test_other_writes_to_a_locked_file_are_an_error_too(sqlite_store: Store, samples: "Samples") -> None:
    run = sqlite_store.runs.add(samples.run())
    with closing(locked(sqlite_store)):
        with pytest.raises(InfrastructureError, match="kept it locked"):
            sqlite_store.runs.save(run)
        with pytest.raises(InfrastructureError, match="kept it locked"):
            sqlite_store.episodes.save_scores(run.id, [])


FILL = """
import asyncio, resource, sys
sys.path.insert(0, sys.argv[3])
from conftest import Samples
from mesocosm.core.failure import InfrastructureError
from mesocosm.core.entry import Chunk, Entry
from mesocosm.store import open_store
import os

async def main():
    samples, store = Samples(), open_store(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    me = store.leases.owner()
    journal = store.journal(sys.argv[2], me, lambda episodes: [print(e.id) for e in episodes], lambda: None)
    try:
        for index in range(1000):
            await journal.room()
            journal.write(Entry(samples.episode(sys.argv[2], index), [Chunk(0, 0, 0, 0, 0, os.urandom(5000))]))
            await journal.drain()
    except InfrastructureError as error:
        print("error:", error)

store = open_store(sys.argv[1]); store.leases.take(sys.argv[2], store.leases.owner()); store.close()
asyncio.run(main())
"""


def test_a_full_disk_is_an_error_and_what_was_committed_stays(sqlite_store: Store, samples: "Samples") -> None:
    run = sqlite_store.runs.add(samples.run())
    sqlite_store.close()

    done = subprocess.run(
        [sys.executable, "-c", FILL, sqlite_store.place, run.id, str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        check=True,
    )

    *committed, error = done.stdout.splitlines()
    assert "results.sqlite" in error
    assert "free space" in error
    again = open_store(sqlite_store.place)
    kept = again.episodes.list(run.id, limit=1000).items
    assert {episode.id for episode in kept} >= set(committed) != set()
    assert again.runs.get(run.id).counts.completed == len(kept)
    assert all(len(list(again.traces.chunks(episode.id))) == 1 for episode in kept)
    again.leases.take(run.id, again.leases.owner())
    again.close()


class Doubt:
    """Lets every other commit succeed without the answer arriving, as when a connection breaks at the worst moment."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.commits = 0
        self._dialect = store.database.engine.dialect
        self._commit = self._dialect.do_commit
        monkeypatch.setattr(self._dialect, "do_commit", self)

    def __call__(self, connection: Any) -> None:
        self._commit(connection)
        self.commits += 1
        if self.commits % 2:
            driver = connection.driver_connection
            if isinstance(driver, sqlite3.Connection):
                error = sqlite3.OperationalError("database is locked")
                error.sqlite_errorcode = sqlite3.SQLITE_BUSY
                raise error
            driver.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")


async def test_commits_of_unknown_outcome_count_once(
    store: Store, samples: "Samples", monkeypatch: pytest.MonkeyPatch
) -> None:
    run = samples.held(store)
    heard: list[str] = []
    journal = store.journal(run.id, store.leases.owner(), lambda found: heard.extend(e.id for e in found), lambda: None)
    entries = [samples.entry(run.id, index) for index in range(20)]
    with monkeypatch.context() as patch:
        doubt = Doubt(store, patch)
        for entry in entries[:10]:
            journal.write(entry)
        await journal.drain()
        for entry in entries[10:]:
            journal.write(entry)
        await journal.close()

    assert doubt.commits >= 4
    assert heard == [entry.episode.id for entry in entries]
    assert store.episodes.list(run.id).items == tuple(entry.episode for entry in entries)
    assert store.runs.get(run.id).counts == Counts(10, completed=20)
    assert store.runs.get(run.id).usage == Usage(2000, 200, 80, 40, 5.0, 20)
    assert all(len(list(store.traces.events(entry.episode.id))) == 4 for entry in entries)


async def test_every_change_of_a_run_survives_commits_of_unknown_outcome(
    store: Store, samples: "Samples", monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = {"status": EpisodeStatus.FAILED}
    Doubt(store, monkeypatch)

    run = store.runs.add(samples.run())
    store.leases.take(run.id, store.leases.owner())
    await samples.write(store, run.id, [samples.entry(run.id), samples.entry(run.id, 1, **failed)])
    run.status = RunStatus.FINISHED
    store.runs.save(run)
    store.runs.set_tags(run.id, ["a"])
    store.artifacts.add(run.id, "log", b"text", content_type="text/plain")
    store.episodes.drop_failed(run.id)
    store.leases.release(run.id, store.leases.owner())

    found = store.runs.get(run.id)
    assert (found.attempt, found.status, found.holder, found.tags) == (1, RunStatus.FINISHED, None, ("a",))
    assert found.counts == Counts(10, completed=1)
    assert len(store.artifacts.of_run(run.id)) == 1
    store.runs.delete(run.id)
    assert store.runs.list().items == ()


async def play(store: Store, samples: "Samples", disturb: Any, count: int = 1500) -> None:
    """Write a run while `disturb` is called again and again, then check that all of it is there once."""
    run = samples.held(store)
    heard: list[str] = []

    def committed(found: Sequence[Episode]) -> None:
        heard.extend(episode.id for episode in found)

    journal = store.journal(run.id, store.leases.owner(), committed, lambda: None)
    entries = [samples.entry(run.id, index) for index in range(count)]
    for place, entry in enumerate(entries):
        await journal.room()
        journal.write(entry)
        if place % 20 == 0:
            await asyncio.sleep(0)
        if place % 500 == 250:
            await journal.drain()
            journal.write(samples.entry(run.id, count + place))
            await asyncio.to_thread(disturb)
    await journal.close()
    run.status = RunStatus.FINISHED
    store.runs.save(run)

    extra = count // 500
    assert len(heard) == len(set(heard)) == count + extra
    assert len(store.episodes.finished_keys(run.id)) == count + extra
    found = store.runs.get(run.id)
    assert found.counts.completed == count + extra
    assert found.usage.prompt == 100 * (count + extra)
    assert sum(1 for _ in store.episodes.score_rows(run.id)) == 2 * (count + extra)


class TestPostgres:
    """What only a server can do."""

    pytestmark = only_postgres

    async def test_connections_that_are_cut_again_and_again_lose_nothing(
        self, place: str, store: Store, samples: "Samples"
    ) -> None:
        def cut() -> None:
            with psycopg.connect(place, autocommit=True) as connection:
                connection.execute(CUT)

        await play(store, samples, cut)

    async def test_a_reading_is_repeated_on_a_new_connection(
        self, place: str, store: Store, samples: "Samples"
    ) -> None:
        run = store.runs.add(samples.run())
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute(CUT)

        assert store.runs.get(run.id) == run

    async def test_a_transaction_that_is_never_repeated_begins_on_a_new_connection(
        self, place: str, store: Store, samples: "Samples"
    ) -> None:
        run = store.runs.add(samples.run())
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute(CUT)

        assert store.episodes.finished_keys(run.id) == set()


class Server:
    """A PostgreSQL server of our own, to be restarted and stopped."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.url = self.call("start").strip()

    def call(self, command: str) -> str:
        done = subprocess.run([SCRIPT, command, self._directory], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def server(postgres_schema: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return an own server where the environment has PostgreSQL at all."""
    assert postgres_schema
    directory = Path(os.environ.get("TMPDIR", "/tmp")) / f"mesocosm-postgres-{os.getpid()}"
    started = Server(directory)
    yield started
    started.call("stop")


@pytest.mark.postgres
async def test_a_server_that_restarts_is_not_noticed_and_one_that_stays_away_is(
    server: Server, samples: "Samples"
) -> None:
    store = open_store(server.url, patience=30)
    await play(store, samples, lambda: server.call("restart"))
    store.close()

    hasty = open_store(server.url, patience=0.2)
    run = samples.held(hasty)
    journal = hasty.journal(run.id, hasty.leases.owner(), lambda _: None, lambda: None)
    server.call("stop")
    journal.write(samples.entry(run.id))

    with pytest.raises(InfrastructureError, match=r"postgresql.*the server cannot be reached; check that it runs"):
        await journal.close()
    hasty.close()
    with pytest.raises(InfrastructureError, match="the server cannot be reached"):
        open_store(server.url)
