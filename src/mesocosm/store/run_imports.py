"""Runs pushed to a server: bundles uploaded in parts, checked by a worker before their runs are stored."""

import time
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Update, and_, delete, func, insert, or_, select, update

from mesocosm.core.failure import Problem
from mesocosm.core.ids import digest, new_id
from mesocosm.store.bell import ring
from mesocosm.store.clock import now
from mesocosm.store.database import Database
from mesocosm.store.parts import PART_BYTES, UploadedParts, part_count, part_length
from mesocosm.store.rows import json_text, plain, record_of, values_of
from mesocosm.store.run_requests import RunRequest, request_from, request_values
from mesocosm.store.tenancy import requests
from mesocosm.store.tenancy import run_import_parts as parts
from mesocosm.store.tenancy import run_imports as imports

MOST_CHECKS = 3
"""Checks of a bundle after which it is an error: if each ends its worker, the bundle is at fault."""

_problems = msgspec.json.Decoder(list[Problem])


class ImportState(StrEnum):
    """State of an import."""

    UPLOADING = "uploading"
    PROCESSING = "processing"
    IMPORTED = "imported"
    ERROR = "error"


class ImportTaken(Exception):
    """Another worker has taken the check of an import over, so this one must store nothing."""


class ImportRoomFull(Exception):
    """The bundles of a person, or of a workspace (`shared`), already have `used` of the bytes that they may have."""

    def __init__(self, used: int, most: int, *, shared: bool) -> None:
        super().__init__(f"{used} of {most} bytes")
        self.used = used
        self.most = most
        self.shared = shared


class FolderFile(msgspec.Struct, frozen=True):
    """A file of an uploaded folder: its path in it, its size, and its SHA-256 in hexadecimal."""

    path: str
    size: int
    digest: str


class LocalEvaluation(msgspec.Struct, frozen=True, kw_only=True):
    """A run that the program `osmosis` of osmosis-ai has run, with the files of its folder. Times are UNIX seconds.

    `rows` are the indices of the selected rows in the dataset, as `0-2,7`; `source` is the digest of the rollout's
    code. `replaces`: its results take the place of those that were uploaded before.
    """

    name: str
    started_at: float
    completed_at: float
    rollout: str
    entrypoint: str
    model: str
    dataset: str
    dataset_digest: str
    rows: str
    source: str
    n: int
    pass_threshold: float
    branch: str = ""
    commit: str = ""
    configuration: str = ""
    dirty: bool = False
    sdk: str = ""
    replaces: bool = False
    files: tuple[FolderFile, ...]


class RunImport(msgspec.Struct, frozen=True, kw_only=True):
    """An upload of the bundle of one run, or of the folder of a LocalEvaluation (`evaluation` is it as JSON).

    Times are UNIX seconds. Parts are numbered from 1; those of a folder go on from file to file, and an empty file has
    one.

    `source` is the id of the run where it was played, on a machine called `host`. `digest` is the SHA-256 of the
    bundle. `run_id` is the run on this server, None until it is stored. `faults` is JSON.
    """

    id: str = ""
    actor: str
    actor_name: str = ""
    team_id: str | None = None
    workspace_id: str | None = None
    visibility: str = "private"
    source: str
    host: str = ""
    size: int
    part_size: int = 0
    digest: str
    state: ImportState = ImportState.UPLOADING
    run_id: str | None = None
    faults: str = "[]"
    evaluation: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0
    ended_at: float | None = None
    claimed_by: str | None = None
    lease_until: float | None = None
    tries: int = 0

    @property
    def local(self) -> LocalEvaluation | None:
        """The run of osmosis-ai; None for a bundle."""
        return _evaluation.decode(self.evaluation) if self.evaluation else None

    @property
    def part_count(self) -> int:
        """Number of parts."""
        local = self.local
        if local is None:
            return part_count(self.size, self.part_size)
        return sum(len(numbers) for _, numbers in self.numbered(local))

    def part_length(self, number: int) -> int:
        """Return the size of a part, counted from 1."""
        local = self.local
        if local is None:
            return part_length(self.size, self.part_size, number)
        file, numbers = next(one for one in self.numbered(local) if number in one[1])
        return part_length(file.size, self.part_size, number - numbers.start + 1)

    def numbered(self, local: LocalEvaluation) -> Iterator[tuple[FolderFile, range]]:
        """Yield the files of a folder with the numbers of their parts."""
        first = 1
        for file in local.files:
            end = first + max(part_count(file.size, self.part_size), 1)
            yield file, range(first, end)
            first = end

    @property
    def problems(self) -> list[Problem]:
        """What is wrong with the bundle."""
        return _problems.decode(self.faults)

    @property
    def target(self) -> str:
        """The id that the run gets on this server: the same for every push of it to the same place by one person.

        Ids of runs are foreign, so nobody may choose one that another run has.
        """
        return foreign_id(self.source, self.actor, self.team_id, self.workspace_id)


