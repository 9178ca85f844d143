"""Domains, on which runs are started, and the protocols of their official runs."""

import time
from collections.abc import Collection
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, RowMapping, and_, false, func, or_, select, update
from sqlalchemy.exc import IntegrityError

from mesocosm.store.database import Database
from mesocosm.store.rows import json_text, plain, record_of, values_of
from mesocosm.store.run_requests import PRIVATE
from mesocosm.store.tenancy import domains, environments, protocols, requests
from mesocosm.store.tenancy import environment_versions as versions

_objects = msgspec.json.Decoder(dict[str, Any])


class DomainRow(msgspec.Struct, frozen=True):
    """A domain. `document` is what clients see (server.schemas.domain.Domain); times are UNIX seconds.

    `team_id` is that of the domain's environment, `verdict` that of the environment version in use; None if there is
    none. Both are joined on reading and not stored in this table.
    """

    id: str
    owner_id: int | None
    environment_id: str | None
    status: str
    name: str
    document: dict[str, Any]
    created_at: float
    updated_at: float
    team_id: str | None = None
    verdict: str | None = None

    @property
    def actor(self) -> str:
        """The owner: `team:ID` if its environment belongs to a team (former members lose access), else `user:ID`."""
        return f"user:{self.owner_id}" if self.team_id is None else f"team:{self.team_id}"


class Domains:
    """Domains."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, domain_id: str) -> DomainRow | None:
        """Return a domain of any status; None if the id is unknown."""
        wanted = _SELECTED.where(domains.c.id == plain(domain_id))
        found = self._database.one(wanted)
        return None if found is None else _row_from(found)

    def some(self, domain_ids: Collection[str]) -> dict[str, DomainRow]:
        """Return the existing ones of the given domains, by id."""
        wanted = _SELECTED.where(domains.c.id.in_([plain(one) for one in domain_ids]))
        return {row["id"]: _row_from(row) for row in self._database.all(wanted)}

    def of_environment(self, environment_id: str) -> DomainRow | None:
        """Return the newest domain made from an environment, None if there is none."""
        wanted = _SELECTED.where(domains.c.environment_id == plain(environment_id))
        wanted = wanted.order_by(domains.c.created_at.desc()).limit(1)
        found = self._database.one(wanted)
        return None if found is None else _row_from(found)

    def add(self, row: DomainRow) -> bool:
        """Add a domain; return False and change nothing if its id is taken. Adding the same row again returns True."""
        values = _values(row)
        known = select(domains.c.created_at).where(domains.c.id == values["id"])

        def work(connection: Connection) -> bool:
            at = connection.scalar(known)
            if at is None:
                connection.execute(domains.insert().values(values))
            return at is None or at == values["created_at"]

        try:
            return self._database.write(work)
        except IntegrityError:
            if self.get(row.id) is None:
                raise
            return False

    def replace(self, row: DomainRow, *, seen_at: float | None = None) -> bool:
        """Overwrite a domain; return False if it does not exist or was changed by someone else.

        `seen_at` is the `updated_at` of the row that the new one is based on; None overwrites in any case.
        """
        changed = update(domains).where(domains.c.id == plain(row.id)).values(_values(row))
        if seen_at is not None:
            changed = changed.where(domains.c.updated_at.in_((seen_at, row.updated_at)))
        return self._database.execute(changed) > 0

    def archive(self, domain_id: str) -> bool:
        """Archive a domain and make its public runs private, atomically; return whether the domain exists."""
        domain_id = plain(domain_id)
        changed = update(domains).where(domains.c.id == domain_id).values(status="archived", updated_at=time.time())
        hidden = update(requests).where(requests.c.domain_id == domain_id, requests.c.visibility != PRIVATE)

        def work(connection: Connection) -> bool:
            connection.execute(hidden.values(visibility=PRIVATE))
            return connection.execute(changed).rowcount > 0

        return self._database.write(work)

    def owned_by(self, user_id: int) -> int:
        """Return the number of domains that a user registered without an environment."""
        wanted = select(func.count()).where(domains.c.owner_id == user_id, domains.c.environment_id.is_(None))
        return self._database.scalar(wanted) or 0

    def played(self, domain_id: str, vow_version: str) -> bool:
        """Return whether runs under this version of a domain's vow were submitted; test episodes do not count."""
        wanted = select(requests.c.run_id).where(
            requests.c.domain_id == plain(domain_id),
            requests.c.vow_version == plain(vow_version),
            requests.c.purpose != "test",
        )
        return self._database.read(lambda connection: connection.scalar(wanted.limit(1)) is not None)

    def list(
        self,
        *,
        statuses: Collection[str] | None = None,
        insider: tuple[int | None, Collection[str]] | None = None,
        after: DomainRow | None = None,
        limit: int = 100,
    ) -> tuple[DomainRow, ...]:
        """Return domains, newest first, starting after `after`.

        `statuses` keeps only domains of these statuses. With `insider` (a user id and the ids of their teams), domains
        that are not published, or were not before they were archived, are listed only if they belong to these.
        """
        wanted = _SELECTED.order_by(domains.c.created_at.desc(), domains.c.id.desc()).limit(limit)
        if statuses is not None:
            wanted = wanted.where(domains.c.status.in_(list(statuses)))
        if insider is not None:
            wanted = wanted.where(or_(_SHOWN, _theirs(*insider)))
        if after is not None:
            wanted = wanted.where(
                or_(
                    domains.c.created_at < after.created_at,
                    and_(domains.c.created_at == after.created_at, domains.c.id < after.id),
                )
            )
        return tuple(map(_row_from, self._database.all(wanted)))


