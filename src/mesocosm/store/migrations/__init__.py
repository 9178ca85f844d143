"""Migrate a database to the newest schema, after a backup of a SQLite file."""

import logging
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, create_mock_engine, inspect, text
from sqlalchemy.engine.mock import MockConnection

from mesocosm.core.failure import InfrastructureError
from mesocosm.store import tenancy  # noqa: F401  # its tables belong to `metadata`
from mesocosm.store.revision import HEAD, VERSION_TABLE
from mesocosm.store.schema import metadata
from mesocosm.store.views import create_views

if TYPE_CHECKING:
    from alembic.config import Config

    from mesocosm.store.database import Database

SCRIPTS = Path(__file__).parent

_log = logging.getLogger(__name__)

_LOCK = 0x6D65736F
"""Key of PostgreSQL's advisory lock: only one process migrates at a time."""


def revision(connection: Connection) -> str | None:
    """Return the schema revision, None for a database without our tables."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608
    return str(found) if found is not None else None


def migrate(database: "Database", path: Path | None = None, *, head: str = HEAD, scripts: Path = SCRIPTS) -> None:
    """Migrate `database` to revision `head`; back up an older SQLite file at `path` next to it first.

    A new database gets the tables of `head` directly. Alembic is imported only to migrate an older schema. Raises
    InfrastructureError for an unknown schema, or one that must be migrated but cannot be written.
    """
    with database.once() as connection:
        before = revision(connection)
    if before == head:
        return
    if before is not None:
        _check_known(database.place, before, configuration(scripts))
    if path is None and not database.postgres:
        raise InfrastructureError(
            f"{database.place} has no up-to-date schema (it has {before or 'none'}, needed is {head}) and cannot be "
            "written; open it once as a user who may write it"
        )
    with database.once(immediate=True) as connection:
        if database.postgres:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        before = revision(connection)
        if before == head:
            return
        if before is None:
            _create(connection, head)
            return
        copy = _back_up(path, before) if path is not None else None
        upgrade(connection, configuration(scripts))
    kept = f"; what it was before is in {copy}" if copy else ""
    _log.info("%s was brought from schema %s to %s%s", database.place, before, head, kept)


def configuration(scripts: Path = SCRIPTS) -> "Config":
    """Return Alembic's configuration for our migrations; there is no alembic.ini."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(scripts).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _create(connection: Connection, head: str) -> None:
    """Create the tables that the code declares; a test checks that all migrations together create the same."""
    if connection.dialect.name == "sqlite":
        for statement in _tables():
            connection.exec_driver_sql(statement)
    else:
        metadata.create_all(connection, checkfirst=False)
    create_views(connection)
    # As Alembic creates it.
    connection.exec_driver_sql(
        f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL, "
        f"CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num))"
    )
    connection.execute(text(f"INSERT INTO {VERSION_TABLE} VALUES (:head)"), {"head": head})  # noqa: S608


@cache
def _tables() -> Sequence[str]:
    """Return the statements that create all tables in a SQLite file: to compile them takes longer than to run them."""
    compiled: list[str] = []
    engine: MockConnection
    engine = create_mock_engine("sqlite://", lambda sql, *_, **__: compiled.append(str(sql.compile(engine))))
    metadata.create_all(engine, checkfirst=False)
    return compiled


def upgrade(connection: Connection, config: "Config") -> None:
    """Run all pending migrations."""
    from alembic import command

    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _check_known(place: str, before: str, config: "Config") -> None:
    from alembic.script import ScriptDirectory

    known = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    if before not in known:
        raise InfrastructureError(
            f"{place} has schema {before}, and this mesocosm knows schemas up to {known[0]}: it was written by a newer "
            "version; upgrade mesocosm, or choose another --results-dir"
        )


def _back_up(path: Path, before: str) -> Path:
    """Copy a SQLite file to a name next to it; return the copy. Raises InfrastructureError."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    target = path.with_name(f"{path.name}.{before}-{stamp}.backup")
    partial = target.with_name(target.name + ".partial")
    # SQLite's backup includes the content of the write-ahead log, and works while the lock is held.
    try:
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(partial)) as copy:
            source.backup(copy)
        partial.rename(target)
    except (sqlite3.Error, OSError) as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise InfrastructureError(
            f"{path} must be migrated from schema {before}, but its backup {target} cannot be written ({error}); "
            "free space or make the directory writable"
        ) from error
    return target
