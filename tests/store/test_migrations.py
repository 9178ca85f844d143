"""Every schema that was ever released opens, with its content; the migrations build what the code declares."""

import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import Boundary, Cause, Failure, InfrastructureError
from mesocosm.core.ids import new_id
from mesocosm.core.ports import Blob
from mesocosm.core.run import Counts
from mesocosm.core.score import Score
from mesocosm.core.usage import Usage
from mesocosm.store import SqlStore, open_store
from mesocosm.store.database import Database, sqlite_engine
from mesocosm.store.migrations import SCRIPTS, configuration, migrate, revision
from mesocosm.store.schema import HEAD, VERSION_TABLE, metadata

RELEASED = Path(__file__).parent / "released"
REVISIONS = ("0001", "0002")
RUN = "019a0000-0000-7000-8000-000000000001"

NEXT = '''
"""A later version."""
import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = "{head}"

def upgrade():
    op.add_column("runs", sa.Column("colour", sa.Text))
    {then}
'''


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def unused(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the place of a database without any table, on each dialect in turn."""
    if request.param == "sqlite":
        yield str(tmp_path / "results.sqlite")
        return
    url: str = request.getfixturevalue("postgres_schema").split("?")[0]
    name = f"test_{new_id().replace('-', '')}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
        yield f"{url}?options={quote(f'-csearch_path={name}')}"
        connection.execute(f"DROP SCHEMA {name} CASCADE".encode())


def load(place: str, version: str) -> None:
    """Put a database of an earlier version, written when it was released, into an unused place."""
    if "://" not in place:
        with closing(sqlite3.connect(place)) as file:
            file.executescript((RELEASED / f"{version}.sqlite.sql").read_text())
        return
    schema = place.rpartition("%3D")[2]
    script = (RELEASED / f"{version}.postgresql.sql").read_text().replace("released.", f"{schema}.")
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute(script.encode())


def structure(connection: Connection) -> set[Any]:
    """Return everything that the database itself knows of tables and indexes, apart from the revision."""
    if connection.dialect.name == "sqlite":
        found = connection.execute(text("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
        return {(name, frozenset(re.split(r",?\s*\n\s*|, |[()]", sql))) for name, sql in found if name != VERSION_TABLE}
    columns = "table_name, column_name, data_type, is_nullable, collation_name, character_maximum_length"
    short = "regexp_replace({}, '\\w+\\.', '', 'g')".format
    constraints = f"SELECT conrelid::regclass::text, conname, {short('pg_get_constraintdef(oid)')} FROM pg_constraint"
    queries = (
        f"SELECT {columns} FROM information_schema.columns WHERE table_schema = current_schema()",
        f"SELECT tablename, {short('indexdef')} FROM pg_indexes WHERE schemaname = current_schema()",
        f"{constraints} WHERE connamespace = current_schema()::regnamespace",
    )
    rows = [tuple(row) for query in queries for row in connection.execute(text(query))]
    return {row for row in rows if VERSION_TABLE not in str(row)}


def test_the_newest_migration_is_the_one_that_opening_expects() -> None:
    scripts = ScriptDirectory.from_config(configuration())

    assert scripts.get_heads() == [HEAD]
    assert {script.revision for script in scripts.walk_revisions()} == set(REVISIONS)


def test_migrations_build_what_the_code_declares(unused: str) -> None:
    open_store(unused).close()
    database = open_store(unused)._database

    with database.once() as connection:
        options = {"version_table": VERSION_TABLE, "compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []
        migrated = structure(connection)
    with database.once(immediate=True) as connection:
        metadata.drop_all(connection)
        metadata.create_all(connection)
        assert structure(connection) == migrated
    assert len(migrated) > 20
    database.close()


def check_content(store: SqlStore) -> None:
    """Compare the store with what the released databases hold."""
    run = store.get_run(RUN)
    assert (run.name, run.counts, run.tags) == ("first release", Counts(2, completed=1, failed=1), ("a", "ü"))
    assert run.usage == Usage(110, 12, 3, 1, None, 2)
    assert run.primary is not None
    assert run.primary.missing == {"rate_limited": 1}
    first, second = store.episodes(RUN).items
    assert (first.seed, first.status, first.total_reward) == (2**63 + 1, EpisodeStatus.COMPLETED, 1.0)
    assert first.scores == (Score("accuracy", 1.0, explanation="right"),)
    assert second.failure == Failure(Cause.RATE_LIMITED, Boundary.MODEL, "too many requests", "429", "stderr")
    assert [event.payload for event in store.events_of_step(first.id, 1)] == [{"text": "line 2"}, {"text": "line 3"}]
    (artifact,) = store.artifacts(RUN)
    assert store.get(artifact.digest) == Blob(artifact.digest, "text/plain", b"a large observation")


@pytest.mark.parametrize("version", REVISIONS)
def test_a_database_of_every_released_version_opens_with_its_content(unused: str, version: str) -> None:
    load(unused, version)

    store = open_store(unused)

    check_content(store)
    with store._database.once() as connection:
        assert revision(connection) == HEAD
        migrated = structure(connection)
    with store._database.once(immediate=True) as connection:
        metadata.drop_all(connection)
        metadata.create_all(connection)
        assert structure(connection) == migrated
    store.close()


@pytest.fixture
def later(tmp_path: Path) -> Callable[[str], Path]:
    """Return what makes migrations that go one version further than ours."""

    def scripts(then: str = "pass") -> Path:
        place = Path(shutil.copytree(SCRIPTS, tmp_path / "later"))
        (place / "versions" / "9999_next.py").write_text(NEXT.format(head=HEAD, then=then))
        return place

    return scripts


def open_later(path: Path, scripts: Path) -> None:
    database = Database(sqlite_engine(path), str(path))
    try:
        migrate(database, path, head="9999", scripts=scripts)
    finally:
        database.close()


def test_an_older_file_is_backed_up_and_migrated(tmp_path: Path, later: Callable[[str], Path]) -> None:
    path = tmp_path / "results.sqlite"
    load(str(path), "0001")

    open_later(path, later("pass"))

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name, colour FROM runs").fetchall() == [("first release", None)]
    (backup,) = tmp_path.glob("results.sqlite.0001-*.backup")
    store = open_store(backup)
    check_content(store)
    store.close()


def test_a_file_in_use_is_backed_up_with_what_is_only_in_its_log(tmp_path: Path, later: Callable[[str], Path]) -> None:
    path = tmp_path / "results.sqlite"
    load(str(path), "0001")
    user = open_store(path)
    user.set_tags(RUN, ["fresh"])

    open_later(path, later("pass"))

    user.close()
    (backup,) = tmp_path.glob(f"results.sqlite.{HEAD}-*.backup")
    store = open_store(backup)
    assert store.get_run(RUN).tags == ("fresh",)
    store.close()


def test_a_migration_that_fails_changes_nothing(tmp_path: Path, later: Callable[[str], Path]) -> None:
    path = tmp_path / "results.sqlite"
    load(str(path), "0001")

    with pytest.raises(InfrastructureError, match=r"results\.sqlite cannot be used .*no such table"):
        open_later(path, later('op.execute("DELETE FROM nowhere")'))

    store = open_store(path)
    check_content(store)
    store.close()


def test_without_room_for_a_backup_nothing_is_migrated(
    tmp_path: Path, later: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "results.sqlite"
    load(str(path), "0001")
    monkeypatch.setattr("mesocosm.store.migrations.time.strftime", lambda *_: "now")
    blocked = tmp_path / "results.sqlite.0001-now.backup.partial"
    blocked.mkdir()

    with pytest.raises(InfrastructureError, match=r"its backup .* cannot be written .*free space"):
        open_later(path, later("pass"))

    blocked.rmdir()
    store = open_store(path)
    check_content(store)
    store.close()


def test_a_database_of_a_newer_version_is_refused_and_left_alone(unused: str) -> None:
    store = open_store(unused)
    newer = text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    store._database.write(lambda connection: connection.execute(newer).rowcount)
    store.close()

    with pytest.raises(InfrastructureError, match=f"schema 9999, .* up to {HEAD}: .*newer.*upgrade mesocosm"):
        open_store(unused)


def test_tables_of_another_program_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE runs (a)")

    with pytest.raises(InfrastructureError, match=r"other\.sqlite cannot be used .*table runs already exists"):
        open_store(path)

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("runs",)]


def test_opening_an_up_to_date_store_does_not_load_the_migrations(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    open_store(path).close()
    program = (
        "import sys; from mesocosm.store import open_store; open_store(sys.argv[1]); print('alembic' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