_SELECTED = (
    select(domains, environments.c.team_id, versions.c.verdict)
    .outerjoin(environments, environments.c.id == domains.c.environment_id)
    .outerjoin(
        versions,
        and_(versions.c.environment_id == environments.c.id, versions.c.version == environments.c.ready_version),
    )
)

_SHOWN = or_(
    domains.c.status == "published",
    # Quotes inside JSON strings are escaped. An author's own key of this name can only hide the domain from lists.
    and_(domains.c.status == "archived", domains.c.document.not_like('%"published_at":null%')),
)


def _theirs(user_id: int | None, team_ids: Collection[str]) -> ColumnElement[bool]:
    alone = environments.c.team_id.is_(None)
    owned = false() if user_id is None else and_(domains.c.owner_id == user_id, alone)
    return or_(owned, environments.c.team_id.in_(list(team_ids)))


def _values(row: DomainRow) -> dict[str, Any]:
    values = values_of(row, document=json_text(row.document))
    del values["team_id"], values["verdict"]
    return values


def _row_from(row: RowMapping) -> DomainRow:
    return record_of(DomainRow, row, document=_objects.decode(row["document"]))


class ProtocolRow(msgspec.Struct, frozen=True):
    """A protocol. `terms` are the fields of server.schemas.protocol.Protocol without those that have a column here."""

    domain_id: str
    version: int
    terms: dict[str, Any]
    created_by: str
    created_at: float


class Protocols:
    """Protocols of domains."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, domain_id: str, terms: dict[str, Any], by: str, at: float) -> ProtocolRow:
        """Return the newest protocol of a domain if it has these terms, else add a version with them and return it."""
        domain_id = plain(domain_id)
        last = select(protocols).where(protocols.c.domain_id == domain_id).order_by(protocols.c.version.desc()).limit(1)

        def work(connection: Connection) -> ProtocolRow:
            if self._database.postgres:
                connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(f"protocols:{domain_id}"))))
            known = connection.execute(last).mappings().one_or_none()
            newest = None if known is None else _protocol_row(known)
            if newest is not None and newest.terms == terms:
                return newest
            row = ProtocolRow(domain_id, 1 if newest is None else newest.version + 1, terms, by, at)
            connection.execute(protocols.insert().values(values_of(row, terms=json_text(terms))))
            return row

        return self._database.write(work)

    def all(self, domain_id: str) -> tuple[ProtocolRow, ...]:
        """Return the protocols of a domain, newest first."""
        wanted = select(protocols).where(protocols.c.domain_id == plain(domain_id)).order_by(protocols.c.version.desc())
        return tuple(map(_protocol_row, self._database.all(wanted)))


def _protocol_row(fields: RowMapping) -> ProtocolRow:
    return record_of(ProtocolRow, fields, terms=_objects.decode(fields["terms"]))
