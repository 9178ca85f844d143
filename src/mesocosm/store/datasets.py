"""Datasets of workspaces: versions by content, uploaded in parts, checked by a worker before they can be used.

A version is immutable once it is uploaded. Its parts are blobs; a blob stays as long as a part refers to it.
"""

import time
import unicodedata
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Table, and_, delete, func, insert, literal, or_, select, update
from sqlalchemy.exc import IntegrityError

from mesocosm.core.ids import new_id
from mesocosm.store.bell import ring
from mesocosm.store.clock import now
from mesocosm.store.database import Database
from mesocosm.store.parts import PART_BYTES, UploadedParts, part_count, part_length
from mesocosm.store.rows import json_text, plain, record_of, values_of
from mesocosm.store.tenancy import dataset_additions as additions
from mesocosm.store.tenancy import dataset_parts as parts
from mesocosm.store.tenancy import dataset_versions as versions
from mesocosm.store.tenancy import datasets, users

MOST_CHECKS = 3
"""Checks of a version after which it is an error: if each ends its worker, the file is at fault."""

_SHORT = [column for column in versions.c if column.name not in ("summary", "preview", "faults")]
_UNFINISHED = ("uploading", "error", "cancelled")
"""States in which an upload may begin again."""


class DatasetState(StrEnum):
    """State of a version."""

    UPLOADING = "uploading"
    PROCESSING = "processing"
    UPLOADED = "uploaded"
    ERROR = "error"
    CANCELLED = "cancelled"


class Dataset(msgspec.Struct, frozen=True):
    """A dataset. `version` is the newest one that is uploaded, None before there is one. Times are UNIX seconds."""

    id: str
    workspace_id: str
    name: str
    version: int | None
    created_by: int | None
    created_at: float
    updated_at: float
    deleted_at: float | None = None
    creator: str = ""


class DatasetVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a dataset. `digest` is the SHA-256 of the file, `rows_digest` that of the rows as they are played.

    `columns`, `summary`, `preview`, `faults` and `source` are JSON. With `overwrite` it may follow an uploaded version.
    """

    dataset_id: str
    version: int
    state: DatasetState
    file_name: str
    format: str
    size: int
    part_size: int
    digest: str
    overwrite: bool
    columns: str = "{}"
    rows_digest: str = ""
    rows: int | None = None
    summary: str = ""
    preview: str = ""
    faults: str = ""
    created_by: int | None = None
    created_at: float = 0.0
    updated_at: float = 0.0
    ended_at: float | None = None
    claimed_by: str | None = None
    lease_until: float | None = None
    tries: int = 0
    source: str = ""
    creator: str = ""

    @property
    def part_count(self) -> int:
        """Number of parts."""
        return part_count(self.size, self.part_size)

    def part_length(self, number: int) -> int:
        """Return the size of a part, counted from 1."""
        return part_length(self.size, self.part_size, number)


class DatasetFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that somebody wants to upload. `overwrite`: as a new version, if the name exists.

    `digest` is empty if it is not known before the check; then the file is never recognised as one that is there.
    """

    name: str
    file_name: str
    format: str
    size: int
    digest: str
    columns: str = "{}"
    overwrite: bool = False
    source: str = ""


class Upload(msgspec.Struct, frozen=True):
    """What came of the wish to upload a file.

    Without `version` it was refused: the name is taken by `dataset`, or (without `dataset`) there is no room, because
    the workspace has `used` bytes, `deleted` of them in deleted datasets.
    """

    dataset: Dataset | None = None
    version: DatasetVersion | None = None
    used: int = 0
    deleted: int = 0


