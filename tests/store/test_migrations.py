"""Every schema that was ever released opens, with its content; the migrations build what the code declares."""

import json
import logging
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, func, select, text

from mesocosm.core.entry import Blob
from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import Boundary, Cause, Failure, InfrastructureError
from mesocosm.core.ids import new_id
from mesocosm.core.run import Counts, RunStatus
from mesocosm.core.score import Score
from mesocosm.core.usage import Usage
from mesocosm.store import Store, open_store
from mesocosm.store.database import Database, sqlite_engine
from mesocosm.store.migrations import SCRIPTS, configuration, migrate, revision, upgrade
from mesocosm.store.revision import HEAD, VERSION_TABLE
from mesocosm.store.schema import metadata
from mesocosm.store.tenancy import TABLES
from mesocosm.store.views import VIEWS, drop_views

RELEASED = Path(__file__).parent / "released"
REVISIONS = (
    *("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010", "0011", "0012"),
    *("0014", "0015", "0016", "0017"),
)
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
        found = connection.execute(text("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND type <> 'view'"))
        # A table that was renamed stands in quotes.
        bare = {name: sql.replace('"', "") for name, sql in found if name != VERSION_TABLE}
        return {(name, frozenset(re.split(r",?\s*\n\s*|, |[()]", sql))) for name, sql in bare.items()}
    columns = "table_name, column_name, data_type, is_nullable, collation_name, character_maximum_length"
    own = "table_name IN (SELECT tablename FROM pg_tables WHERE schemaname = current_schema())"
    short = "regexp_replace({}, '\\w+\\.', '', 'g')".format
    constraints = f"SELECT conrelid::regclass::text, conname, {short('pg_get_constraintdef(oid)')} FROM pg_constraint"
    queries = (
        f"SELECT {columns} FROM information_schema.columns WHERE table_schema = current_schema() AND {own}",
        f"SELECT tablename, {short('indexdef')} FROM pg_indexes WHERE schemaname = current_schema()",
        f"{constraints} WHERE connamespace = current_schema()::regnamespace",
    )
    rows = [tuple(row) for query in queries for row in connection.execute(text(query))]
    return {row for row in rows if VERSION_TABLE not in str(row)}


def view_texts(connection: Connection) -> set[tuple[Any, ...]]:
    """Return names and texts of the views."""
    ours = "SELECT viewname, definition FROM pg_views WHERE schemaname = current_schema()"
    found = (
        ours if connection.dialect.name == "postgresql" else "SELECT name, sql FROM sqlite_master WHERE type = 'view'"
    )
    return {tuple(row) for row in connection.execute(text(found))}


def test_the_newest_migration_is_the_one_that_opening_expects() -> None:
    scripts = ScriptDirectory.from_config(configuration())

    assert scripts.get_heads() == [HEAD]
    assert {script.revision for script in scripts.walk_revisions()} == set(REVISIONS)


