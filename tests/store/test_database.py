"""Opening a store: what works, works with the right settings; what does not, says where and what to do."""

import asyncio
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import Connection, QueuePool
from sqlalchemy.exc import DBAPIError

from mesocosm.core.failure import InfrastructureError, UnknownName, UsageError
from mesocosm.store import Store, database, open_store
from mesocosm.store.database import explain, open_database, transient
from mesocosm.store.revision import DATABASE_NAME

if TYPE_CHECKING:
    from tests.store.conftest import Samples


def test_a_new_file_is_made_with_its_directories(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "é 100%?#.sqlite"

    open_store(path).close()

    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_results_directory_holds_one_known_file(tmp_path: Path) -> None:
    open_store(tmp_path).close()

    assert [file.name for file in tmp_path.iterdir()] == [DATABASE_NAME]


def test_a_sqlite_url_names_a_file(tmp_path: Path) -> None:
    open_store(f"sqlite:///{tmp_path}/a.sqlite").close()

    assert (tmp_path / "a.sqlite").exists()


def test_the_settings_of_sqlite_are_durable_and_checked(
    tmp_path: Path, own_synchronous: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "SYNCHRONOUS", own_synchronous)
    with closing(open_database(tmp_path, patience=0.3)) as opened, opened.once() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }

    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 300}


def test_nothing_is_made_where_results_are_only_wanted(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=f"no results at {tmp_path}/none/a.sqlite.*--results-dir"):
        open_store(tmp_path / "none" / "a.sqlite", create=False)

    assert list(tmp_path.iterdir()) == []


def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")

    with pytest.raises(InfrastructureError, match=f"{tmp_path}/file/deep cannot be made.*--results-dir"):
        open_store(tmp_path / "file" / "deep" / "a.sqlite")


def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("text, and more than a few words of it, so that it is longer than a header of a database file" * 20)
    before = path.read_bytes()

    with pytest.raises(InfrastructureError, match=r"notes\.txt .*it is no SQLite database; move it away"):
        open_store(path)

    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "url", ["mysql://host/db", "sqlite://", "sqlite:///:memory:", "oracle://a", "nonsense://", "://"]
)
def test_an_url_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="postgresql://user:password@host/database"):
        open_store(url)


def test_a_missing_driver_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(UsageError, match=r"pip install 'mesocosm\[postgres\]'"):
        open_store("postgresql://user@127.0.0.1/none")


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_a_server_that_is_not_there_is_named_without_its_password(scheme: str) -> None:
    with pytest.raises(InfrastructureError) as caught:
        open_store(f"{scheme}://user:secret@127.0.0.1:1/none?connect_timeout=2")

    assert "user:***@127.0.0.1:1/none" in str(caught.value)
    assert "check that it runs" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_many_that_open_a_new_file_at_once_all_get_it(tmp_path: Path) -> None:
    ready = threading.Barrier(6)
    failures: list[InfrastructureError] = []
    opened: list[int] = []

    def work() -> None:
        ready.wait()
        try:
            open_store(tmp_path / "a.sqlite").close()
        except InfrastructureError as error:
            failures.append(error)
        else:
            opened.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert len(opened) == 6
    # Of two that close at the same moment neither is the last, so SQLite may leave its log to the next that opens.
    assert {file.name for file in tmp_path.iterdir()} <= {"a.sqlite", "a.sqlite-wal", "a.sqlite-shm"}


AS_NOBODY = """
import asyncio, os, sys
sys.path.insert(0, sys.argv[1])
from conftest import Samples
from mesocosm.core.failure import InfrastructureError
from mesocosm.store import open_store
import sqlalchemy.dialects.sqlite, alembic.command, alembic.script, difflib
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
place = sys.argv[2]
store = open_store(place + "/full/results.sqlite")
run = store.runs.list().items[0]
print(run.name, run.counts.completed, len(list(store.episodes.score_rows(run.id))))
for act in (lambda: store.runs.add(Samples().run()), lambda: open_store(place + "/empty/new.sqlite"),
            lambda: open_store(place + "/old/results.sqlite")):
    try:
        act()
    except InfrastructureError as error:
        print(error)
"""


