"""A worker that stands still loses what it has, and writes nothing when it goes on."""

import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection, text

from mesocosm.core.run import RunStatus
from mesocosm.store.database import Database
from mesocosm.store.revision import DATABASE_NAME

pytestmark = pytest.mark.usefixtures("forked")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def shared(request: pytest.FixtureRequest, open_platform: Callable[..., Any]) -> Any:
    """A platform over each kind of database in turn."""
    if request.param == "sqlite":
        return open_platform()
    return open_platform(database_url=request.getfixturevalue("empty_postgres")())


def is_locked(platform: Any) -> bool:
    """Return whether another process is in the middle of a write to the platform's database."""
    database: Database = platform.service.store.database
    if database.postgres:

        def others(connection: Connection) -> bool:
            locks = "pg_locks JOIN pg_class ON relation = pg_class.oid JOIN pg_namespace s ON relnamespace = s.oid"
            ours = "nspname = current_schema() AND mode <> 'AccessShareLock' AND pid <> pg_backend_pid()"
            return bool(connection.scalar(text(f"SELECT count(*) FROM {locks} WHERE {ours}")))

        return database.query(others)
    with closing(sqlite3.connect(platform.folder / DATABASE_NAME, timeout=0.1, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        connection.execute("ROLLBACK")
        return False


def stopped_without_a_lock(worker: subprocess.Popen[bytes], locked: Callable[[], bool]) -> bool:
    """Stop a process and return True, or let it go on and return False: who stands still keeps the locks it has."""
    worker.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, worker.pid, os.WSTOPPED)
    if locked():
        worker.send_signal(signal.SIGCONT)
        return False
    return True


def stored(platform: Any, run_id: str) -> tuple[bytes, bytes, Any]:
    """Return all that is stored of a run: itself, its episodes, its order."""
    episodes = platform.service.store.episodes.search(run_id, limit=100).items
    order = platform.service.store.run_requests.get(run_id)
    return msgspec.json.encode(platform.run(run_id)), msgspec.json.encode(episodes), order


def test_a_frozen_worker_loses_its_run_to_another_and_writes_nothing_when_it_goes_on(
    shared: Any, world: Any, elsewhere: Any, eventually: Callable[..., None]
) -> None:
    world.held.add(2)
    run_id = shared.order(world.url, (1, 2, 3))
    frozen = shared.worker()
    eventually(lambda: shared.run(run_id).counts.done == 1 and 2 in world.resets)
    eventually(lambda: stopped_without_a_lock(frozen, partial(is_locked, shared)))
    world.held.clear()
    second = shared.worker()
    eventually(lambda: shared.order_state(run_id) == "ended")
    assert shared.run(run_id).status is RunStatus.FINISHED
    assert shared.seeds_of(run_id) == [1, 2, 3]
    second.send_signal(signal.SIGTERM)
    assert second.wait(120) == 0
    before = stored(shared, run_id)
    world.released.set()
    frozen.send_signal(signal.SIGCONT)
    # It has seen that the run is not its own when it is through with another one.
    other = shared.order(elsewhere.url, (7,))
    eventually(lambda: shared.order_state(other) == "ended")
    frozen.send_signal(signal.SIGTERM)
    assert frozen.wait(120) == 0
    assert shared.run(other).status is RunStatus.FINISHED
    assert stored(shared, run_id) == before


def test_a_run_is_not_taken_from_a_worker_that_is_heard_of(platform: Any, world: Any) -> None:
    run_id = platform.order(world.url, (1,))
    store = platform.service.store
    store.leases.take(run_id, store.leases.owner())
    assert not store.leases.evict(run_id, 60.0)
    assert store.leases.evict(run_id, -1.0)
    assert not store.leases.evict(run_id, -1.0)
    assert platform.run(run_id).holder is None


def test_a_stopped_writer_is_seen(shared: Any) -> None:
    database: Database = shared.service.store.database
    assert not is_locked(shared)
    with database.once(immediate=True) as connection:
        connection.execute(text("UPDATE runs SET id = id WHERE 1 = 0"))
        assert is_locked(shared)
