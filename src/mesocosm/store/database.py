"""SQLite and PostgreSQL behind one interface: opening, transactions, and statements for many rows."""

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import chain
from pathlib import Path
from shlex import quote as quote_word
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import quote

from sqlalchemy import (
    URL,
    ColumnElement,
    Connection,
    Engine,
    Executable,
    RowMapping,
    Select,
    Table,
    create_engine,
    event,
    make_url,
    select,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from mesocosm.core.failure import InfrastructureError, UnknownName, UsageError
from mesocosm.core.ids import APPLICATION_ID
from mesocosm.store.foreign_database import own_file
from mesocosm.store.migrations import migrate
from mesocosm.store.objects import URL_VARIABLE, Objects
from mesocosm.store.revision import DATABASE_NAME

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

PATIENCE = 30.0
"""Seconds to retry on a locked file or an unreachable server."""

SYNCHRONOUS = "FULL"
"""SQLite's `synchronous` setting: commits survive a loss of power."""

_GLANCE_MS = 8
"""Busy timeout of SQLite, in ms. Short, because SQLite sleeps up to 100 ms between tries; we retry in a loop."""

_BLOCK = 512
_PARAMETERS = 32_766 if sqlite3.sqlite_version_info >= (3, 32) else 999
"""Maximum rows and parameters per statement in SQLite."""

BATCH = 500
"""Ids per statement; older SQLite versions allow at most 999 parameters."""

Item = TypeVar("Item")
Result = TypeVar("Result")
Insert: TypeAlias = "sqlite.Insert | postgresql.Insert"
Rows = Sequence[tuple[Any, ...]]


class Database:
    """An engine with our transaction rules.

    `place` names the database in messages, without a password. `objects` stores large content, None to store it in the
    database itself.
    """

    def __init__(self, engine: Engine, place: str, patience: float = PATIENCE) -> None:
        self.engine = engine
        self.place = place
        self.patience = patience
        self.postgres: bool = engine.dialect.name == "postgresql"
        self.written: int = 0
        self.objects: Objects | None = None
        self._turn = None if self.postgres else threading.Lock()
        self._texts: dict[tuple[str, str, int], str] = {}

    def read(self, work: Callable[[Connection], Result]) -> Result:
        """Return the result of `work` in a read transaction; `work` is repeated after a lock or a lost connection.

        Raises InfrastructureError.
        """
        return self._patiently(work)

    def query(self, work: Callable[[Connection], Result]) -> Result:
        """Do as `read` does for `work` of a single statement, which needs no transaction: PostgreSQL is asked once.

        Raises InfrastructureError.
        """
        return self._patiently(work, **({"isolation_level": "AUTOCOMMIT"} if self.postgres else {}))

    def write(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` in one write transaction, commit, and return its result.

        `work` is repeated after a lock or a lost connection, for `patience` seconds. An earlier commit may have
        succeeded unnoticed, so repeating it must lead to the same state. Raises InfrastructureError; IntegrityError is
        passed on for the caller to handle.
        """
        return self._patiently(work, immediate=True)

    def one(self, wanted: Executable) -> RowMapping | None:
        """Return the first row of a query as a mapping by column name, None if there is none."""
        return self.query(lambda connection: connection.execute(wanted).mappings().first())

    def all(self, wanted: Executable) -> Sequence[RowMapping]:
        """Return the rows of a query as mappings by column name."""
        return self.query(lambda connection: connection.execute(wanted).mappings().all())

    def among(self, wanted: Select[Any], column: ColumnElement[Any], values: Collection[Any]) -> Iterator[RowMapping]:
        """Return the rows of a query in which `column` is one of `values`; there may be any number of values."""

        def work(connection: Connection) -> list[RowMapping]:
            some = (wanted.where(column.in_(batch)) for batch in batches(list(values)))
            return [row for query in some for row in connection.execute(query).mappings()]

        return iter(self.read(work))

    def scalar(self, wanted: Executable) -> Any:
        """Return the first column of the first row of a query, None if there is no row."""
        return self.query(lambda connection: connection.scalar(wanted))

    def execute(self, statement: Executable) -> int:
        """Run one statement in a write transaction; return the number of changed rows."""
        return self.write(lambda connection: connection.execute(statement).rowcount)

    def outside(self, digest: str) -> bytes:
        """Return compressed content from the object store.

        Raises UnknownName if it is missing, InfrastructureError if no object store is configured.
        """
        if self.objects is None:
            raise InfrastructureError(
                f"blob {digest} is kept outside of {self.place}; name its object store with --blob-url or "
                f"{URL_VARIABLE}"
            )
        return self.objects.get(digest)

    def _patiently(self, work: Callable[[Connection], Result], **options: Any) -> Result:
        start, pause = time.monotonic(), 0.02
        while True:
            try:
                with self._transaction(**options) as connection:
                    return work(connection)
            except IntegrityError:
                raise
            except DBAPIError as error:
                waited = time.monotonic() - start
                if not transient(error) or waited + pause > self.patience:
                    raise explain(error, self.place, waited) from error
            time.sleep(pause)
            pause = min(2 * pause, 1.0)

    @contextmanager
    def once(self, *, immediate: bool = False) -> Iterator[Connection]:
        """Open a transaction that is never repeated, for streaming in and out. Raises InfrastructureError."""
        if self.postgres:
            # A connection that was lost while nobody used it is noticed now; all such ones are replaced.
            with suppress(DBAPIError), self._transaction(isolation_level="AUTOCOMMIT") as connection:
                connection.scalar(select(1))
        try:
            with self._transaction(immediate=immediate) as connection:
                yield connection
        except DBAPIError as error:
            raise explain(error, self.place, self.patience) from error

    @contextmanager
    def _transaction(self, *, immediate: bool = False, **options: Any) -> Iterator[Connection]:
        with self._turn_to_write() if immediate else nullcontext():
            try:
                opened = self.engine.connect()
            except PoolTimeout as error:
                raise InfrastructureError(
                    f"all connections to {self.place} are busy ({error}); let other readers finish, then try again"
                ) from error
            with opened.execution_options(immediate=immediate, **options) as connection, connection.begin():
                yield connection
        self.written += immediate

    @contextmanager
    def _turn_to_write(self) -> Iterator[None]:
        """Wait until no other thread of this process writes to the SQLite file.

        Raises InfrastructureError after `patience`. Waiting threads get this lock as soon as it is free; in SQLite they
        would keep sleeping.
        """
        if self._turn is None:
            yield
            return
        if not self._turn.acquire(timeout=self.patience):
            raise InfrastructureError(
                f"the results database {self.place} cannot be written: this process has been writing something else "
                f"for {self.patience:.0f} s; wait for that, then try again"
            )
        try:
            yield
        finally:
            self._turn.release()

    def insert(self, table: Table) -> Insert:
        """Return an INSERT of this dialect that supports ON CONFLICT."""
        if not self.postgres:
            return sqlite.insert(table)
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)

    def add(self, connection: Connection, table: Table, rows: Rows, *, known: str = "error") -> None:
        """Insert rows given as tuples in the order of the table's columns.

        `known` says what happens to a row with an existing primary key: `error` (IntegrityError), `keep` the old row,
        or `replace` it. The SQL goes straight to the driver: SQLAlchemy would convert every row to a dictionary and
        back, which costs more than SQLite needs to store it.
        """
        if not rows:
            return
        if self.postgres:
            connection.exec_driver_sql(self._text(table, known), list(rows))
            return
        # SQLite's driver releases the GIL for every row of an executemany, and a busy thread then keeps it for 5 ms:
        # next to a busy event loop a journal would fall far behind. Hence few statements with many rows.
        for block in _blocks(rows, min(_BLOCK, _PARAMETERS // len(table.c))):
            connection.exec_driver_sql(self._text(table, known, len(block)), tuple(chain.from_iterable(block)))

    def _text(self, table: Table, known: str, count: int = 1) -> str:
        text = self._texts.get((table.name, known, count))
        if text is None:
            statement = self.insert(table)
            keys = [column.name for column in table.primary_key]
            if known == "keep":
                statement = statement.on_conflict_do_nothing()
            elif known == "replace":
                new = {name: statement.excluded[name] for name in table.c.keys() if name not in keys}  # noqa: SIM118
                statement = statement.on_conflict_do_update(index_elements=keys, set_=new)
            compiled = statement.compile(dialect=self.engine.dialect, column_keys=table.c.keys())
            if list(getattr(compiled, "positiontup", None) or ()) != list(table.c.keys()):
                raise AssertionError(f"parameters of {table.name} are not in the order of its columns")
            one = f"({', '.join('?' * len(table.c))})"
            text = self._texts[table.name, known, count] = str(compiled).replace(one, ", ".join([one] * count))
        return text

    def close(self) -> None:
        """Close all connections; closing the last one of a SQLite file checkpoints its write-ahead log."""
        self.engine.dispose()


def batches(items: Sequence[Item], size: int = BATCH) -> Iterator[Sequence[Item]]:
    """Yield `items` in slices of at most `size`."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _blocks(rows: Rows, most: int) -> Iterator[Rows]:
    """Yield `rows` in blocks with power-of-two lengths, so that ten prepared statements serve any number of rows."""
    start = 0
    while start < len(rows):
        length = 1 << min(len(rows) - start, most).bit_length() - 1
        yield rows[start : start + length]
        start += length


def open_database(place: str | os.PathLike[str], *, create: bool = True, patience: float = PATIENCE) -> Database:
    """Open a SQLite file (or the one inside a results directory) or a PostgreSQL URL, and migrate its schema.

    A path that does not exist is a file if its name has a suffix, else a directory. A file that this user cannot write
    is opened read-only. Raises UnknownName if nothing exists and `create` is False, UsageError for another kind of URL
    or a missing driver, InfrastructureError with the remedy otherwise.
    """
    text = os.fspath(place)
    if "://" not in text:
        return _open_file(Path(text), create=create, patience=patience)
    try:
        url = make_url(text.replace("postgres://", "postgresql://", 1))
    except ArgumentError as error:
        raise UsageError(f"{text!r} is no database URL; write postgresql://user:password@host/database") from error
    kind = url.get_backend_name()
    if kind == "sqlite" and url.database and url.database != ":memory:":
        return _open_file(Path(url.database), create=create, patience=patience)
    if kind != "postgresql":
        raise UsageError(f"results cannot be kept in {kind!r}; give a file or postgresql://user:password@host/database")
    return _open_server(url.set(drivername="postgresql+psycopg"), patience)


def _open_file(path: Path, *, create: bool, patience: float) -> Database:
    if path.is_dir() or not (path.exists() or path.suffix):
        path = path / DATABASE_NAME
    given, path = path, own_file(path)
    if not path.exists() and not create:
        if path != given:
            raise UnknownName(
                f"{given} belongs to the elizaOS orchestrator, and no run of mesocosm is in {given.parent} yet; "
                f"take its runs over with: mesocosm import {quote_word(str(given))} --results-dir "
                f"{quote_word(str(given.parent))}"
            )
        raise UnknownName(f"there are no results at {path}; run something first, or name the place with --results-dir")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InfrastructureError(
            f"the results directory {path.parent} cannot be made ({error.strerror}); "
            "choose one that you may write with --results-dir"
        ) from error
    writable = os.access(path if path.exists() else path.parent, os.W_OK) and os.access(path.parent, os.W_OK)
    if not path.exists() and not writable:
        raise InfrastructureError(
            f"the results directory {path.parent} cannot be written; choose another with --results-dir"
        )
    database = Database(sqlite_engine(path, writable=writable, patience=patience), str(path), patience)
    return _ready(database, path if writable else None)


def sqlite_engine(path: Path, *, writable: bool = True, patience: float = PATIENCE) -> Engine:
    """Return an engine for a SQLite file with our settings on every connection."""
    query = {"uri": "true", "mode": "rwc" if writable else "ro"}
    if not writable and not Path(f"{path}-wal").exists():
        # Without a write-ahead log there is no writer, and SQLite must not try to create one in a read-only place.
        query["immutable"] = "1"
    url = URL.create("sqlite", database=f"file:{quote(str(path.absolute()))}", query=query)
    # Without an isolation level the driver leaves BEGIN to us, so that a writer takes the lock at its start.
    engine = create_engine(url, connect_args={"timeout": patience, "isolation_level": None})

    @event.listens_for(engine, "connect")
    def set_up(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
        connection.execute("PRAGMA temp_store = MEMORY")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("immediate", False):
            _take_lock(connection, patience)
        else:
            connection.exec_driver_sql("BEGIN")

    return engine


def _take_lock(connection: Connection, patience: float) -> None:
    """Begin a write transaction once other processes have released the lock."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    end = time.monotonic() + patience
    driver.execute(f"PRAGMA busy_timeout = {min(_GLANCE_MS, round(patience * 1000))}")
    try:
        while True:
            try:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            except DBAPIError as error:
                if not transient(error) or time.monotonic() > end:
                    raise
            else:
                return
    finally:
        driver.execute(f"PRAGMA busy_timeout = {round(patience * 1000)}")


def _open_server(url: URL, patience: float) -> Database:
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise UsageError("PostgreSQL needs a driver; install it with: pip install 'mesocosm[postgres]'") from error
    # It warns of what it raises as well, in the middle of a command's output; what is raised is tried again, or told.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
    defaults = {"connect_timeout": 10, "application_name": "mesocosm", "keepalives_idle": 15, "tcp_user_timeout": 30000}
    missing = {name: value for name, value in defaults.items() if name not in url.query}
    # Positional parameters, as in SQLite: rows are tuples in both dialects.
    engine = create_engine(url, connect_args=missing, paramstyle="format")
    return _ready(Database(engine, url.render_as_string(hide_password=True), patience), None)


def _ready(database: Database, path: Path | None) -> Database:
    try:
        with database.once() as connection:
            wal = database.postgres or connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        if path is not None and not wal:
            _use_wal(database)
        migrate(database, path)
    except BaseException:
        database.close()
        raise
    return database


def _use_wal(database: Database) -> None:
    # The journal mode can only change outside a transaction, and two processes may create the file concurrently.
    start = time.monotonic()
    while True:
        connection = database.engine.raw_connection()
        try:
            # Set before the log exists, so that the id is in the file itself from the start.
            connection.cursor().execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.cursor().execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if time.monotonic() - start > database.patience:
                raise InfrastructureError(f"the results database {database.place} stays locked: {error}") from error
            time.sleep(0.05)
        else:
            return
        finally:
            connection.close()


_SQLITE_BUSY = {5, 6, 15}
"""SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL."""

_SQLITE_REMEDIES = {
    8: "it is read-only; give this user the right to write the file and its directory, or choose another --results-dir",
    10: "the disk reports an error or a size limit; free space or choose another --results-dir",
    11: "it is damaged; restore a backup, or save what `sqlite3 FILE .recover` still reads",
    13: "the disk is full; free space, then resume: everything committed before is kept",
    14: "it cannot be opened; check that the directory exists and that this user may write there",
    26: "it is no SQLite database; move it away or choose another --results-dir",
}

_POSTGRES_TRANSIENT = {"40001", "40P01", "53300", "55P03", "57P01", "57P02", "57P03"}
"""Serialisation failure, deadlock, too many connections, lock timeout, and three kinds of shutdown."""

_POOLED = (
    "a pooler that shares connections between transactions is in between; use its session mode (PgBouncer: pool_mode = "
    "session), or the address of PostgreSQL itself"
)
_POSTGRES_REMEDIES = {
    # Prepared statements belong to a connection of the server.
    "26000": _POOLED,
    "42P05": _POOLED,
    "25006": "the server is read-only; use the primary server's URL",
    "42501": "this database user lacks a privilege; grant it, or use another user in the URL",
    "53100": "the server's disk is full; free space, then resume: everything committed before is kept",
}


def _sqlite_code(error: DBAPIError) -> int | None:
    code = getattr(error.orig, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None


def _sqlstate(error: DBAPIError) -> str | None:
    state = getattr(error.orig, "sqlstate", None)
    return state if isinstance(state, str) else None


def transient(error: DBAPIError) -> bool:
    """Return whether repeating the transaction may succeed: there was a lock, or the server went away."""
    code = _sqlite_code(error)
    if code is not None:
        return code in _SQLITE_BUSY
    if error.connection_invalidated:
        return True
    state = _sqlstate(error)
    if state is None:
        return type(error.orig).__module__.startswith("psycopg") and type(error.orig).__name__ == "OperationalError"
    return state in _POSTGRES_TRANSIENT or state.startswith("08")


def explain(error: DBAPIError, place: str, waited: float) -> InfrastructureError:
    """Return the error to show to the user: what happened, in which database, and the remedy."""
    words = str(error.orig).strip().splitlines() or [type(error.orig).__name__]
    code, state = _sqlite_code(error), _sqlstate(error)
    if code in _SQLITE_BUSY:
        remedy = f"another process kept it locked for {waited:.0f} s; end that process or wait for it, then try again"
    elif code in _SQLITE_REMEDIES:
        remedy = _SQLITE_REMEDIES[code]
    elif state in _POSTGRES_REMEDIES:
        remedy = _POSTGRES_REMEDIES[state]
    elif transient(error):
        remedy = "the server cannot be reached; check that it runs and that host, port, user and database are right"
    else:
        remedy = "what was committed before stays readable; see --debug for the statement"
    return InfrastructureError(f"the results database {place} cannot be used ({words[0]}): {remedy}")
