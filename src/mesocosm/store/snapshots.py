"""Snapshots of workspace directories, addressed by content: a list of files, each of which is a blob."""

import time
from collections.abc import Callable, Iterable
from functools import partial

from sqlalchemy import Connection, delete, exists, or_, select
from sqlalchemy.exc import IntegrityError

from mesocosm.core.entry import Blob
from mesocosm.core.failure import UnknownName
from mesocosm.core.snapshot import Snapshot, SnapshotFile, read_listing, snapshot_of
from mesocosm.store.blobs import Blobs, blob_row, blob_rows, drop_orphans
from mesocosm.store.database import Database
from mesocosm.store.schema import blobs
from mesocosm.store.tenancy import requests, snapshot_blobs, snapshot_uploads, snapshots, syncs

LISTING = "application/json"
CONTENT = "application/octet-stream"
"""Media types of the list of a snapshot and of its files."""
_AT_ONCE = 16 * 1024 * 1024
"""Bytes of files to store in one transaction."""
_USING = (syncs, snapshot_uploads, requests)
"""Tables with a column `snapshot`."""


class Snapshots:
    """Snapshots, looked up by digest."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._blobs = Blobs(database)

    def add(self, files: Iterable[SnapshotFile], read: Callable[[SnapshotFile], bytes]) -> Snapshot:
        """Store a snapshot and return it. Only files whose content is not stored yet are read.

        `read` returns the content of a file. Raises InfrastructureError.
        """
        found = snapshot_of(files)
        known = self._database.scalar(select(snapshots.c.digest).where(snapshots.c.digest == found.digest))
        while known is None:
            self._add_blobs(found, read)
            try:
                self._add_row(found)
                break
            except IntegrityError:
                # The last run that needed one of the files was deleted meanwhile.
                continue
        return found

    def get(self, digest: str) -> Snapshot:
        """Return a snapshot. Raises UnknownName, InfrastructureError."""
        if self._database.scalar(select(snapshots.c.digest).where(snapshots.c.digest == digest)) is None:
            raise UnknownName(f"there is no snapshot {digest!r} in {self._database.place}")
        return read_listing(self._blobs.get(digest).data)

    def content(self, file: SnapshotFile) -> bytes:
        """Return the content of a file of a snapshot. Raises UnknownName, InfrastructureError."""
        return self._blobs.get(file.digest).data

    def drop_unused(self, older_than_s: float = 86_400.0) -> int:
        """Delete snapshots older than `older_than_s` seconds that no sync, upload or run needs; return how many."""
        used = (exists().where(table.c.snapshot == snapshots.c.digest) for table in _USING)
        unused = ~or_(*used)
        wanted = select(snapshots.c.digest).where(unused, snapshots.c.created_at < time.time() - older_than_s)

        def work(digest: str, connection: Connection) -> int:
            needed = select(snapshot_blobs.c.digest).where(snapshot_blobs.c.snapshot == digest)
            digests = list(connection.scalars(needed))
            gone = connection.execute(delete(snapshots).where(snapshots.c.digest == digest, unused)).rowcount
            if gone:
                drop_orphans(connection, digests)
            return gone

        found = self._database.all(wanted.limit(1_000))
        return sum(self._database.write(partial(work, row["digest"])) for row in found)

    def _add_row(self, snapshot: Snapshot) -> None:
        listed = blob_row(Blob(snapshot.digest, LISTING, snapshot.listing), self._database.objects)
        row = (snapshot.digest, len(snapshot.files), snapshot.size, time.time())
        needed = sorted({snapshot.digest, *(file.digest for file in snapshot.files)})

        def work(connection: Connection) -> None:
            self._database.add(connection, blobs, [listed], known="keep")
            self._database.add(connection, snapshots, [row], known="keep")
            rows = [(snapshot.digest, digest) for digest in needed]
            self._database.add(connection, snapshot_blobs, rows, known="keep")

        self._database.write(work)

    def _add_blobs(self, snapshot: Snapshot, read: Callable[[SnapshotFile], bytes]) -> None:
        contents = {file.digest: file for file in snapshot.files}
        known = {row["digest"] for row in self._database.among(select(blobs.c.digest), blobs.c.digest, list(contents))}
        batch: list[Blob] = []
        size = 0
        for digest, file in contents.items():
            if digest in known:
                continue
            batch.append(Blob(digest, CONTENT, read(file)))
            size += file.size
            if size > _AT_ONCE:
                self._store(batch)
                batch, size = [], 0
        self._store(batch)

    def _store(self, contents: list[Blob]) -> None:
        if contents:
            rows = blob_rows(contents, self._database.objects)
            self._database.write(lambda connection: self._database.add(connection, blobs, rows, known="keep"))