@pytest.fixture
def read_only() -> Iterator[Path]:
    """Return a place outside of pytest's private directories where nobody may write."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for part in ("full", "empty", "old"):
            (place / part).mkdir()
        (place / "old" / "results.sqlite").touch()
        yield place
        for directory in (place, *place.iterdir()):
            directory.chmod(0o755)


def readable_by_all(path: Path) -> bool:
    """Whether another user gets to a file: a test that gives up its rights needs our sources still."""
    return all(place.stat().st_mode & 0o001 for place in path.parents)


@pytest.mark.skipif(not readable_by_all(Path(__file__)), reason="the checkout lies where other users may not look")
def test_results_that_may_only_be_read_are_read(read_only: Path, samples: "Samples") -> None:
    store = open_store(read_only / "full" / "results.sqlite")
    run = samples.held(store, name="kept")
    asyncio.run(samples.write(store, run.id, [samples.entry(run.id)]))
    store.close()
    for path in sorted(read_only.rglob("*"), reverse=True):
        path.chmod(0o444 if path.is_file() else 0o555)
    read_only.chmod(0o555)

    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(Path(__file__).parent), str(read_only)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    found, add, new, old = done.stdout.splitlines()
    assert found == "kept 1 2"
    assert "full/results.sqlite" in add
    assert "it is read-only; give this user the right to write" in add
    assert "empty cannot be written; choose another with --results-dir" in new
    assert "old/results.sqlite has no up-to-date schema" in old
    assert stat.S_IMODE((read_only / "full").stat().st_mode) == 0o555


class Refused(Exception):
    """An error as the PostgreSQL driver raises it."""

    def __init__(self, sqlstate: str) -> None:
        super().__init__("the server's own words\nand more")
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("sqlstate", "again", "remedy"),
    [
        ("57P01", True, "check that it runs"),
        ("08006", True, "check that it runs"),
        ("40P01", True, "check that it runs"),
        ("53100", False, "the server's disk is full; free space"),
        ("42501", False, "lacks a privilege; grant it"),
        ("25006", False, "use the primary server"),
        ("42P05", False, "PgBouncer: pool_mode = session"),
        ("26000", False, "PgBouncer: pool_mode = session"),
        ("22003", False, "stays readable"),
    ],
)
def test_errors_of_a_server_are_told_apart(sqlstate: str, again: Any, remedy: str) -> None:
    error = DBAPIError("INSERT", None, Refused(sqlstate))

    assert transient(error) is again
    assert str(explain(error, "postgresql://here/db", 3.0)).startswith(
        "the results database postgresql://here/db cannot be used (the server's own words): "
    )
    assert remedy in str(explain(error, "here", 3.0))


def test_too_many_readings_at_once_are_an_error_that_says_so(
    sqlite_store: Store, samples: "Samples", monkeypatch: pytest.MonkeyPatch
) -> None:
    run = sqlite_store.runs.add(samples.run())
    monkeypatch.setattr(sqlite_store.database.engine.pool, "_timeout", 0.01)
    with ExitStack() as readers:
        for _ in range(15):
            readers.enter_context(sqlite_store.database.once())

        with pytest.raises(InfrastructureError, match=r"all connections to .*results\.sqlite are busy"):
            sqlite_store.runs.get(run.id)

    assert sqlite_store.runs.get(run.id) == run


def test_threads_that_write_at_once_wait_for_each_other_without_sleeping(tmp_path: Path) -> None:
    database = open_database(tmp_path / "mesocosm.db", patience=20.0)
    begun, asked = threading.Event(), threading.Event()
    order: list[str] = []

    def first(connection: Connection) -> None:
        begun.set()
        asked.wait(60)
        order.append("first")

    writing = threading.Thread(target=database.write, args=(first,))
    writing.start()
    begun.wait(60)
    # A writer that waits takes no connection away from readers.
    waiting = threading.Thread(target=database.write, args=(lambda _: order.append("second"),))
    waiting.start()
    pool = database.engine.pool
    assert isinstance(pool, QueuePool)
    assert pool.checkedout() == 1
    asked.set()
    writing.join()
    waiting.join()
    database.close()
    assert order == ["first", "second"]


def test_a_writer_whose_turn_never_comes_says_that_this_process_writes_already(tmp_path: Path) -> None:
    database = open_database(tmp_path / "mesocosm.db", patience=0.05)

    def within(_: Connection) -> None:
        database.write(lambda _: None)

    with pytest.raises(InfrastructureError, match="this process has been writing something else"):
        database.write(within)
    database.write(lambda _: None)
    database.close()
