"""Blobs: large parts of traces and artifacts of runs, stored once by digest."""

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
import zstandard
from sqlalchemy import Connection, and_, delete, exists, or_, select, tuple_
from sqlalchemy.exc import IntegrityError

from mesocosm.core.entry import Blob
from mesocosm.core.failure import UnknownName
from mesocosm.core.ids import digest_bytes, new_id
from mesocosm.core.ports import Page
from mesocosm.store.database import BATCH, Database, batches
from mesocosm.store.filters import VisibleTo
from mesocosm.store.objects import SMALL, Objects
from mesocosm.store.pagination import read_cursor, write_cursor
from mesocosm.store.rows import plain
from mesocosm.store.schema import artifacts, blobs, episodes, run_blobs, runs
from mesocosm.store.tenancy import (
    dataset_additions,
    dataset_parts,
    requests,
    run_import_parts,
    snapshot_blobs,
    snapshot_upload_blobs,
)
from mesocosm.store.traces import compress


class Artifact(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that belongs to a run or to one of its episodes; its content is the blob `digest`."""

    id: str
    run_id: str
    name: str
    digest: str
    created_at: float
    episode_id: str = ""


class StoredFile(msgspec.Struct, frozen=True):
    """A file of a run with its size in bytes, and the task and trial of its episode (empty and 0 without one)."""

    artifact: Artifact
    size: int
    task_id: str
    trial: int


class Blobs:
    """Blobs, looked up by digest."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, digest: str) -> Blob:
        """Return a blob. Raises UnknownName; InfrastructureError if it is in an object store that is not configured."""
        wanted = select(blobs.c.content_type, blobs.c.data, blobs.c.outside).where(blobs.c.digest == digest)
        row = self._database.query(lambda connection: connection.execute(wanted).one_or_none())
        if row is None:
            raise UnknownName(f"there is no blob {digest!r} in {self._database.place}")
        data = self._database.outside(digest) if row.outside else row.data
        return Blob(digest, row.content_type, zstandard.ZstdDecompressor().decompress(data))

    def is_visible(self, digest: str, visible_to: VisibleTo) -> bool:
        """Return whether a person may read a blob: any blob of their own runs, and images of runs visible to them."""
        picture = and_(blobs.c.content_type.startswith("image/"), visible_to.sees())
        wanted = (
            select(run_blobs.c.run_id)
            .join(requests, requests.c.run_id == run_blobs.c.run_id)
            .join(blobs, blobs.c.digest == run_blobs.c.digest)
            .where(run_blobs.c.digest == plain(digest), or_(visible_to.owns(), picture))
        )
        return self._database.scalar(wanted.limit(1)) is not None

    def drop_outside(self, older_than_s: float = 86_400.0) -> int:
        """Delete content that no row refers to from the object store; return the number of deleted objects.

        Objects younger than `older_than_s` seconds stay: their row may not be committed yet.
        """
        objects = self._database.objects
        if objects is None:
            return 0
        removed, listed = 0, objects.older_than(older_than_s)
        while some := list(islice(listed, BATCH)):
            needed = self._kept_outside(some)
            unneeded = [digest for digest in some if digest not in needed]
            if unneeded:
                objects.delete(unneeded)
            removed += len(unneeded)
        return removed

    def _kept_outside(self, digests: Sequence[str]) -> set[str]:
        known = select(blobs.c.digest).where(blobs.c.digest.in_(digests), blobs.c.outside)
        return set(self._database.read(lambda connection: connection.scalars(known).all()))

    def of_run(self, run_id: str) -> Iterator[Blob]:
        """Yield all blobs that the traces and artifacts of a run refer to."""
        wanted = select(run_blobs.c.digest).where(run_blobs.c.run_id == run_id).order_by(run_blobs.c.digest)
        for digest in self._database.read(lambda connection: connection.scalars(wanted).all()):
            yield self.get(digest)


class Artifacts:
    """Files that belong to runs and episodes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, run_id: str, name: str, data: bytes, *, content_type: str, episode_id: str = "") -> Artifact:
        """Store `data` as a file of a run or of one of its episodes.

        Raises UnknownName if the run or episode does not exist.
        """
        blob = Blob(digest_bytes(data), content_type, data)
        artifact = Artifact(new_id(), run_id, plain(name), blob.digest, time.time(), episode_id)

        def work(connection: Connection) -> None:
            if connection.scalar(select(runs.c.id).where(runs.c.id == run_id)) is None:
                raise UnknownName(f"there is no run {run_id!r} to attach {name!r} to")
            insert_artifacts(self._database, connection, [artifact], [blob])

        try:
            self._database.write(work)
        except IntegrityError as error:
            raise UnknownName(f"run {run_id} has no episode {episode_id!r} to attach {name!r} to") from error
        return artifact

    def keep(self, run_id: str, episode_id: str, files: Mapping[str, Blob]) -> bool:
        """Store the files of an episode by name, in place of those of an earlier attempt.

        Return False if the episode is not stored, or not any more.
        """
        at = time.time()
        listed = [Artifact(new_id(), run_id, plain(name), blob.digest, at, episode_id) for name, blob in files.items()]
        earlier = and_(artifacts.c.run_id == run_id, artifacts.c.episode_id == episode_id)

        def work(connection: Connection) -> None:
            connection.execute(delete(artifacts).where(earlier))
            if listed:
                insert_artifacts(self._database, connection, listed, files.values())

        try:
            self._database.write(work)
        except IntegrityError:
            return False
        return True

    def of_run(self, run_id: str) -> tuple[Artifact, ...]:
        """Return the files of a run and of its episodes, oldest first."""
        wanted = select(artifacts).where(artifacts.c.run_id == run_id).order_by(artifacts.c.created_at, artifacts.c.id)
        return self._database.query(lambda connection: tuple(_artifact(*row) for row in connection.execute(wanted)))

    def page(self, run_id: str, cursor: str | None, limit: int) -> Page:
        """Return a page of StoredFile of a run, oldest first. Raises UsageError for a cursor of another listing."""
        columns = (artifacts.c.created_at, artifacts.c.id)
        wanted = (
            select(artifacts, blobs.c.raw_bytes, episodes.c.task_id, episodes.c.trial)
            .join(blobs, blobs.c.digest == artifacts.c.digest)
            .outerjoin(episodes, episodes.c.id == artifacts.c.episode_id)
            .where(artifacts.c.run_id == plain(run_id))
        )
        if cursor is not None:
            wanted = wanted.where(tuple_(*columns) > tuple(read_cursor(cursor, "artifacts", columns)))
        rows = self._database.all(wanted.order_by(*columns).limit(limit + 1))
        found = [
            StoredFile(
                _artifact(*(row[column.name] for column in artifacts.c)),
                row["raw_bytes"],
                row["task_id"] or "",
                row["trial"] or 0,
            )
            for row in rows[:limit]
        ]
        last = found[-1].artifact if len(rows) > limit else None
        return Page(tuple(found), None if last is None else write_cursor("artifacts", (last.created_at, last.id)))

    def sizes(self, run_id: str) -> dict[str, int]:
        """Return the size of each content among the files of a run, by its digest."""
        of_run = select(artifacts.c.digest).where(artifacts.c.run_id == run_id)
        wanted = select(blobs.c.digest, blobs.c.raw_bytes).where(blobs.c.digest.in_(of_run))
        return self._database.read(lambda connection: {row.digest: row.raw_bytes for row in connection.execute(wanted)})


def _artifact(id_: str, run_id: str, episode_id: str | None, name: str, digest: str, created_at: float) -> Artifact:
    return Artifact(id_, run_id, name, digest, created_at, episode_id or "")


def blob_row(blob: Blob, objects: Objects | None) -> tuple[Any, ...]:
    """Return the row of a blob as `blob_rows` does."""
    return blob_rows([blob], objects)[0]


def blob_rows(found: Sequence[Blob], objects: Objects | None) -> list[tuple[Any, ...]]:
    """Return the values of blobs in the order of the table's columns, storing large content in `objects` if given.

    Raises InfrastructureError if the object store cannot be reached.
    """
    packed = dict(zip((blob.digest for blob in found), compress([blob.data for blob in found]), strict=True))
    outside: dict[str, bytes] = {}
    if objects is not None:
        outside = {digest: data for digest, data in packed.items() if len(data) > SMALL}
        objects.put_all(outside)
    return [
        (
            blob.digest,
            plain(blob.content_type),
            len(blob.data),
            b"" if blob.digest in outside else packed[blob.digest],
            blob.digest in outside,
        )
        for blob in found
    ]


def insert_blobs(database: Database, connection: Connection, run_id: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert blobs that are not stored yet, and record that the run needs them."""
    database.add(connection, blobs, rows, known="keep")
    database.add(connection, run_blobs, [(run_id, row[0]) for row in rows], known="keep")


def insert_artifacts(
    database: Database, connection: Connection, listed: Sequence[Artifact], contents: Iterable[Blob] = ()
) -> None:
    """Insert artifacts of one run with their contents; rows with known ids stay unchanged."""
    for blob in contents:
        insert_blobs(database, connection, listed[0].run_id, [blob_row(blob, database.objects)])
    rows = [(a.id, a.run_id, a.episode_id or None, a.name, a.digest, a.created_at) for a in listed]
    database.add(connection, artifacts, rows, known="keep")


def drop_orphans(connection: Connection, digests: Sequence[str]) -> None:
    """Delete those of the given blobs that no run, dataset, snapshot or upload needs any more."""
    tables = (
        run_blobs,
        dataset_parts,
        dataset_additions,
        snapshot_blobs,
        run_import_parts,
        snapshot_upload_blobs,
    )
    needed = (exists().where(table.c.digest == blobs.c.digest) for table in tables)
    unneeded = ~or_(*needed)
    for some in batches(digests):
        unused = delete(blobs).where(blobs.c.digest.in_(some), unneeded)
        # Another run may start to need one concurrently. Then the whole batch stays, which only costs space.
        with contextlib.suppress(IntegrityError), connection.begin_nested():
            connection.execute(unused)