def test_migrations_build_what_a_new_database_gets(unused: str) -> None:
    database = open_store(unused).database
    with database.once(immediate=True) as connection:
        created = structure(connection)
        views = view_texts(connection)
        drop_views(connection)
        metadata.drop_all(connection)
        connection.execute(text(f"DROP TABLE {VERSION_TABLE}"))
        upgrade(connection, configuration())

    with database.once() as connection:
        options = {"version_table": VERSION_TABLE, "compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []
        assert revision(connection) == HEAD
        assert view_texts(connection) == views
        assert structure(connection) == created
    assert len(created) > 20
    assert len(views) == len(VIEWS)
    assert {table.name for table in TABLES} <= set(metadata.tables)
    database.close()


def check_content(store: Store) -> None:
    """Compare the store with what the released databases hold."""
    run = store.runs.get(RUN)
    assert (run.name, run.counts, run.tags) == ("first release", Counts(2, 1, failed=1, passed=1, errors=1), ("a", "ü"))
    assert run.usage == Usage(110, 12, 3, 1, None, 2)
    assert run.primary is not None
    assert run.primary.missing == {"rate_limited": 1}
    first, second = store.episodes.list(RUN).items
    assert (first.seed, first.status, first.total_reward) == (2**63 + 1, EpisodeStatus.COMPLETED, 1.0)
    assert first.scores == (Score("accuracy", 1.0, explanation="right"),)
    assert second.failure == Failure(Cause.RATE_LIMITED, Boundary.MODEL, "too many requests", "429", "stderr")
    assert [event.payload for event in store.traces.events(first.id) if event.step == 1] == [
        {"text": "line 2"},
        {"text": "line 3"},
    ]
    (artifact,) = store.artifacts.of_run(RUN)
    assert store.blobs.get(artifact.digest) == Blob(artifact.digest, "text/plain", b"a large observation")


WORKSPACES = {
    "workspaces",
    "workspace_members",
    "datasets",
    "dataset_versions",
    "dataset_parts",
    "dataset_additions",
    "workspace_secrets",
} | {
    *("repositories", "snapshots", "snapshot_blobs", "syncs", "run_output"),
    *("snapshot_uploads", "snapshot_upload_blobs"),
    *("schedules", "scheduled_runs", "notifications", "notification_deliveries", "unannounced_runs"),
    *("commit_statuses", "device_logins", "seats", "seat_messages"),
    *("search_pending", "search_blocks", "search_pages"),
}


@pytest.mark.parametrize(
    ("version", "later"), [("0006", {"protocols", "deleted_runs"} | WORKSPACES), ("0007", WORKSPACES)]
)
def test_what_a_platform_had_in_a_release_is_there(unused: str, version: str, later: set[str]) -> None:
    load(unused, version)

    store = open_store(unused)

    with store.database.once() as connection:
        counts = {table.name: connection.scalar(select(func.count()).select_from(table)) for table in TABLES}
    assert counts == {name: int(name not in later) for name in counts}
    order = store.run_requests.get(RUN)
    assert order is not None
    assert (order.visibility, order.actor, order.config["num_episodes"]) == ("gallery_public", "user:1", 2)
    assert store.users.add("Grace").id == 2
    store.close()


def test_models_that_were_saved_views_of_the_server_move_to_their_table(unused: str) -> None:
    store = open_store(unused)
    entry = '{"name": "house/tiny", "title": "Klein, ü", "served_as": ""}'
    views = [
        ("system:models", "house/tiny", f'{{"entry": {entry}, "sealed": "v1.key.text"}}'),
        ("system:models", "house/later", "of a form that nobody knows"),
        ("user:1", "mine", "?q=entry"),
    ]
    with store.database.once(immediate=True) as connection:
        connection.execute(text("DROP TABLE models"))
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '0016'"))
        for place, (owner, name, search) in enumerate(views):
            given = {"owner": owner, "name": name, "search": search, "at": float(place)}
            connection.execute(text("INSERT INTO saved_views VALUES (:owner, :name, :search, :at)"), given)
    store.close()

    store = open_store(unused)

    assert [(one.name, json.loads(one.entry), one.sealed) for one in store.models.list()] == [
        ("house/tiny", json.loads(entry), "v1.key.text")
    ]
    assert rows(store, "owner, name, search", "saved_views", "created_at") == views[1:]
    store.close()


def test_checksums_of_release_0007_are_those_of_today(unused: str) -> None:
    load(unused, "0007")

    store = open_store(unused)

    verified = store.verification.check_run(RUN)
    assert (verified.finished, verified.covered, verified.damages) == (2, 2, ())
    assert store.runs.get(RUN).chain.startswith("2:")
    store.close()


@pytest.mark.parametrize("version", sorted({dump.name[:4] for dump in RELEASED.glob("*.sql")}))
def test_a_database_of_every_released_version_opens_with_its_content(unused: str, version: str) -> None:
    load(unused, version)

    store = open_store(unused)

    check_content(store)
    with store.database.once() as connection:
        assert revision(connection) == HEAD
        migrated = structure(connection)
    with store.database.once(immediate=True) as connection:
        drop_views(connection)
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


def test_an_older_file_is_backed_up_and_migrated(
    tmp_path: Path, later: Callable[[str], Path], caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "results.sqlite"
    load(str(path), "0001")
    caplog.set_level(logging.INFO, "mesocosm.store.migrations")

    open_later(path, later("pass"))

    (said,) = [record.getMessage() for record in caplog.records if record.name == "mesocosm.store.migrations"]
    assert said.startswith(f"{path} was brought from schema 0001 to 9999; what it was before is in {path}.0001-")
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
    user.runs.set_tags(RUN, ["fresh"])

    open_later(path, later("pass"))

    user.close()
    (backup,) = tmp_path.glob(f"results.sqlite.{HEAD}-*.backup")
    store = open_store(backup)
    assert store.runs.get(RUN).tags == ("fresh",)
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
    store.database.write(lambda connection: connection.execute(newer).rowcount)
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


def test_a_new_store_and_an_up_to_date_one_load_neither_the_migrations_nor_another_dialect(tmp_path: Path) -> None:
    program = """
import sys
from mesocosm.store.database import open_database
for _ in range(2):
    open_database(sys.argv[1]).close()
print("alembic" in sys.modules, "sqlalchemy.dialects.postgresql" in sys.modules)
"""
    path = tmp_path / "results.sqlite"

    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)

    assert done.stdout == "False False\n"
    with closing(sqlite3.connect(path)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables == {*metadata.tables, VERSION_TABLE}


def add_run(connection: Connection, run_id: str, **changed: Any) -> None:
    """Put another run beside the one of release 0001, like it but for what is said to be different."""
    connection.execute(text("CREATE TEMPORARY TABLE another AS SELECT * FROM runs WHERE id = :id"), {"id": RUN})
    for name, value in {"id": run_id, **changed}.items():
        connection.execute(text(f"UPDATE another SET {name} = :value"), {"value": value})
    connection.execute(text("INSERT INTO runs SELECT * FROM another"))
    connection.execute(text("DROP TABLE another"))


def add_episode(connection: Connection, run_id: str, position: int, status: str = "completed", **scored: Any) -> None:
    """Give a run an episode with scores by name: (value, whether it is the worst)."""
    one = f"SELECT * FROM episodes WHERE run_id = '{RUN}' AND position = 0"
    connection.execute(text(f"CREATE TEMPORARY TABLE another AS {one}"))
    new = {"id": f"{run_id}-{position}", "run_id": run_id, "position": position, "trial": position, "status": status}
    for name, value in new.items():
        connection.execute(text(f"UPDATE another SET {name} = :value"), {"value": value})
    connection.execute(text("INSERT INTO episodes SELECT * FROM another"))
    connection.execute(text("DROP TABLE another"))
    score = text("INSERT INTO scores VALUES (:episode, :name, :run, :value, :missing, :worst, '')")
    for name, (value, worst) in scored.items():
        missing = "timeout" if value is None else None
        given = {"episode": new["id"], "name": name, "run": run_id, "value": value, "missing": missing, "worst": worst}
        connection.execute(score, given)


@contextmanager
def written(place: str) -> Iterator[Connection]:
    """Write into a database without opening it as a store, which would migrate it."""
    bare = place.replace("postgresql:", "postgresql+psycopg:") if "://" in place else f"sqlite:///{place}"
    engine = create_engine(bare)
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def rows(store: Store, columns: str, table: str, order: str) -> list[tuple[Any, ...]]:
    """Return some columns of all rows of a table."""
    with store.database.once() as connection:
        found = connection.execute(text(f"SELECT {columns} FROM {table} ORDER BY {order}"))
        return [tuple(row) for row in found]


def test_runs_of_release_0001_get_lines_and_a_direction(unused: str) -> None:
    load(unused, "0001")
    with written(unused) as connection:
        connection.execute(text("UPDATE runs SET metrics = replace(metrics, 'rate_limited', 'agent_failure')"))
        lower = '[{"name":"strokes","aggregation":"mean","value":4.0,"higher_is_better":false,"primary":true}]'
        add_run(connection, "run-2", score=0.25, tags="[]", name="Second")
        add_run(connection, "run-3", score=4.0, benchmark="golf", metrics=lower)
        add_run(connection, "run-4", score=2.5, benchmark="golf", metrics=lower, cost_unknown=0, ended_at=None)
        add_run(connection, "run-5", score=None, benchmark="golf", metrics="[]")

    store = open_store(unused)

    better = [
        (row[0], None if row[1] is None else bool(row[1])) for row in rows(store, "id, higher_is_better", "runs", "id")
    ]
    assert better == [(RUN, True), ("run-2", True), ("run-3", False), ("run-4", False), ("run-5", None)]
    assert rows(store, "run_id, score", "run_lines", "run_id") == [
        (RUN, 1.0),
        ("run-2", 0.25),
        ("run-3", 4.0),
        ("run-4", 2.5),
        ("run-5", None),
    ]
    assert rows(store, "name, cost, tokens, duration", "run_lines", "run_id")[:4] == [
        ("first release", None, 122, 8.5),
        ("second", None, 122, 8.5),
        ("first release", None, 122, 8.5),
        ("first release", 0.5, 122, None),
    ]
    assert rows(store, "tag, run_id", "run_tags", "run_id, tag")[:2] == [("a", RUN), ("ü", RUN)]
    assert "run-2" not in [run_id for _tag, run_id in rows(store, "tag, run_id", "run_tags", "run_id, tag")]
    store.close()


@pytest.mark.parametrize("version", ["0001", "0006"])
def test_a_finished_run_of_before_that_lacks_too_much_is_partial_and_ranks_nowhere(unused: str, version: str) -> None:
    load(unused, version)
    whole = '[{"name":"accuracy","value":0.25,"n_planned":100,"missing":{"rate_limited":2},"primary":true}]'
    with written(unused) as connection:
        copied = "run-2" if version == "0001" else ""
        if copied:
            add_run(connection, copied, score=0.25, metrics=whole)

    store = open_store(unused)

    run = store.runs.get(RUN)
    assert (run.status, run.error) == (RunStatus.PARTIAL, "1 of 2 planned episodes has no value, more than 2 %")
    assert rows(store, "run_id, status", "run_lines", "run_id")[0] == (RUN, "partial")
    if not copied:
        assert rows(store, "status", "outcomes", "position")[0] == ("partial",)
        assert rows(store, "cohort_status", "run_groups", "run_group_id")[0] == ("partial",)
    store.close()


def test_episodes_of_release_0001_get_their_score_and_outcome(unused: str) -> None:
    load(unused, "0001")
    with written(unused) as connection:
        add_run(connection, "run-2")
        add_episode(connection, "run-2", 0, accuracy=(0.5, False), other=(9.0, False))
        add_episode(connection, "run-2", 1, accuracy=(None, True))
        add_episode(connection, "run-2", 2, accuracy=(None, False))
        add_episode(connection, "run-2", 3)
        add_episode(connection, "run-2", 4, "running", accuracy=(0.5, False))
        add_run(connection, "run-3", metrics="[]", score=None)
        add_episode(connection, "run-3", 0, only=(0.75, False))
        add_episode(connection, "run-3", 1, one=(0.25, False), two=(0.5, False))
        declared = '{"metrics":[{"name":"rate","score":"two","primary":true}]}'
        add_run(connection, "run-4", metrics="[]", score=None, info=declared)
        add_episode(connection, "run-4", 0, one=(0.25, False), two=(0.5, False))

    store = open_store(unused)

    assert rows(store, "run_id, position, score, outcome", "episodes", "run_id, position") == [
        (RUN, 0, 1.0, "scored"),
        (RUN, 1, None, "missing"),
        ("run-2", 0, 0.5, "scored"),
        ("run-2", 1, None, "worst"),
        ("run-2", 2, None, "missing"),
        ("run-2", 3, None, "missing"),
        ("run-2", 4, None, None),
        ("run-3", 0, 0.75, "scored"),
        ("run-3", 1, None, None),
        ("run-4", 0, 0.5, "scored"),
    ]
    assert rows(store, "tokens, duration", "episodes", "run_id, position")[:2] == [(110, 3.0), (12, 3.0)]
    store.close()
