"""Submitted environments and their versions: the build queue and the results of builds."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, RowMapping, Select, and_, func, insert, or_, select, true, update

from mesocosm.store.bell import ring
from mesocosm.store.clock import now
from mesocosm.store.database import Database
from mesocosm.store.rows import json_text, plain, record_of, values_of
from mesocosm.store.tenancy import environment_versions as versions
from mesocosm.store.tenancy import environments

MOST_TRIES = 3
"""Attempts per build: if it crashes its worker each time, the build itself is at fault."""


class BuildState(StrEnum):
    """State of one version. All but the last two are states of an unfinished build."""

    QUEUED = "queued"
    CLONING = "cloning"
    CHECKING = "checking"
    INSTALLING = "installing"
    TESTING = "testing"
    READY = "ready"
    FAILED = "failed"

    @property
    def over(self) -> bool:
        """Whether the state is final."""
        return self in (BuildState.READY, BuildState.FAILED)

    @property
    def status(self) -> str:
        """The status of an environment whose newest version is in this state."""
        if self is BuildState.QUEUED:
            return "pending"
        return self.value if self.over else "cloning"


_UNFINISHED = tuple(state.value for state in BuildState if not state.over)


class EnvironmentRow(msgspec.Struct, frozen=True, kw_only=True):
    """A submitted environment. Times are UNIX seconds; `status` is pending, cloning, ready or failed.

    `version` is the newest submission, `ready_version` the newest one that was built: runs use it even if later
    submissions failed. `domain_history` are the domains that it had before.
    """

    id: str
    holder_key: str
    owner_id: int | None = None
    team_id: str | None = None
    name: str = ""
    description: str = ""
    source: str = ""
    ref: str = ""
    folder: str = ""
    status: str = "pending"
    error: str = ""
    domain_id: str | None = None
    domain_history: tuple[dict[str, Any], ...] = ()
    version: int = 1
    ready_version: int | None = None
    created_at: float = 0.0
    resubmitted_at: float | None = None
    deleted_at: float | None = None

    @property
    def actor(self) -> str:
        """The owner: `user:ID`, or `team:ID`, so that former members of the team lose access."""
        return self.holder_key

    @property
    def scope(self) -> str:
        """`solo` or `team`."""
        return "team" if self.holder_key.startswith("team:") else "solo"


class VersionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One submission of an environment. `manifest` is the text of the file at `manifest_path` (relative to the source).

    `digest` covers all files that can change its behaviour. `log` contains the notes of the build. `verdict` is an
    environments.check.CheckReport as JSON, empty until it is known.
    """

    environment_id: str
    version: int
    state: BuildState = BuildState.QUEUED
    source: str = ""
    ref: str = ""
    folder: str = ""
    commit_id: str = ""
    manifest: str = ""
    manifest_path: str = ""
    digest: str = ""
    error: str = ""
    log: str = ""
    submitted_by: int | None = None
    created_at: float = 0.0
    ended_at: float | None = None
    claimed_by: str | None = None
    lease_until: float | None = None
    tries: int = 0
    verdict: str = ""


class SubmissionOutcome(StrEnum):
    """Result of a submission."""

    NEW = "new"
    AGAIN = "again"
    BUILDING = "building"
    FULL = "full"


class Submitted(msgspec.Struct, frozen=True):
    """Result of a submission; `environment` is None if the owner has reached the maximum (`full`)."""

    verdict: SubmissionOutcome
    environment: EnvironmentRow | None = None


