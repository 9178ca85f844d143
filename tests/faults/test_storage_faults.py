"""Stores that fail under a run: a clear error, and what was committed stays readable and can be gone on with."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import InfrastructureError
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Observer
from mesocosm.core.run import BenchmarkRef, Run, RunSpec, RunStatus, Selection
from mesocosm.engine import session
from mesocosm.interop.replay import all_episodes
from mesocosm.store import Store, open_store

if TYPE_CHECKING:
    from tests.faults.conftest import Server

pytestmark = pytest.mark.usefixtures("forked")

HERE = Path(__file__).parent
EPISODES = 10


def runner(*arguments: object, notes: Path) -> "subprocess.CompletedProcess[str]":
    """Let runner.py work in a process of its own."""
    return subprocess.run(
        [sys.executable, str(HERE / "runner.py"), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "MESOCOSM_TEST_NOTES": str(notes), "MESOCOSM_TEST_EPISODES": "150"},
    )


def spec(parallel: int = 1) -> RunSpec:
    return RunSpec(
        BenchmarkRef("python", f"{HERE / 'worlds.py'}:Halting"),
        ModelSettings("builtin/random"),
        selection=Selection(count=EPISODES),
        parallel=parallel,
    )


def whole(store: Store, run_id: str) -> list[Episode]:
    """Return the finished episodes of a run, all of whose events can be read."""
    episodes = [episode for episode in all_episodes(store, run_id) if episode.ended_at is not None]
    for episode in episodes:
        assert [event.seq for event in store.traces.events(episode.id)] == list(range(episode.events))
    return episodes


def test_a_full_disk_is_told_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    database, notes = tmp_path / "results.sqlite", tmp_path / "notes"
    open_store(database).close()
    done = runner("full", database.stat().st_size + 150_000, database, notes=notes)
    said = done.stdout.splitlines()
    run_id = said[0].removeprefix("run ")
    assert done.returncode == 4, done.stderr
    assert said[1].startswith(f"error the results database {database} cannot be used")
    assert "free space" in said[1]

    with closing(open_store(database)) as store:
        before = whole(store, run_id)
        counts = store.runs.get(run_id).counts
        assert 0 < len(before) == counts.done < counts.planned
    done = runner("run", database, run_id, notes=notes)
    assert done.returncode == 0, done.stdout
    with closing(open_store(database)) as store:
        after = {episode.id: episode for episode in whole(store, run_id)}
        run = store.runs.get(run_id)
        assert (run.status, run.counts.done, len(after)) == (RunStatus.FINISHED, counts.planned, counts.planned)
        assert [after[episode.id] for episode in before] == before


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that other users can reach."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        yield place
        for directory in (place, *place.iterdir()):
            directory.chmod(0o755)


def readable_by_all(path: Path) -> bool:
    """Whether another user gets to a file: a runner that gives up its rights needs our sources still."""
    return all(place.stat().st_mode & 0o001 for place in path.parents)


needs_open_checkout = pytest.mark.skipif(
    not readable_by_all(Path(__file__)), reason="the checkout lies where other users may not look"
)


@needs_open_checkout
def test_a_directory_that_may_only_be_read_is_told_before_anything_runs(public: Path) -> None:
    (public / "results").mkdir()
    (public / "results").chmod(0o555)
    done = runner("nobody", public / "results" / "new.sqlite", notes=public / "notes")
    assert done.returncode == 4, done.stderr
    assert done.stdout.startswith(f"error the results directory {public / 'results'} cannot be written")
    assert "--results-dir" in done.stdout
    assert list((public / "results").iterdir()) == []
    assert not (public / "notes").exists()


@needs_open_checkout
def test_results_that_may_only_be_read_are_told_and_left_as_they_are(public: Path) -> None:
    database, notes = public / "results" / "old.sqlite", public / "notes"
    database.parent.mkdir()
    assert runner("run", database, notes=notes).returncode == 0
    for path in (database, database.parent):
        path.chmod(0o444 if path.is_file() else 0o555)
    before = database.read_bytes()
    played = notes.read_text()
    done = runner("nobody", database, notes=notes)
    assert done.returncode == 4, done.stderr
    assert done.stdout.startswith(f"error the results database {database} cannot be used")
    assert "it is read-only" in done.stdout
    assert database.read_bytes() == before
    assert notes.read_text() == played


LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
sys.stdin.readline()
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.readline()
"""


