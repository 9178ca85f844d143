"""Uploads of snapshots: workspace directories that came from a person's disk rather than from a repository."""

import time
from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, RowMapping, Select, and_, delete, exists, func, or_, select, update
from sqlalchemy.exc import IntegrityError

from mesocosm.core.entry import Blob
from mesocosm.core.ids import new_id
from mesocosm.core.snapshot import Snapshot
from mesocosm.store.blobs import Blobs, blob_rows, drop_orphans
from mesocosm.store.database import Database
from mesocosm.store.repositories import SyncedConfiguration, SyncedRollout, SyncFault, decode_found, found_values
from mesocosm.store.rows import plain, record_of, values_of
from mesocosm.store.schema import blobs
from mesocosm.store.tenancy import repositories, snapshot_blobs, snapshot_upload_blobs, snapshot_uploads, syncs


class SnapshotUpload(msgspec.Struct, frozen=True, kw_only=True):
    """An upload. Times are UNIX seconds.

    `digest` is that of the snapshot that is uploaded, `snapshot` the same once all of it is there. `repository`,
    `branch` and `commit_id` say where the folder came from, empty outside of a repository; `changes` is the patch of
    what was not committed, and `dirty` whether there was anything.
    """

    id: str
    workspace_id: str
    digest: str
    snapshot: str | None = None
    repository: str = ""
    branch: str = ""
    commit_id: str = ""
    dirty: bool = False
    changes: str = ""
    rollouts: tuple[SyncedRollout, ...] = ()
    configurations: tuple[SyncedConfiguration, ...] = ()
    faults: tuple[SyncFault, ...] = ()
    created_by: int | None = None
    created_at: float = 0.0
    completed_at: float | None = None