_evaluation = msgspec.json.Decoder(LocalEvaluation)


def foreign_id(given: str, *place: str | None) -> str:
    """Return the id by which something foreign is known here, in the form of our ids. It sorts by time, as they do."""
    own = digest([given, *place])
    time_part = digest([given])[:12]
    if len(given) == 36 and all(sign in "0123456789abcdef-" for sign in given):
        time_part = given.replace("-", "")[:12].ljust(12, "0")
    return f"{time_part[:8]}-{time_part[8:]}-7{own[:3]}-8{own[3:6]}-{own[6:18]}"


class RunImports:
    """Imports of runs."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._parts = UploadedParts(database, parts)

    def get(self, import_id: str) -> RunImport | None:
        """Return an import; None if it does not exist."""
        row = self._database.one(select(imports).where(imports.c.id == plain(import_id)))
        return None if row is None else _import(row)

    def list(self, actor: str, *, limit: int, cursor: str | None = None) -> Sequence[RunImport]:
        """Return the imports of a person, newest first; `cursor` is the last id seen."""
        query = select(imports).where(imports.c.actor == actor)
        if cursor is not None:
            query = query.where(imports.c.id < plain(cursor))
        return [_import(row) for row in self._database.all(query.order_by(imports.c.id.desc()).limit(limit))]

    def begin(self, wanted: RunImport, *, most_bytes: int, most_shared: int | None = None) -> RunImport:
        """Return the import to which the parts of a bundle go.

        The same bundle again is the same import. An unfinished upload of an earlier state of the run is removed. Raises
        ImportRoomFull if the person's imports would exceed `most_bytes`, or those of the workspace `most_shared`.
        """
        at, import_id = time.time(), new_id()
        same = and_(*(imports.c[name].is_not_distinct_from(getattr(wanted, name)) for name in _PLACE))

        def work(connection: Connection) -> RunImport:
            # SQLite has one writer anyway; in PostgreSQL two concurrent uploads could exceed the room.
            if self._database.postgres:
                for name in sorted({wanted.actor, wanted.workspace_id or wanted.actor}):
                    connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(f"imports:{name}"))))
            rows = connection.execute(select(imports).where(same).order_by(imports.c.id.desc())).mappings().all()
            known = next((found for found in map(_import, rows) if found.digest == wanted.digest), None)
            if known is not None and known.state in (ImportState.PROCESSING, ImportState.IMPORTED):
                return known
            for row in rows:
                if row["state"] in _UNFINISHED and (known is None or row["id"] != known.id):
                    self._remove(connection, row["id"])
            others = None if known is None else known.id
            _check_room(connection, wanted, imports.c.actor == wanted.actor, most_bytes, others)
            if wanted.workspace_id is not None and most_shared is not None:
                mine = imports.c.workspace_id == wanted.workspace_id
                _check_room(connection, wanted, mine, most_shared, others, shared=True)
            given = {name: getattr(wanted, name) for name in ("actor_name", "visibility", "host", "evaluation")}
            if known is not None:
                fields: dict[str, Any] = {**given, "faults": "[]", "ended_at": None, "updated_at": at}
                fields["state"] = ImportState.UPLOADING
                connection.execute(update(imports).where(imports.c.id == known.id).values(fields))
                return msgspec.structs.replace(known, **fields)
            new = msgspec.structs.replace(
                wanted, id=import_id, part_size=PART_BYTES, created_at=at, updated_at=at, state=ImportState.UPLOADING
            )
            connection.execute(insert(imports).values(values_of(new, state=new.state.value)))
            return new

        return self._database.write(work)

    def imported(self, wanted: RunImport) -> RunImport | None:
        """Return the import of the same run to the same place that was stored; None if there is none."""
        same = and_(*(imports.c[name].is_not_distinct_from(getattr(wanted, name)) for name in _PLACE))
        there = select(imports).where(same, imports.c.state == ImportState.IMPORTED).order_by(imports.c.id.desc())
        row = self._database.one(there.limit(1))
        return None if row is None else _import(row)

    def parts(self, import_id: str) -> dict[int, str]:
        """Return the digests of the parts that are there, by their numbers from 1."""
        return self._parts.digests(import_id)

    def read_part(self, digest: str) -> bytes:
        """Return the bytes of a part. Raises UnknownName if it was removed meanwhile."""
        return self._parts.read(digest)

    def add_part(self, wanted: RunImport, number: int, data: bytes) -> bool:
        """Store a part of an import that is being uploaded; return whether it still is."""
        return self._parts.add((wanted.id,), number, data, _uploading(wanted.id).values(updated_at=time.time()))

    def submit(self, wanted: RunImport) -> bool:
        """Queue an import for its check; return whether it is or was queued. False if parts are missing."""

        def work(connection: Connection) -> bool:
            state = connection.scalar(select(imports.c.state).where(imports.c.id == wanted.id).with_for_update())
            if state != ImportState.UPLOADING:
                return state in (ImportState.PROCESSING, ImportState.IMPORTED)
            if self._parts.total(connection, wanted.id) != (wanted.part_count, wanted.size):
                return False
            fields = {"state": ImportState.PROCESSING.value, "updated_at": time.time(), "tries": 0}
            connection.execute(_uploading(wanted.id).values(**fields, claimed_by=None, lease_until=None))
            ring(connection)
            return True

        return self._database.write(work)

    def abort(self, wanted: RunImport) -> bool:
        """Remove an import that is being uploaded or was refused; return whether it was there."""

        def work(connection: Connection) -> bool:
            mine = and_(imports.c.id == wanted.id, imports.c.state.in_(_UNFINISHED))
            there = connection.scalar(select(imports.c.id).where(mine).with_for_update()) is not None
            if there:
                self._remove(connection, wanted.id)
            return there

        return self._database.write(work)

    def drop_abandoned(self, older_than_s: float = 86_400.0) -> int:
        """Remove uploads without a new part, and refused ones, since this time; return how many."""
        before = time.time() - older_than_s
        old = and_(imports.c.state.in_(_UNFINISHED), imports.c.updated_at < before)
        count = 0
        for row in self._database.all(select(imports.c.id).where(old)):

            def work(connection: Connection, import_id: str = row["id"]) -> bool:
                still = select(imports.c.id).where(imports.c.id == import_id, old).with_for_update()
                if connection.scalar(still) is None:
                    return False
                self._remove(connection, import_id)
                return True

            count += self._database.write(work)
        return count

    def claim(self, worker_id: str, lease_s: float) -> RunImport | None:
        """Lease the import that has waited longest for its check; None if none waits.

        One with an expired lease is taken over; after `MOST_CHECKS` workers it is an error.
        """

        def work(connection: Connection) -> RunImport | None:
            at = now(connection)
            waiting = select(imports).where(import_waits(at)).order_by(imports.c.updated_at, imports.c.id).limit(1)
            while True:
                row = connection.execute(waiting.with_for_update(skip_locked=True)).mappings().first()
                if row is None:
                    return None
                found = _import(row)
                if found.tries < MOST_CHECKS:
                    fields = {"claimed_by": worker_id, "lease_until": at + lease_s, "tries": found.tries + 1}
                    connection.execute(update(imports).where(imports.c.id == found.id).values(fields))
                    return msgspec.structs.replace(found, **fields)
                words = f"{MOST_CHECKS} checks of this run did not come to an end"
                self._refuse(connection, found, [Problem("", words, "ask the administrators of the server")])

        return self._database.write(work)

    def renew(self, claimed: RunImport, lease_s: float) -> bool:
        """Extend the lease on a claimed check; False if it is over, or belongs to another worker."""

        def work(connection: Connection) -> bool:
            renewed = update(imports).where(_held(claimed)).values(lease_until=now(connection) + lease_s)
            return bool(connection.execute(renewed).rowcount)

        return self._database.write(work)

    def release(self, claimed: RunImport) -> None:
        """Return a claimed check to the queue without counting the try."""
        fields = {"claimed_by": None, "lease_until": None, "tries": max(claimed.tries - 1, 0)}
        self._database.execute(update(imports).where(_held(claimed)).values(fields))

    def refuse(self, claimed: RunImport, problems: Sequence[Problem]) -> bool:
        """Store what is wrong with a claimed import and remove its parts; False if the claim was lost."""

        def work(connection: Connection) -> bool:
            held = connection.scalar(select(imports.c.id).where(_held(claimed)).with_for_update()) is not None
            if held:
                self._refuse(connection, claimed, problems)
            return held

        return self._database.write(work)

    def ending(self, claimed: RunImport, request: RunRequest) -> Callable[[Connection], None]:
        """Return what ends a claimed import in the transaction that stores its run. It raises ImportTaken.

        The request of the run is inserted. If it has one from an earlier push of a state that was not further, that
        one gets the new origin (`config`). The parts and earlier imports of the same run are removed.
        """

        def work(connection: Connection) -> None:
            fields: dict[str, Any] = {"state": ImportState.IMPORTED.value, "run_id": request.run_id}
            fields |= {"ended_at": time.time(), "claimed_by": None, "lease_until": None, "faults": "[]"}
            if not connection.execute(update(imports).where(_held(claimed)).values(fields)).rowcount:
                raise ImportTaken
            _set_origin(self._database, connection, request)
            self._parts.drop(connection, claimed.id)
            earlier = and_(imports.c.run_id == request.run_id, imports.c.id != claimed.id)
            connection.execute(delete(imports).where(earlier))

        return work

    def _refuse(self, connection: Connection, claimed: RunImport, problems: Sequence[Problem]) -> None:
        fields: dict[str, Any] = {"state": ImportState.ERROR.value, "faults": json_text(problems)}
        fields |= {"ended_at": time.time(), "updated_at": time.time(), "claimed_by": None, "lease_until": None}
        connection.execute(update(imports).where(imports.c.id == claimed.id).values(fields))
        self._parts.drop(connection, claimed.id)

    def _remove(self, connection: Connection, import_id: str) -> None:
        self._parts.drop(connection, import_id)
        connection.execute(delete(imports).where(imports.c.id == import_id))


_PLACE = ("actor", "team_id", "workspace_id", "source")
_UNFINISHED = (ImportState.UPLOADING.value, ImportState.ERROR.value)


def import_waits(at: float) -> ColumnElement[bool]:
    """Return the condition of imports whose check no worker has leased."""
    free = or_(imports.c.claimed_by.is_(None), imports.c.lease_until < at)
    return and_(imports.c.state == ImportState.PROCESSING, free)


def _import(row: Any) -> RunImport:
    return record_of(RunImport, row, state=ImportState(row["state"]))


def _set_origin(database: Database, connection: Connection, request: RunRequest) -> None:
    """Insert the request of an imported run, or write its origin into the one of an earlier push."""
    mine = requests.c.run_id == request.run_id
    row = connection.execute(select(requests).where(mine).with_for_update()).mappings().one_or_none()
    if row is None:
        connection.execute(database.insert(requests).values(request_values(request)).on_conflict_do_nothing())
    elif _episodes(request_from(row)) <= _episodes(request):
        values = request_values(request)
        changed = {name: values[name] for name in ("config", "ended_at")}
        connection.execute(update(requests).where(mine).values(changed))


def _episodes(request: RunRequest) -> int:
    """Return how many finished episodes an imported run had when it was pushed."""
    return int(request.config.get("imported", {}).get("episodes", 0))


def _check_room(
    connection: Connection,
    wanted: RunImport,
    whose: ColumnElement[bool],
    most: int,
    known: str | None,
    *,
    shared: bool = False,
) -> None:
    """Raise ImportRoomFull if the other imports of a person or a workspace leave no room for `wanted`."""
    taken = and_(whose, imports.c.state != ImportState.ERROR)
    if known is not None:
        taken = and_(taken, imports.c.id != known)
    used = int(connection.scalar(select(func.coalesce(func.sum(imports.c.size), 0)).where(taken)) or 0)
    if used + wanted.size > most:
        raise ImportRoomFull(used, most, shared=shared)


def _held(claimed: RunImport) -> ColumnElement[bool]:
    mine = and_(imports.c.state == ImportState.PROCESSING, imports.c.claimed_by == claimed.claimed_by)
    return and_(imports.c.id == claimed.id, mine)


def _uploading(import_id: str) -> Update:
    return update(imports).where(imports.c.id == import_id, imports.c.state == ImportState.UPLOADING)
