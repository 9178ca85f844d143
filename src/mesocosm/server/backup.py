"""Back up a server into a folder while it is running, and restore it."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import make_url, select

from mesocosm import __version__
from mesocosm.core.failure import InfrastructureError, UsageError
from mesocosm.server.key_ring import FILE_NAME
from mesocosm.store.database import Database
from mesocosm.store.objects import open_objects
from mesocosm.store.revision import DATABASE_NAME
from mesocosm.store.schema import blobs

if TYPE_CHECKING:
    from mesocosm.server.service import Service
    from mesocosm.server.settings import Settings

NOTE = "backup.json"
SQLITE, POSTGRES = "database.sqlite", "database.dump"
_BATCH = 1_000


class Backup(msgspec.Struct, frozen=True):
    """Content of a backup: database file, time (UTC), version of mesocosm, number of objects, environments or not.

    `secrets_key` says where the key of its secrets was, which is in no backup; empty if it has no secrets.
    """

    database: str
    taken_at: str
    version: str
    objects: int = 0
    environments: bool = False
    secrets_key: str = ""


def back_up(service: "Service", folder: Path, *, objects: bool = False, environments: bool = False) -> Backup:
    """Write a consistent copy of the database into a new folder, readable by this user only: it contains token keys.

    The key of the secrets of workspaces is left out, so that a stolen backup does not reveal them.

    `objects` adds the content of the object store. `environments` adds the built environments, which are otherwise
    fetched and installed again when needed. Raises UsageError if the folder is not empty or a PostgreSQL program is
    missing, InfrastructureError if a file cannot be read or written.
    """
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; name a new folder for each backup")
    there = folder.exists()
    try:
        return _write(service, folder, objects=objects, environments=environments)
    except BaseException:
        # An incomplete backup is useless, and would block the next one.
        shutil.rmtree(folder, ignore_errors=True)
        if there:
            folder.mkdir(exist_ok=True)
        raise


def _write(service: "Service", folder: Path, *, objects: bool, environments: bool) -> Backup:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        database = service.store.database
        name = _dump(service, folder / POSTGRES) if database.postgres else _copy(database, folder / SQLITE)
        # Copy the database first: the objects that it refers to exist already.
        count = _fetch(database, folder / "blobs") if objects else 0
        built = service.settings.data_dir / "environments"
        if environments and built.is_dir():
            shutil.copytree(built, folder / "environments", symlinks=True)
        key = _key_place(service.settings) if service.store.workspace_secrets.exist() else ""
        taken = Backup(name, datetime.now(UTC).isoformat(timespec="seconds"), __version__, count, environments, key)
        (folder / NOTE).write_bytes(msgspec.json.format(msgspec.json.encode(taken), indent=2))
    except OSError as error:
        raise InfrastructureError(f"the backup cannot be written to {folder} ({error.strerror or error})") from error
    return taken


def restore(settings: "Settings", folder: Path) -> Backup:
    """Restore a backup into a data directory without a database or into an empty PostgreSQL database.

    Raises UsageError if the folder contains no backup, one of the other kind of database, or the data directory has a
    database already; InfrastructureError if it cannot be written.
    """
    try:
        taken = msgspec.json.decode((folder / NOTE).read_bytes(), type=Backup)
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{folder} holds no backup: {NOTE} cannot be read ({error})") from error
    postgres = settings.database_url.startswith("postgres")
    if postgres != (taken.database == POSTGRES):
        kind = "PostgreSQL, so name an empty database with --database-url" if not postgres else "SQLite"
        raise UsageError(f"the backup in {folder} is one of {kind}")
    try:
        if postgres:
            words = ["pg_restore", "--exit-on-error", "--no-owner", "--dbname"]
            _program(words, settings.database_url, folder / POSTGRES)
        else:
            _bring_back(folder / SQLITE, settings.data_dir / DATABASE_NAME)
        _put_back(settings.blob_url, folder / "blobs")
        if taken.environments and (folder / "environments").is_dir():
            shutil.copytree(folder / "environments", settings.data_dir / "environments", symlinks=True)
    except OSError as error:
        raise InfrastructureError(f"the backup cannot be restored ({error.strerror or error})") from error
    return taken


def _key_place(settings: "Settings") -> str:
    if settings.secrets_key.get_secret_value():
        return "MESOCOSM_SECRETS_KEY"
    if settings.secrets_key_file is not None:
        return "the file of MESOCOSM_SECRETS_KEY_FILE"
    return f"{FILE_NAME} of the data directory"


def _copy(database: Database, target: Path) -> str:
    source = database.engine.raw_connection()
    try:
        with closing(sqlite3.connect(target)) as copy:
            target.chmod(0o600)
            driver = source.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            # Copy in one step: a copy in pieces restarts at every write. Writers are not blocked.
            driver.backup(copy)
            # Without WAL the copy is a single file, which can be opened in a read-only directory.
            copy.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        raise InfrastructureError(f"the database {database.place} cannot be copied: {error}") from error
    finally:
        source.close()
    return SQLITE


def _dump(service: "Service", target: Path) -> str:
    _program(["pg_dump", "--format=custom", "--no-owner", "--file", str(target)], service.settings.database_url)
    target.chmod(0o600)
    return POSTGRES


def _program(words: list[str], url: str, *files: Path) -> None:
    """Run a PostgreSQL program. The password is passed in the environment: all users can read arguments."""
    parsed = make_url(url)
    plain = parsed.set(drivername="postgresql", password=None).render_as_string()
    variables = {**os.environ, **({"PGPASSWORD": str(parsed.password)} if parsed.password else {})}
    if shutil.which(words[0]) is None:
        raise UsageError(f"PostgreSQL is copied by its own program {words[0]}, which is not installed here")
    done = subprocess.run(  # noqa: S603 - our own words, and no shell
        [*words, plain, *map(str, files)], env=variables, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise InfrastructureError(f"{words[0]} failed: {done.stderr.strip()[-2000:]}")


def _fetch(database: Database, folder: Path) -> int:
    """Copy the objects of the object store; return their number."""
    if database.objects is None:
        return 0
    folder.mkdir(exist_ok=True)
    count = 0
    for digest in _outside(database):
        (folder / digest).write_bytes(database.objects.get(digest))
        count += 1
    return count


def _outside(database: Database) -> Iterator[str]:
    last = ""
    while True:
        wanted = select(blobs.c.digest).where(blobs.c.outside, blobs.c.digest > last).order_by(blobs.c.digest)
        page = database.read(lambda connection, wanted=wanted: connection.scalars(wanted.limit(_BATCH)).all())  # type: ignore[misc]
        yield from page
        if len(page) < _BATCH:
            return
        last = page[-1]


def _bring_back(source: Path, target: Path) -> None:
    if target.exists():
        raise UsageError(f"there is already a server's data at {target}; restore into a new directory with --data-dir")
    target.parent.mkdir(parents=True, exist_ok=True)
    # Copy, then rename, so that the file is either complete or absent.
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    shutil.copyfile(source, partial)
    partial.chmod(0o600)
    partial.rename(target)


def _put_back(blob_url: str, folder: Path) -> None:
    if not folder.is_dir():
        return
    if not blob_url:
        raise UsageError("the backup holds content of an object store; name one for it with --blob-url")
    objects = open_objects(blob_url)
    for path in sorted(folder.iterdir()):
        objects.put(path.name, path.read_bytes())
