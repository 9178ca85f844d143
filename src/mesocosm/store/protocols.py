"""Protocols of domains: how their official runs are played. Rows are written once and never changed."""

from typing import Any

import msgspec
from sqlalchemy import Connection, RowMapping, func, select

from mesocosm.store.database import Database
from mesocosm.store.rows import json_text, plain
from mesocosm.store.tenancy import protocols


class ProtocolRow(msgspec.Struct, frozen=True):
    """A protocol. `terms` are all fields of server.schemas.protocol.Protocol but those that stand beside them."""

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
        """Return the newest protocol of a domain if it has these terms, else a new version with them."""
        domain_id = plain(domain_id)
        last = select(protocols).where(protocols.c.domain_id == domain_id).order_by(protocols.c.version.desc()).limit(1)

        def work(connection: Connection) -> ProtocolRow:
            if self._database.postgres:
                connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(f"protocols:{domain_id}"))))
            known = connection.execute(last).mappings().one_or_none()
            newest = None if known is None else _row(known)
            if newest is not None and newest.terms == terms:
                return newest
            row = ProtocolRow(domain_id, 1 if newest is None else newest.version + 1, terms, by, at)
            connection.execute(protocols.insert().values({**msgspec.structs.asdict(row), "terms": json_text(terms)}))
            return row

        return self._database.write(work)

    def all(self, domain_id: str) -> tuple[ProtocolRow, ...]:
        """Return the protocols of a domain, the newest first."""
        wanted = select(protocols).where(protocols.c.domain_id == plain(domain_id)).order_by(protocols.c.version.desc())
        return self._database.read(lambda connection: tuple(map(_row, connection.execute(wanted).mappings())))


def _row(fields: RowMapping) -> ProtocolRow:
    return ProtocolRow(**{**fields, "terms": msgspec.json.decode(fields["terms"], type=dict[str, Any])})