class Locker:
    """Another process, which can lock the database."""

    def __init__(self, database: Path) -> None:
        command = [sys.executable, "-c", LOCK, str(database)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def lock(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "locked\n"

    def unlock(self) -> None:
        self.process.communicate("\n")


@pytest.fixture
def locker(tmp_path: Path) -> Iterator[Locker]:
    open_store(tmp_path / "results.sqlite").close()
    made = Locker(tmp_path / "results.sqlite")
    yield made
    made.process.kill()
    made.process.communicate()


class Gate(Observer):
    """Opens the gate of the world `Halting` when told; knows when everything before it is durable."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
        self.file = place / "gate"
        monkeypatch.setenv("MESOCOSM_TEST_GATE", str(self.file))
        self.reached = asyncio.Event()
        self.durable = 0

    def episode_finished(self, episode: Episode) -> None:
        self.durable += 1
        if self.durable == 3:
            self.reached.set()

    def open(self) -> None:
        self.file.touch()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Gate:
    return Gate(monkeypatch, tmp_path)


async def disturbed(store: Store, gate: Gate, disturb: Callable[[], object]) -> Run:
    """Run while the store is disturbed once three episodes are durable."""
    running = asyncio.create_task(session.run(spec(), store, [gate]))
    await asyncio.wait_for(gate.reached.wait(), 120)
    await asyncio.to_thread(disturb)
    gate.open()
    return await asyncio.wait_for(running, 120)


async def test_a_database_that_stays_locked_ends_the_run_and_can_be_gone_on_with(
    tmp_path: Path, locker: Locker, gate: Gate
) -> None:
    database = tmp_path / "results.sqlite"
    with closing(open_store(database, patience=0.2)) as store:
        with pytest.raises(InfrastructureError, match="another process kept it locked") as caught:
            await disturbed(store, gate, locker.lock)
        assert str(database) in str(caught.value)
        with closing(open_store(database)) as reader:
            (stored,) = reader.runs.list().items
            assert [episode.seed for episode in whole(reader, stored.id)] == [0, 1, 2]
        locker.unlock()
        again = await session.resume(stored.id, store)
        assert (again.status, again.counts.completed, again.error) == (RunStatus.FINISHED, EPISODES, "")
        assert len(whole(store, stored.id)) == EPISODES


async def test_a_store_that_fails_is_noticed_though_every_episode_waits(
    tmp_path: Path, locker: Locker, gate: Gate
) -> None:
    with closing(open_store(tmp_path / "results.sqlite", patience=0.2)) as store:
        running = asyncio.create_task(session.run(spec(), store, [gate]))
        await asyncio.wait_for(gate.reached.wait(), 120)
        await asyncio.to_thread(locker.lock)
        # The gate stays shut: only the heartbeat can find out.
        with pytest.raises(InfrastructureError, match="another process kept it locked"):
            await asyncio.wait_for(running, 120)


async def test_a_database_that_is_damaged_is_told(tmp_path: Path, gate: Gate) -> None:
    database = tmp_path / "results.sqlite"
    with closing(open_store(database)) as store:

        def damage() -> None:
            with closing(sqlite3.connect(database)) as connection:
                connection.execute("DROP TABLE scores")
                connection.commit()

        with pytest.raises(InfrastructureError, match="no such table: scores"):
            await disturbed(store, gate, damage)


@pytest.mark.postgres
async def test_connections_cut_during_a_run_lose_nothing(server: "Server", gate: Gate) -> None:
    with closing(open_store(server.url, patience=20)) as store:
        run = await disturbed(store, gate, server.cut)
        assert (run.status, run.counts.completed, run.error) == (RunStatus.FINISHED, EPISODES, "")
        assert [episode.seed for episode in whole(store, run.id)] == list(range(EPISODES))
        calm = await session.run(spec(), store)
        assert (run.metrics, run.usage) == (calm.metrics, calm.usage)


@pytest.mark.postgres
async def test_a_server_that_stays_away_ends_the_run_and_can_be_gone_on_with(server: "Server", gate: Gate) -> None:
    with closing(open_store(server.url, patience=0.5)) as store:
        with pytest.raises(InfrastructureError, match="cannot be used"):
            await disturbed(store, gate, server.close)
        server.open()
        (stored,) = store.runs.list().items
        assert [episode.seed for episode in whole(store, stored.id)] == [0, 1, 2]
        again = await session.resume(stored.id, store)
        assert (again.status, again.counts.completed) == (RunStatus.FINISHED, EPISODES)
        assert all(episode.status is EpisodeStatus.COMPLETED for episode in whole(store, stored.id))
