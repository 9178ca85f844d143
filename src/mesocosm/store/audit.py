"""The audit log."""

import json
import time
from collections.abc import Mapping
from typing import Any

import msgspec
from sqlalchemy import RowMapping, select

from mesocosm.core.ids import new_id
from mesocosm.store.database import Database
from mesocosm.store.rows import json_text, plain
from mesocosm.store.tenancy import audit_log


class AuditEntry(msgspec.Struct, frozen=True):
    """A logged action: `actor` as in Principal, `action` as `noun.verb`, on `target`, with JSON `detail`."""

    id: str
    at: float
    actor: str
    action: str
    target: str
    detail: Mapping[str, Any]
    address: str


class Audit:
    """The audit log. Append-only."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(
        self,
        actor: str,
        action: str,
        object: str,  # noqa: A002
        detail: Mapping[str, Any] = {},
        address: str = "",
    ) -> None:
        """Add an entry. `detail` must not contain secrets."""
        values = {
            "id": new_id(),
            "at": time.time(),
            "actor": plain(actor),
            "action": plain(action),
            "object": plain(object),
            "detail": plain(json_text(detail)),
            "address": plain(address),
        }
        row = self._database.insert(audit_log).values(values).on_conflict_do_nothing()
        self._database.execute(row)

    def list(self, cursor: str | None = None, limit: int = 100) -> tuple[AuditEntry, ...]:
        """Return entries, newest first; `cursor` is the id of the last entry of the previous page."""
        wanted = select(audit_log).order_by(audit_log.c.id.desc()).limit(limit)
        if cursor is not None:
            wanted = wanted.where(audit_log.c.id < plain(cursor))
        return tuple(map(_entry, self._database.all(wanted)))


def _entry(row: RowMapping) -> AuditEntry:
    detail = json.loads(row["detail"])
    return AuditEntry(row["id"], row["at"], row["actor"], row["action"], row["object"], detail, row["address"])