class SnapshotUploads:
    """Uploads of snapshots to workspaces. An upload is unfinished until everything in it is there."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._blobs = Blobs(database)

    def begin(self, wanted: SnapshotUpload) -> SnapshotUpload:
        """Store an upload and return it, or return an equal one of the workspace. Its id and times are ignored.

        Raises IntegrityError if the workspace or the account is gone.
        """
        row = msgspec.structs.replace(wanted, id=new_id(), created_at=time.time())
        names = ("workspace_id", "digest", "repository", "branch", "commit_id", "changes")
        same = and_(
            snapshot_uploads.c.dirty == wanted.dirty,
            *(snapshot_uploads.c[name] == plain(getattr(wanted, name)) for name in names),
        )

        def work(connection: Connection) -> SnapshotUpload:
            query = select(snapshot_uploads).where(same).order_by(snapshot_uploads.c.id).limit(1)
            known = connection.execute(query).mappings().first()
            if known is not None:
                return _upload(known)
            values = values_of(row, **found_values(row))
            connection.execute(self._database.insert(snapshot_uploads).values(values))
            return row

        return self._database.write(work)

    def get(self, workspace_id: str, upload_id: str) -> SnapshotUpload | None:
        """Return an upload to a workspace; None if there is none."""
        here = and_(snapshot_uploads.c.id == plain(upload_id), snapshot_uploads.c.workspace_id == workspace_id)
        row = self._database.one(select(snapshot_uploads).where(here))
        return None if row is None else _upload(row)

    def completed(self, workspace_id: str, limit: int) -> tuple[SnapshotUpload, ...]:
        """Return the newest completed uploads to a workspace, without their patches."""
        here = and_(snapshot_uploads.c.workspace_id == plain(workspace_id), snapshot_uploads.c.snapshot.is_not(None))
        columns = [column for column in snapshot_uploads.c if column.name != "changes"]
        newest = select(*columns).where(here).order_by(snapshot_uploads.c.id.desc()).limit(limit)
        return tuple(map(_upload, self._database.all(newest)))

    def listing(self, upload: SnapshotUpload) -> bytes | None:
        """Return the list of files of an upload as it came; None if it has not come yet."""
        return self._blobs.get(upload.digest).data if self.present(upload, [upload.digest]) else None

    def present(self, upload: SnapshotUpload, digests: Collection[str]) -> dict[str, int]:
        """Return which contents need not be sent, with their sizes.

        These are the ones of this upload and those that snapshots of its workspace have: whether another workspace has
        the same file is not told.
        """
        sent = exists().where(
            snapshot_upload_blobs.c.digest == blobs.c.digest, snapshot_upload_blobs.c.upload_id == upload.id
        )
        kept = exists().where(
            snapshot_blobs.c.digest == blobs.c.digest, snapshot_blobs.c.snapshot.in_(_snapshots(upload.workspace_id))
        )
        wanted = select(blobs.c.digest, blobs.c.raw_bytes).where(or_(sent, kept))
        return {row["digest"]: row["raw_bytes"] for row in self._database.among(wanted, blobs.c.digest, digests)}

    def add(self, upload: SnapshotUpload, contents: Sequence[Blob]) -> bool:
        """Store contents of an unfinished upload; return False if it is finished or gone."""
        rows = blob_rows(contents, self._database.objects)

        def work(connection: Connection) -> bool:
            unfinished = select(snapshot_uploads.c.id).where(_unfinished(upload)).with_for_update()
            if connection.scalar(unfinished) is None:
                return False
            self._database.add(connection, blobs, rows, known="keep")
            needed = [(upload.id, blob.digest) for blob in contents]
            self._database.add(connection, snapshot_upload_blobs, needed, known="keep")
            return True

        try:
            return self._database.write(work)
        except IntegrityError:
            # Somebody else removed the same content in this moment.
            return self._database.write(work)

    def complete(self, upload: SnapshotUpload, snapshot: Snapshot) -> bool:
        """Store what was found in an upload whose snapshot is stored; return False if it is finished or gone."""
        fields = {"snapshot": snapshot.digest, "completed_at": time.time(), **found_values(upload)}

        def work(connection: Connection) -> bool:
            done = update(snapshot_uploads).where(_unfinished(upload)).values(fields)
            if not connection.execute(done).rowcount:
                return False
            _drop_contents(connection, upload.id)
            return True

        return self._database.write(work)

    def used(self, workspace_id: str) -> int:
        """Return the bytes of all files in uploads to a workspace, equal files counted once."""
        completed = select(snapshot_uploads.c.snapshot).where(snapshot_uploads.c.workspace_id == workspace_id)
        kept = select(snapshot_blobs.c.digest).where(snapshot_blobs.c.snapshot.in_(completed))
        sent = select(snapshot_upload_blobs.c.digest).join(
            snapshot_uploads, snapshot_uploads.c.id == snapshot_upload_blobs.c.upload_id
        )
        sent = sent.where(snapshot_uploads.c.workspace_id == workspace_id)
        wanted = select(func.sum(blobs.c.raw_bytes)).where(blobs.c.digest.in_(kept.union(sent)))
        return int(self._database.scalar(wanted) or 0)

    def drop_abandoned(self, older_than_s: float = 86_400.0) -> int:
        """Remove unfinished uploads that began longer ago; return how many."""
        before = time.time() - older_than_s
        left = and_(snapshot_uploads.c.snapshot.is_(None), snapshot_uploads.c.created_at < before)

        def work(connection: Connection) -> int:
            found = connection.scalars(select(snapshot_uploads.c.id).where(left).limit(1_000)).all()
            return sum(_drop(connection, upload_id) for upload_id in found)

        return self._database.write(work)


def _drop(connection: Connection, upload_id: str) -> int:
    still = and_(snapshot_uploads.c.id == upload_id, snapshot_uploads.c.snapshot.is_(None))
    if connection.scalar(select(snapshot_uploads.c.id).where(still).with_for_update()) is None:
        return 0
    _drop_contents(connection, upload_id)
    return connection.execute(delete(snapshot_uploads).where(still)).rowcount


def _drop_contents(connection: Connection, upload_id: str) -> None:
    here = snapshot_upload_blobs.c.upload_id == upload_id
    digests = connection.scalars(select(snapshot_upload_blobs.c.digest).where(here)).all()
    connection.execute(delete(snapshot_upload_blobs).where(here))
    drop_orphans(connection, digests)


def _unfinished(upload: SnapshotUpload) -> ColumnElement[bool]:
    return and_(snapshot_uploads.c.id == upload.id, snapshot_uploads.c.snapshot.is_(None))


def _snapshots(workspace_id: str) -> Select[Any]:
    """Return the query for the digests of the snapshots that a workspace has."""
    synced = select(syncs.c.snapshot).join(repositories, repositories.c.id == syncs.c.repository_id)
    synced = synced.where(repositories.c.workspace_id == workspace_id, syncs.c.snapshot.is_not(None))
    uploaded = select(snapshot_uploads.c.snapshot).where(
        snapshot_uploads.c.workspace_id == workspace_id, snapshot_uploads.c.snapshot.is_not(None)
    )
    return select(synced.union(uploaded).subquery().c.snapshot)


def _upload(row: RowMapping) -> SnapshotUpload:
    return record_of(SnapshotUpload, row, dirty=bool(row["dirty"]), **decode_found(row))