class Environments:
    """Submitted environments and their versions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, environment: EnvironmentRow, *submissions: VersionRow) -> None:
        """Insert an environment with its versions; existing rows stay."""

        def work(connection: Connection) -> None:
            statement = self._database.insert(environments).values(_values(environment))
            connection.execute(statement.on_conflict_do_nothing())
            for row in submissions:
                statement = self._database.insert(versions).values(_values(row))
                connection.execute(statement.on_conflict_do_nothing())

        self._database.write(work)

    def submit(self, wanted: EnvironmentRow, *, most: int) -> Submitted:
        """Queue the next version of the owner's environment with this source and folder, or the first of a new one.

        The id of `wanted` is used only for a new environment. `most` is the maximum number of environments of the
        owner.
        """

        def work(connection: Connection) -> Submitted:
            self._lock(connection, wanted.holder_key)
            mine = and_(environments.c.holder_key == wanted.holder_key, environments.c.deleted_at.is_(None))
            same = and_(mine, environments.c.source == wanted.source, environments.c.folder == wanted.folder)
            known = connection.execute(select(environments).where(same)).mappings().first()
            ring(connection)
            if known is not None:
                return _again(connection, environment_from(known), wanted)
            if (connection.scalar(select(func.count()).select_from(environments).where(mine)) or 0) >= most:
                return Submitted(SubmissionOutcome.FULL)
            connection.execute(insert(environments).values(_values(wanted)))
            connection.execute(insert(versions).values(_values(_first(wanted))))
            return Submitted(SubmissionOutcome.NEW, wanted)

        return self._database.write(work)

    def retry(self, environment_id: str, *, by: int | None, at: float) -> EnvironmentRow | None:
        """Queue the next version with the source of the newest one.

        Return None if that one did not fail or does not exist.
        """

        def work(connection: Connection) -> EnvironmentRow | None:
            row = _one(connection, environment_id, lock=True)
            if row is None or (row.status != "failed" and row.resubmitted_at != at):
                return None
            wanted = msgspec.structs.replace(row, owner_id=by if by is not None else row.owner_id, created_at=at)
            return _again(connection, row, wanted).environment

        return self._database.write(work)

    def get(self, environment_id: str, *, deleted: bool = False) -> EnvironmentRow | None:
        """Return an environment, None if it does not exist. Deleted ones are returned only if `deleted`."""
        row = self._database.read(lambda connection: _one(connection, environment_id))
        return None if row is None or (row.deleted_at is not None and not deleted) else row

    def version(self, environment_id: str, version: int) -> VersionRow | None:
        """Return one version, also of deleted environments; None if it does not exist."""
        wanted = select(versions).where(versions.c.environment_id == plain(environment_id))
        wanted = wanted.where(versions.c.version == version)
        row = self._database.one(wanted)
        return None if row is None else version_from(row)

    def versions(
        self, environment_id: str, *, limit: int | None = None, before: int | None = None
    ) -> tuple[VersionRow, ...]:
        """Return the versions of an environment without their logs, newest first.

        `before` keeps only older versions.
        """
        columns = [column for column in versions.c if column.name != "log"]
        wanted = select(*columns).where(versions.c.environment_id == plain(environment_id))
        if before is not None:
            wanted = wanted.where(versions.c.version < before)
        wanted = wanted.order_by(versions.c.version.desc()).limit(limit)
        return tuple(map(version_from, self._database.all(wanted)))

    def list_of(
        self,
        *,
        user_id: int | None = None,
        team_ids: Sequence[str] = (),
        everybody: bool = False,
        domain_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> tuple[EnvironmentRow, ...]:
        """Return environments of a user's own and of teams, or all if `everybody`, newest first, without deleted ones.

        `cursor` is the id of the last one of the previous page.
        """
        holders = [*([f"user:{user_id}"] if user_id is not None else []), *(f"team:{team}" for team in team_ids)]
        wanted = select(environments).where(environments.c.deleted_at.is_(None))
        if not everybody:
            wanted = wanted.where(environments.c.holder_key.in_(holders))
        if domain_id is not None:
            wanted = wanted.where(environments.c.domain_id == plain(domain_id))
        if cursor is not None:
            wanted = wanted.where(environments.c.id < plain(cursor))
        wanted = wanted.order_by(environments.c.id.desc()).limit(limit)
        return tuple(map(environment_from, self._database.all(wanted)))

    def stages(self, environment_ids: Sequence[str]) -> dict[str, str]:
        """Return the states of the newest versions of the given environments, by id."""
        newest = and_(versions.c.environment_id == environments.c.id, versions.c.version == environments.c.version)
        wanted = select(environments.c.id, versions.c.state).join(versions, newest)
        wanted = wanted.where(environments.c.id.in_(list(environment_ids)))
        return {row[0]: row[1] for row in self._database.read(lambda connection: connection.execute(wanted).all())}

    def verdicts(self, environment_ids: Sequence[str]) -> dict[str, str]:
        """Return the verdicts on the versions in use of the given environments, by id."""
        used = and_(versions.c.environment_id == environments.c.id, versions.c.version == environments.c.ready_version)
        wanted = select(environments.c.id, versions.c.verdict).join(versions, used)
        wanted = wanted.where(environments.c.id.in_(list(environment_ids)))
        return {row[0]: row[1] for row in self._database.read(lambda connection: connection.execute(wanted).all())}

    def ready_for_domain(
        self, domain_id: str, *, user_id: int | None = None, team_id: str | None = None
    ) -> tuple[EnvironmentRow, ...]:
        """Return the environments of a domain that have a built version, newest first.

        Only those of the team if one is given, else of the user's own; all of them if neither is given.
        """
        teams = [team_id] if team_id is not None else []
        alone = user_id if team_id is None else None
        everybody = team_id is None and user_id is None
        found = self.list_of(user_id=alone, team_ids=teams, everybody=everybody, domain_id=domain_id)
        return tuple(row for row in found if row.ready_version is not None)

    def delete(self, environment_id: str, at: float) -> None:
        """Mark an environment as deleted and fail its unfinished builds. The row stays."""

        def work(connection: Connection) -> None:
            alive = and_(environments.c.id == environment_id, environments.c.deleted_at.is_(None))
            connection.execute(update(environments).where(alive).values(deleted_at=at))
            going = and_(versions.c.environment_id == environment_id, versions.c.state.in_(_UNFINISHED))
            words = "the environment was deleted while this version was being built"
            over = {"state": BuildState.FAILED.value, "error": words, "ended_at": at, "claimed_by": None}
            connection.execute(update(versions).where(going).values(over))

        self._database.write(work)

    def claim_build(self, worker_id: str, lease_s: float) -> VersionRow | None:
        """Lease the next queued version for `lease_s` seconds; None if nothing is waiting.

        Fair between owners: first the one with the fewest running builds, then the one with the oldest last build, then
        the version that has waited longest. A version with an expired lease is taken over; after `MOST_TRIES` workers
        it fails.
        """
        at = self._database.read(now)
        until = at + lease_s
        waiting = _waiting(at)
        mine = select(versions).where(versions.c.claimed_by == worker_id, versions.c.lease_until == until)

        def work(connection: Connection) -> VersionRow | None:
            taken = connection.execute(mine).mappings().first()
            while taken is None:
                found = connection.execute(waiting).mappings().first()
                if found is None:
                    return None
                row = version_from(found)
                if row.tries >= MOST_TRIES:
                    _give_up(connection, row, at)
                    continue
                fields = {"claimed_by": worker_id, "lease_until": until, "tries": row.tries + 1}
                connection.execute(update(versions).where(_is(row)).values(fields))
                return msgspec.structs.replace(row, **fields)
            return version_from(taken)

        return self._database.write(work)

    def renew_build(self, version: VersionRow, lease_s: float) -> bool:
        """Extend the lease on a claimed version; False if it has ended, was deleted, or belongs to another worker."""
        held = and_(_is(version), _held(version), versions.c.ended_at.is_(None))

        def work(connection: Connection) -> bool:
            renewed = update(versions).where(held).values(lease_until=now(connection) + lease_s)
            return bool(connection.execute(renewed).rowcount)

        return self._database.write(work)

    def release_build(self, version: VersionRow) -> None:
        """Return a claimed version to the queue without counting the try."""
        held = and_(_is(version), _held(version), versions.c.ended_at.is_(None))
        fields = {"state": "queued", "claimed_by": None, "lease_until": None, "tries": max(version.tries - 1, 0)}

        def work(connection: Connection) -> None:
            if connection.execute(update(versions).where(held).values(fields)).rowcount:
                _tell(connection, msgspec.structs.replace(version, state=BuildState.QUEUED))

        self._database.write(work)

    def save_version(self, version: VersionRow, *, domain_id: str | None = None) -> bool:
        """Store the outcome of a claimed version and update its environment; False if the claim was lost.

        `domain_id` is the domain that a ready version was published as.
        """
        fields = {name: value for name, value in _values(version).items() if name in _BUILT}
        held = and_(
            _is(version), _held(version), or_(versions.c.ended_at.is_(None), versions.c.ended_at == version.ended_at)
        )

        def work(connection: Connection) -> bool:
            if not connection.execute(update(versions).where(held).values(fields)).rowcount:
                return False
            _tell(connection, version, domain_id)
            return True

        return self._database.write(work)

    def _lock(self, connection: Connection, holder_key: str) -> None:
        # SQLite has one writer anyway; in PostgreSQL two concurrent submissions of one owner could exceed the limit.
        if self._database.postgres:
            connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(holder_key))))


_BUILT = frozenset({"state", "commit_id", "manifest", "manifest_path", "digest", "verdict", "error", "log", "ended_at"})


def environment_from(fields: RowMapping) -> EnvironmentRow:
    """Return the environment of a row."""
    history = tuple(msgspec.json.decode(fields["domain_history"], type=list[dict[str, Any]]))
    return record_of(EnvironmentRow, fields, domain_history=history)


def version_from(fields: RowMapping) -> VersionRow:
    """Return the version of a row."""
    return record_of(VersionRow, fields, state=BuildState(fields["state"]))


def _values(row: EnvironmentRow | VersionRow) -> dict[str, Any]:
    if isinstance(row, EnvironmentRow):
        return values_of(row, domain_history=json_text(row.domain_history))
    return values_of(row, state=row.state.value)


def _one(connection: Connection, environment_id: str, *, lock: bool = False) -> EnvironmentRow | None:
    wanted = select(environments).where(environments.c.id == plain(environment_id))
    row = connection.execute(wanted.with_for_update() if lock else wanted).mappings().first()
    return None if row is None else environment_from(row)


def _first(wanted: EnvironmentRow) -> VersionRow:
    return VersionRow(
        environment_id=wanted.id,
        version=wanted.version,
        source=wanted.source,
        ref=wanted.ref,
        folder=wanted.folder,
        submitted_by=wanted.owner_id,
        created_at=wanted.created_at,
    )


def _again(connection: Connection, known: EnvironmentRow, wanted: EnvironmentRow) -> Submitted:
    """Queue the next version of `known`; owner and time of the submission are those of `wanted`."""
    if known.id == wanted.id and known.version == 1 and known.created_at == wanted.created_at:
        return Submitted(SubmissionOutcome.NEW, known)
    if known.resubmitted_at == wanted.created_at:
        return Submitted(SubmissionOutcome.AGAIN, known)
    if known.status in ("pending", "cloning"):
        return Submitted(SubmissionOutcome.BUILDING, known)
    row = msgspec.structs.replace(
        known,
        name=wanted.name,
        description=wanted.description,
        ref=wanted.ref,
        status="pending",
        error="",
        version=known.version + 1,
        resubmitted_at=wanted.created_at,
    )
    connection.execute(update(environments).where(environments.c.id == known.id).values(_values(row)))
    by = {"owner_id": wanted.owner_id, "created_at": wanted.created_at}
    connection.execute(insert(versions).values(_values(_first(msgspec.structs.replace(row, **by)))))
    return Submitted(SubmissionOutcome.AGAIN, row)


def _is(version: VersionRow) -> ColumnElement[bool]:
    return and_(versions.c.environment_id == version.environment_id, versions.c.version == version.version)


def _held(version: VersionRow) -> ColumnElement[bool]:
    return versions.c.claimed_by == version.claimed_by if version.claimed_by is not None else true()


def _waiting(now: float) -> Select[Any]:
    """Return the query for the version to build next."""
    others, theirs = versions.alias(), environments.alias()
    same = others.c.environment_id == theirs.c.id
    known = select(func.count()).select_from(others.join(theirs, same))
    known = known.where(theirs.c.holder_key == environments.c.holder_key)
    going = known.where(others.c.state.in_(_UNFINISHED), others.c.lease_until >= now)
    last = known.with_only_columns(func.coalesce(func.max(others.c.ended_at), 0.0))
    free = or_(versions.c.claimed_by.is_(None), versions.c.lease_until < now)
    return (
        select(versions)
        .join(environments, environments.c.id == versions.c.environment_id)
        .where(versions.c.state.in_(_UNFINISHED), free)
        .order_by(going.scalar_subquery(), last.scalar_subquery(), versions.c.created_at, versions.c.environment_id)
        .limit(1)
        .with_for_update(of=versions, skip_locked=True)
    )


def _give_up(connection: Connection, version: VersionRow, now: float) -> None:
    words = (
        f"{MOST_TRIES} workers ended while they built this version; it may need more memory than there is. "
        "Make it smaller, or ask the server's administrators, then submit it again"
    )
    over = msgspec.structs.replace(version, state=BuildState.FAILED, error=words, ended_at=now)
    fields = {name: value for name, value in _values(over).items() if name in _BUILT}
    connection.execute(update(versions).where(_is(version)).values(fields))
    _tell(connection, over)


def _tell(connection: Connection, version: VersionRow, domain_id: str | None = None) -> None:
    """Update an environment from the state of its version."""
    fields: dict[str, Any] = {"status": version.state.status, "error": plain(version.error)}
    newest = and_(environments.c.id == version.environment_id, environments.c.version == version.version)
    connection.execute(update(environments).where(newest).values(fields))
    if version.state is not BuildState.READY:
        return
    own = environments.c.id == version.environment_id
    older = or_(environments.c.ready_version.is_(None), environments.c.ready_version < version.version)
    titles = {name: plain(value) for name, value in _titles(version.manifest).items()}
    connection.execute(update(environments).where(own, older).values(ready_version=version.version, **titles))
    if domain_id is not None:
        row = _one(connection, version.environment_id)
        if row is not None and row.domain_id != domain_id:
            gone = [{"domain_id": row.domain_id, "version": version.version - 1}] if row.domain_id else []
            history = json_text([*row.domain_history, *gone])
            connection.execute(update(environments).where(own).values(domain_id=domain_id, domain_history=history))


def _titles(manifest: str) -> dict[str, str]:
    """Return the name and description of the environment in a manifest, by column name."""
    try:
        raw = msgspec.json.decode(manifest, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}
    described = raw.get("description") or raw.get("detail")
    given = {"name": raw.get("name"), "description": described}
    return {name: value for name, value in given.items() if isinstance(value, str) and value}