class Datasets:
    """Datasets of workspaces."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._parts = UploadedParts(database, parts)
        self._additions = UploadedParts(database, additions)

    def get(self, workspace_id: str, name_or_id: str) -> Dataset | None:
        """Return a dataset by its id, or else by its name; None if the workspace has no such dataset."""
        wanted = plain(name_or_id)
        found = _datasets().where(
            datasets.c.workspace_id == workspace_id,
            datasets.c.deleted_at.is_(None),
            or_(datasets.c.id == wanted, datasets.c.name_key == name_key(wanted)),
        )
        rows = self._database.all(found.order_by(datasets.c.id == wanted))
        return record_of(Dataset, rows[-1]) if rows else None

    def list(self, workspace_id: str, *, limit: int | None = None, cursor: str | None = None) -> tuple[Dataset, ...]:
        """Return the datasets of a workspace, newest first; `cursor` is the id of the last one of the previous page."""
        wanted = _datasets().where(datasets.c.workspace_id == workspace_id, datasets.c.deleted_at.is_(None))
        if cursor is not None:
            wanted = wanted.where(datasets.c.id < plain(cursor))
        rows = self._database.all(wanted.order_by(datasets.c.id.desc()).limit(limit))
        return tuple(record_of(Dataset, row) for row in rows)

    def version(self, dataset_id: str, version: int) -> DatasetVersion | None:
        """Return a version, also of a deleted dataset; None if it does not exist."""
        row = self._database.one(_with_creator(select(versions)).where(_is(dataset_id, version)))
        return None if row is None else _version(row)

    def versions(self, dataset_id: str, limit: int) -> tuple[DatasetVersion, ...]:
        """Return the newest versions of a dataset that were not cancelled, without their descriptions."""
        wanted = _with_creator(select(*_SHORT)).where(versions.c.dataset_id == dataset_id)
        wanted = wanted.where(versions.c.state != DatasetState.CANCELLED)
        return tuple(map(_version, self._database.all(wanted.order_by(versions.c.version.desc()).limit(limit))))

    def current(self, dataset_ids: Sequence[str]) -> dict[str, DatasetVersion]:
        """Return the newest uploaded versions of datasets, or else their newest ones, without their descriptions."""
        others = versions.alias()
        newest = select(func.max(others.c.version)).where(others.c.dataset_id == datasets.c.id).scalar_subquery()
        wanted = select(*_SHORT).join(datasets, datasets.c.id == versions.c.dataset_id)
        wanted = wanted.where(versions.c.version == func.coalesce(datasets.c.version, newest))
        found = self._database.among(wanted, versions.c.dataset_id, dataset_ids)
        return {row["dataset_id"]: _version(row) for row in found}

    def newest(self, dataset_id: str) -> DatasetVersion | None:
        """Return the newest uploaded version of a dataset; None before there is one."""
        wanted = _with_creator(select(versions)).join(datasets, datasets.c.id == versions.c.dataset_id)
        row = self._database.one(wanted.where(datasets.c.id == dataset_id, datasets.c.version == versions.c.version))
        return None if row is None else _version(row)

    def used(self, workspace_id: str) -> int:
        """Return how many bytes the versions of a workspace have, also those of deleted datasets."""
        return sum(self._database.read(lambda connection: _used(connection, workspace_id)))

    def begin(self, workspace_id: str, file: DatasetFile, *, by: int | None, most_bytes: int) -> Upload:
        """Return the version to which the parts of a file belong; nothing else is written if it is refused.

        The same bytes again are the same version: the newest uploaded one, or one whose upload has not ended well. A
        new version begins with the parts that an older one of the same content has. `most_bytes` is the room of the
        workspace.
        """
        key, dataset_id, at = name_key(file.name), new_id(), time.time()

        def work(connection: Connection) -> Upload:
            self._lock(connection, workspace_id)
            dataset = self._named(connection, workspace_id, key)
            known = _known(connection, dataset, file) if dataset is not None else None
            if known is not None and known.state in (DatasetState.UPLOADED, DatasetState.PROCESSING):
                return Upload(dataset, known)
            if dataset is not None and not file.overwrite and _is_taken(connection, dataset, file):
                return Upload(dataset)
            used, deleted = _used(connection, workspace_id, known)
            if used + deleted + file.size > most_bytes:
                return Upload(used=used + deleted, deleted=deleted)
            if known is not None:
                return Upload(dataset, _reopen(connection, known, file, by, at))
            dataset = dataset or self._insert(connection, workspace_id, dataset_id, file.name, by, at)
            return Upload(dataset, _first_part(connection, dataset, file, by, at))

        return self._database.write(work)

    def add_rows(self, workspace_id: str, file: DatasetFile, rows: bytes, *, by: int | None, most_bytes: int) -> Upload:
        """Queue rows (lines of JSON) to be added to the newest uploaded version of a dataset, as a new version.

        `file` describes that version: its `columns` count only for a new dataset, which is made if the name is free.
        Refused as by `begin`: the name is taken while a dataset has no uploaded version and is not made of rows.
        """
        key, dataset_id, at = name_key(file.name), new_id(), time.time()
        pieces = [rows[begin : begin + PART_BYTES] for begin in range(0, len(rows), PART_BYTES)]
        blobs = self._additions.blobs(pieces)

        def work(connection: Connection) -> Upload:
            self._lock(connection, workspace_id)
            dataset = self._named(connection, workspace_id, key)
            if dataset is not None and dataset.version is None and _is_uploading(connection, dataset):
                return Upload(dataset)
            used, deleted = _used(connection, workspace_id)
            if used + deleted + len(rows) > most_bytes:
                return Upload(used=used + deleted, deleted=deleted)
            dataset = dataset or self._insert(connection, workspace_id, dataset_id, file.name, by, at)
            version = _insert_version(connection, dataset, file, by, at, DatasetState.PROCESSING)
            self._additions.insert(connection, (dataset.id, version.version), blobs)
            ring(connection)
            return Upload(dataset, version)

        return self._database.write(work)

    def added(self, version: DatasetVersion) -> dict[int, str]:
        """Return the digests of the parts of the rows that the check of a version adds; empty for a file."""
        return self._additions.digests(version.dataset_id, version.version)

    def put_checked(self, version: DatasetVersion, number: int, data: bytes) -> bool:
        """Store a part of the file that the check of a version makes; False if the claim was lost."""
        claimed = update(versions).where(_held(version)).values(updated_at=version.updated_at)
        return self._parts.add((version.dataset_id, version.version), number, data, claimed)

    def finish_addition(
        self, version: DatasetVersion, base: int | None, *, state: DatasetState, most_bytes: int, **found: Any
    ) -> str:
        """Store the outcome of a claimed check that added rows to version `base`; return empty, or why it cannot be.

        `found` are the fields of the version. `moved`: another version is the newest now; `late`: it is numbered higher
        than this one; `full`: the workspace has no room; `lost`: the claim was lost. Then nothing is written.
        """
        mine, key = datasets.c.id == version.dataset_id, (version.dataset_id, version.version)

        def work(connection: Connection) -> str:
            dataset = connection.execute(select(datasets).where(mine).with_for_update()).mappings().first()
            if dataset is None or connection.scalar(select(versions.c.version).where(_held(version))) is None:
                return "lost"
            done = state is DatasetState.UPLOADED
            if done and dataset["version"] != base:
                return "late" if dataset["version"] > version.version else "moved"
            if done and sum(_used(connection, dataset["workspace_id"], version)) + found["size"] > most_bytes:
                return "full"
            fields = {"state": state.value, "ended_at": time.time(), "claimed_by": None, "lease_until": None, **found}
            connection.execute(update(versions).where(_is(*key)).values(fields))
            self._additions.drop(connection, *key)
            if done:
                self._parts.drop(connection, *key, after=part_count(found["size"], version.part_size))
                newest = {"version": version.version, "updated_at": fields["ended_at"]}
                connection.execute(update(datasets).where(mine).values(newest))
            else:
                self._parts.drop(connection, *key)
            return ""

        return self._database.write(work)

    def parts(self, dataset_id: str, version: int) -> dict[int, str]:
        """Return the digests of the parts that are there, by their numbers from 1."""
        return self._parts.digests(dataset_id, version)

    def read_part(self, digest: str) -> bytes:
        """Return the bytes of a part. Raises UnknownName if it was removed meanwhile."""
        return self._parts.read(digest)

    def add_part(self, version: DatasetVersion, number: int, data: bytes) -> bool:
        """Store a part of a version that is being uploaded, in place of an earlier one; return whether it still is."""
        key = (version.dataset_id, version.version)
        return self._parts.add(key, number, data, _uploading(*key).values(updated_at=time.time()))

    def submit(self, version: DatasetVersion) -> bool:
        """Queue a version for its check; return whether it is or was queued. False if parts are missing."""
        key = (version.dataset_id, version.version)

        def work(connection: Connection) -> bool:
            row = connection.execute(select(versions).where(_is(*key)).with_for_update()).mappings().first()
            if row is None or row["state"] != DatasetState.UPLOADING:
                return row is not None and row["state"] in (DatasetState.PROCESSING, DatasetState.UPLOADED)
            if self._parts.total(connection, *key) != (version.part_count, version.size):
                return False
            fields = {"state": DatasetState.PROCESSING.value, "updated_at": time.time(), "tries": 0}
            connection.execute(update(versions).where(_is(*key)).values(**fields, claimed_by=None, lease_until=None))
            ring(connection)
            return True

        return self._database.write(work)

    def abort(self, version: DatasetVersion) -> bool:
        """End an upload and remove its parts, and the dataset if it has no other version; return whether it went on."""
        return self._database.write(
            lambda connection: self._end_upload(connection, version.dataset_id, version.version)
        )

    def drop_abandoned(self, older_than_s: float = 86_400.0) -> int:
        """Remove the parts of uploads without a new part, and of failed checks, since this time; return how many."""
        before = time.time() - older_than_s
        over = and_(versions.c.state == DatasetState.ERROR, versions.c.ended_at < before)
        left = and_(versions.c.state == DatasetState.UPLOADING, versions.c.updated_at < before)
        wanted = select(versions.c.dataset_id, versions.c.version).where(or_(over, left))
        has_parts = or_(*(select(table.c.number).where(_same_version(table)).exists() for table in (parts, additions)))
        found = self._database.all(wanted.where(or_(left, has_parts)))
        count = 0
        for row in found:
            key = (row["dataset_id"], row["version"])

            def work(connection: Connection, key: tuple[str, int] = key) -> bool:
                still = select(versions.c.state).where(_is(*key), or_(over, left)).with_for_update()
                state = connection.scalar(still)
                if state == DatasetState.ERROR:
                    return self._parts.drop(connection, *key) + self._additions.drop(connection, *key) > 0
                return state is not None and self._end_upload(connection, *key)

            count += self._database.write(work)
        return count

    def claim_check(self, worker_id: str, lease_s: float) -> DatasetVersion | None:
        """Lease the version that has waited longest for its check; None if none waits.

        One with an expired lease is taken over; after `MOST_CHECKS` workers it is an error.
        """

        def work(connection: Connection) -> DatasetVersion | None:
            at = now(connection)
            waiting = select(versions).where(waits_for_check(at)).order_by(versions.c.updated_at).limit(1)
            while True:
                row = connection.execute(waiting.with_for_update(skip_locked=True)).mappings().first()
                if row is None:
                    return None
                found = _version(row)
                key = _is(found.dataset_id, found.version)
                if found.tries < MOST_CHECKS:
                    fields = {"claimed_by": worker_id, "lease_until": at + lease_s, "tries": found.tries + 1}
                    connection.execute(update(versions).where(key).values(fields))
                    return msgspec.structs.replace(found, **fields)
                words = f"{MOST_CHECKS} checks of this file did not come to an end"
                fix = "make it smaller, or ask the administrators of the server"
                faults = {"faults": [{"path": "", "message": words, "fix": fix}], "faults_total": 1}
                over = {"state": DatasetState.ERROR.value, "faults": json_text(faults)}
                connection.execute(update(versions).where(key).values(**over, ended_at=at, claimed_by=None))

        return self._database.write(work)

    def renew_check(self, version: DatasetVersion, lease_s: float) -> bool:
        """Extend the lease on a claimed check; False if it is over, or belongs to another worker."""

        def work(connection: Connection) -> bool:
            renewed = update(versions).where(_held(version)).values(lease_until=now(connection) + lease_s)
            return bool(connection.execute(renewed).rowcount)

        return self._database.write(work)

    def release_check(self, version: DatasetVersion) -> None:
        """Return a claimed check to the queue without counting the try."""
        fields = {"claimed_by": None, "lease_until": None, "tries": max(version.tries - 1, 0)}
        self._database.execute(update(versions).where(_held(version)).values(fields))

    def finish_check(self, version: DatasetVersion, *, state: DatasetState, overtaken: str, **found: Any) -> bool:
        """Store the outcome of a claimed check, at once with the dataset's newest version; False if the claim was lost.

        `found` are digest, rows, rows_digest, summary, preview and faults. If another version was uploaded meanwhile
        and this one may not overwrite it, the outcome is an error with the faults `overtaken`.
        """
        mine = datasets.c.id == version.dataset_id

        def work(connection: Connection) -> bool:
            current = connection.scalar(select(datasets.c.version).where(mine).with_for_update())
            at = time.time()
            fields = {"state": state.value, "ended_at": at, "claimed_by": None, "lease_until": None, **found}
            is_late = state is DatasetState.UPLOADED and current is not None and not version.overwrite
            if is_late:
                fields |= {"state": DatasetState.ERROR.value, "faults": overtaken}
            if not connection.execute(update(versions).where(_held(version)).values(fields)).rowcount:
                return False
            if state is DatasetState.UPLOADED and not is_late and (current or 0) < version.version:
                connection.execute(update(datasets).where(mine).values(version=version.version, updated_at=at))
            return True

        return self._database.write(work)

    def drop_parts(self, version: DatasetVersion) -> int:
        """Remove the parts of a version that is an error, so that they are sent again; return how many."""

        def work(connection: Connection) -> int:
            wrong = select(versions.c.state).where(_is(version.dataset_id, version.version)).with_for_update()
            if connection.scalar(wrong) != DatasetState.ERROR:
                return 0
            return self._parts.drop(connection, version.dataset_id, version.version)

        return self._database.write(work)

    def rename(self, dataset: Dataset, name: str) -> bool:
        """Rename a dataset; return False if the workspace has another of that name, or this one was deleted."""
        living = and_(datasets.c.id == dataset.id, datasets.c.deleted_at.is_(None))
        changed = update(datasets).where(living).values(name=plain(name), name_key=name_key(name))
        try:
            return self._database.execute(changed) > 0
        except IntegrityError:
            return False

    def delete(self, dataset: Dataset) -> bool:
        """Mark a dataset as deleted and end its uploads; its uploaded versions stay. Return whether it was there."""

        def work(connection: Connection) -> bool:
            living = and_(datasets.c.id == dataset.id, datasets.c.deleted_at.is_(None))
            if not connection.execute(update(datasets).where(living).values(deleted_at=time.time())).rowcount:
                return False
            unfinished = and_(versions.c.dataset_id == dataset.id, versions.c.state != DatasetState.UPLOADED)
            for number in connection.scalars(select(versions.c.version).where(unfinished)).all():
                self._parts.drop(connection, dataset.id, number)
                self._additions.drop(connection, dataset.id, number)
            over = {"state": DatasetState.CANCELLED.value, "ended_at": time.time(), "claimed_by": None}
            connection.execute(update(versions).where(unfinished).values(over))
            return True

        return self._database.write(work)

    def _named(self, connection: Connection, workspace_id: str, key: str) -> Dataset | None:
        wanted = _datasets().where(
            datasets.c.workspace_id == workspace_id, datasets.c.name_key == key, datasets.c.deleted_at.is_(None)
        )
        row = connection.execute(wanted).mappings().first()
        return None if row is None else record_of(Dataset, row)

    def _insert(
        self, connection: Connection, workspace_id: str, dataset_id: str, name: str, by: int | None, at: float
    ) -> Dataset:
        fields: dict[str, Any] = {"id": dataset_id, "workspace_id": workspace_id, "name_key": name_key(name)}
        fields |= {"name": plain(name), "created_by": by, "created_at": at, "updated_at": at}
        connection.execute(insert(datasets).values(fields))
        made = self._named(connection, workspace_id, name_key(name))
        assert made is not None
        return made

    def _end_upload(self, connection: Connection, dataset_id: str, version: int) -> bool:
        fields = {"state": DatasetState.CANCELLED.value, "ended_at": time.time()}
        if not connection.execute(_uploading(dataset_id, version).values(fields)).rowcount:
            return False
        self._parts.drop(connection, dataset_id, version)
        others = select(versions.c.version).where(
            versions.c.dataset_id == dataset_id, versions.c.state != DatasetState.CANCELLED
        )
        alone = and_(datasets.c.id == dataset_id, datasets.c.version.is_(None), ~others.exists())
        connection.execute(delete(datasets).where(alone))
        return True

    def _lock(self, connection: Connection, workspace_id: str) -> None:
        # SQLite has one writer anyway; in PostgreSQL two concurrent uploads could exceed the room, or use a name twice.
        if self._database.postgres:
            connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(workspace_id))))


def name_key(name: str) -> str:
    """Return what names of one workspace must differ in."""
    return unicodedata.normalize("NFC", plain(name)).casefold()


def waits_for_check(at: float) -> ColumnElement[bool]:
    """Return the condition of versions whose check no worker has leased."""
    free = or_(versions.c.claimed_by.is_(None), versions.c.lease_until < at)
    return and_(versions.c.state == DatasetState.PROCESSING, free)


def _datasets() -> Any:
    return select(datasets, func.coalesce(users.c.username, "").label("creator")).outerjoin(
        users, users.c.id == datasets.c.created_by
    )


def _with_creator(wanted: Any) -> Any:
    """Add the user name of who uploaded a version, empty without their account."""
    name = func.coalesce(users.c.username, "").label("creator")
    return wanted.add_columns(name).outerjoin_from(versions, users, users.c.id == versions.c.created_by)


def _version(row: Any) -> DatasetVersion:
    return record_of(DatasetVersion, row, state=DatasetState(row["state"]))


def _is(dataset_id: str, version: int) -> ColumnElement[bool]:
    return and_(versions.c.dataset_id == dataset_id, versions.c.version == version)


def _same_version(table: Table) -> ColumnElement[bool]:
    return and_(table.c.dataset_id == versions.c.dataset_id, table.c.version == versions.c.version)


def _held(version: DatasetVersion) -> ColumnElement[bool]:
    claimed = and_(versions.c.state == DatasetState.PROCESSING, versions.c.claimed_by == version.claimed_by)
    return and_(_is(version.dataset_id, version.version), claimed)


def _uploading(dataset_id: str, version: int) -> Any:
    return update(versions).where(_is(dataset_id, version), versions.c.state == DatasetState.UPLOADING)


def _used(connection: Connection, workspace_id: str, but: DatasetVersion | None = None) -> tuple[int, int]:
    """Return the bytes of living and of deleted datasets, without those of the version `but`."""
    has_parts = select(parts.c.number).where(_same_version(parts)).exists()
    kept = or_(versions.c.state.in_(("uploading", "processing", "uploaded")), has_parts)
    wanted = select(func.coalesce(func.sum(versions.c.size), 0)).join(datasets, datasets.c.id == versions.c.dataset_id)
    wanted = wanted.where(datasets.c.workspace_id == workspace_id, kept)
    if but is not None:
        wanted = wanted.where(~_is(but.dataset_id, but.version))
    gone = datasets.c.deleted_at.is_not(None)
    return int(connection.scalar(wanted.where(~gone)) or 0), int(connection.scalar(wanted.where(gone)) or 0)


def _known(connection: Connection, dataset: Dataset, file: DatasetFile) -> DatasetVersion | None:
    """Return the version of a dataset that this file is: the newest uploaded one, or one that did not get so far."""
    if not file.digest:
        return None
    same = and_(
        versions.c.dataset_id == dataset.id,
        versions.c.digest == file.digest,
        versions.c.size == file.size,
        versions.c.format == file.format,
        versions.c.version >= (dataset.version or 0),
        or_(versions.c.columns == file.columns, versions.c.state.in_(_UNFINISHED)),
    )
    row = connection.execute(select(versions).where(same).order_by(versions.c.version.desc())).mappings().first()
    return None if row is None else _version(row)


def _is_taken(connection: Connection, dataset: Dataset, file: DatasetFile) -> bool:
    """Return whether a dataset has an uploaded version, or one in its check that may be this very file."""
    checked = and_(versions.c.dataset_id == dataset.id, versions.c.state == DatasetState.PROCESSING)
    waiting = select(versions.c.version).where(checked).limit(1)
    return dataset.version is not None or (not file.digest and connection.scalar(waiting) is not None)


def _reopen(
    connection: Connection, known: DatasetVersion, file: DatasetFile, by: int | None, at: float
) -> DatasetVersion:
    """Continue an upload, or begin it again: its parts may still be there."""
    fields: dict[str, Any] = {"state": DatasetState.UPLOADING.value, "columns": file.columns}
    fields["file_name"] = plain(file.file_name)
    fields |= {"overwrite": file.overwrite, "faults": "", "ended_at": None, "updated_at": at, "created_by": by}
    fields["source"] = file.source
    connection.execute(update(versions).where(_is(known.dataset_id, known.version)).values(fields))
    return msgspec.structs.replace(known, **{**fields, "state": DatasetState.UPLOADING})


def _is_uploading(connection: Connection, dataset: Dataset) -> bool:
    """Return whether a dataset has a version that is not made of added rows, and may still be uploaded."""
    added = select(additions.c.number).where(_same_version(additions)).exists()
    unfinished = versions.c.state.in_((DatasetState.UPLOADING, DatasetState.PROCESSING))
    found = select(versions.c.version).where(versions.c.dataset_id == dataset.id, unfinished, ~added).limit(1)
    return connection.scalar(found) is not None


def _first_part(
    connection: Connection, dataset: Dataset, file: DatasetFile, by: int | None, at: float
) -> DatasetVersion:
    """Insert the next version, with the parts of an uploaded one of the same content."""
    version = _insert_version(connection, dataset, file, by, at, DatasetState.UPLOADING)
    same = and_(versions.c.dataset_id == dataset.id, versions.c.digest == file.digest, versions.c.size == file.size)
    same = and_(same, versions.c.state == DatasetState.UPLOADED, versions.c.part_size == PART_BYTES)
    older = connection.scalar(select(versions.c.version).where(same).order_by(versions.c.version.desc()).limit(1))
    if older is not None:
        copied = select(parts.c.dataset_id, literal(version.version), parts.c.number, parts.c.digest, parts.c.size)
        copied = copied.where(parts.c.dataset_id == dataset.id, parts.c.version == older)
        names = ["dataset_id", "version", "number", "digest", "size"]
        connection.execute(insert(parts).from_select(names, copied))
    return version


def _insert_version(
    connection: Connection, dataset: Dataset, file: DatasetFile, by: int | None, at: float, state: DatasetState
) -> DatasetVersion:
    """Insert the next version, without parts."""
    last = connection.scalar(select(func.max(versions.c.version)).where(versions.c.dataset_id == dataset.id)) or 0
    version = DatasetVersion(
        dataset_id=dataset.id,
        version=last + 1,
        state=state,
        file_name=file.file_name,
        format=file.format,
        size=file.size,
        part_size=PART_BYTES,
        digest=file.digest,
        overwrite=file.overwrite,
        columns=file.columns,
        created_by=by,
        created_at=at,
        updated_at=at,
        source=file.source,
    )
    fields = values_of(version, state=version.state.value)
    del fields["creator"]
    connection.execute(insert(versions).values(fields))
    return version


def pieces(store: Datasets, digests: Sequence[str], part_size: int, begin: int, end: int) -> Iterator[bytes]:
    """Yield the bytes from `begin` to before `end` of a file in parts of `part_size`."""
    for place in range(begin // part_size, -(-end // part_size)):
        data = store.read_part(digests[place])
        yield data[max(begin - place * part_size, 0) : end - place * part_size]
