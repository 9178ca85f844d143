"""Secrets of workspaces, as ciphertexts: the store has no key."""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, and_, delete, exists, func, select, update

from mesocosm.core.ids import new_id
from mesocosm.store.database import Database
from mesocosm.store.rows import plain, record_of
from mesocosm.store.run_requests import OPEN
from mesocosm.store.tenancy import requests, users, workspace_secrets

WORKSPACE = "workspace"
"""The holder of secrets that every run of a workspace gets."""

_RUN = "run:"
_columns = workspace_secrets.c


class SecretRow(msgspec.Struct, frozen=True):
    """A secret without its value: `key` is the beginning of its ciphertext. Times are UNIX seconds.

    `holder` is `workspace`, `user:ID` or `run:ID`; `creator` is the name of the account that set it first, None if it
    is gone.
    """

    workspace_id: str
    holder: str
    name: str
    key: str
    creator: str | None
    created_at: float
    updated_at: float
    used_at: float | None


class StoredSecret(msgspec.Struct, frozen=True):
    """The ciphertext of a secret, and what it is bound to."""

    id: str
    workspace_id: str
    holder: str
    name: str
    value: str

    @property
    def place(self) -> tuple[str, str, str]:
        """What the ciphertext is bound to."""
        return self.workspace_id, self.holder, self.name


class WorkspaceSecrets:
    """Secrets of workspaces. A name is unique for a holder in a workspace."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self, workspace_id: str, holders: Collection[str], key_length: int) -> tuple[SecretRow, ...]:
        """Return the secrets of some holders by name, with the first `key_length` characters of each ciphertext."""
        return self._rows(_of(workspace_id, holders), key_length)

    def get(self, workspace_id: str, holder: str, name: str, key_length: int) -> SecretRow | None:
        """Return one secret; None if there is none."""
        found = self._rows(and_(_of(workspace_id, [holder]), _columns.name == plain(name)), key_length)
        return found[0] if found else None

    def put(self, workspace_id: str, holder: str, name: str, value: str, created_by: int | None, most: int) -> bool:
        """Set a secret to a ciphertext; return False if the holder has `most` others already.

        Raises IntegrityError if the workspace or the account is gone.
        """
        now = time.time()
        key = {"workspace_id": plain(workspace_id), "holder": plain(holder), "name": plain(name)}
        row = {"id": new_id(), **key, "value": value, "created_by": created_by, "created_at": now, "updated_at": now}
        fresh = self._database.insert(workspace_secrets).values(row)
        both = fresh.on_conflict_do_update(index_elements=list(key), set_={"value": value, "updated_at": now})
        others = select(func.count()).where(_of(workspace_id, [holder]), _columns.name != plain(name))

        def work(connection: Connection) -> bool:
            if (connection.scalar(others) or 0) >= most:
                return False
            connection.execute(both)
            return True

        return self._database.write(work)

    def delete(self, workspace_id: str, holder: str, name: str) -> bool:
        """Delete a secret; return whether there was one."""
        gone = delete(workspace_secrets).where(_of(workspace_id, [holder]), _columns.name == plain(name))
        return self._database.execute(gone) > 0

    def drop_of_run(self, run_id: str, before: float) -> int:
        """Delete the secrets that a run was submitted with, those set before a UNIX time; return their number."""
        old = and_(_columns.holder == run_holder(plain(run_id)), _columns.updated_at < before)
        return self._database.execute(delete(workspace_secrets).where(old))

    def drop_of_ended_runs(self, older_than_s: float = 3_600.0) -> int:
        """Delete secrets of runs that neither wait nor are run, set longer ago than that; return their number."""
        of_run = func.substr(_columns.holder, 1, len(_RUN)) == _RUN
        goes_on = exists().where(_columns.holder == _RUN + requests.c.run_id, requests.c.state.in_(OPEN))
        old = _columns.updated_at < time.time() - older_than_s
        return self._database.execute(delete(workspace_secrets).where(of_run, ~goes_on, old))

    def stored(self, workspace_id: str, holders: Sequence[str], names: Collection[str]) -> Mapping[str, StoredSecret]:
        """Return ciphertexts by name. Of several holders that have a name, the last one counts."""
        rows = self._database.among(_ciphertexts().where(_of(workspace_id, holders)), _columns.name, set(names))
        found = sorted((record_of(StoredSecret, row) for row in rows), key=lambda one: holders.index(one.holder))
        return {one.name: one for one in found}

    def note_used(self, ids: Iterable[str]) -> None:
        """Note that secrets are used now."""
        used = update(workspace_secrets).where(_columns.id.in_(list(ids))).values(used_at=time.time())
        self._database.execute(used)

    def exist(self) -> bool:
        """Return whether any workspace has a secret."""
        return self._database.scalar(select(_columns.id).limit(1)) is not None

    def under_other_keys(self, prefix: str, after: str, limit: int) -> tuple[StoredSecret, ...]:
        """Return ciphertexts that do not begin with `prefix`, by id, those after an id."""
        wanted = _ciphertexts().where(func.substr(_columns.value, 1, len(prefix)) != prefix, _columns.id > after)
        return tuple(record_of(StoredSecret, row) for row in self._database.all(wanted.order_by("id").limit(limit)))

    def replace(self, secret: StoredSecret, value: str) -> bool:
        """Replace a ciphertext by another of the same value; return False if it was set or deleted meanwhile."""
        same = _columns.id == secret.id, _columns.value == secret.value
        return self._database.execute(update(workspace_secrets).where(*same).values(value=value)) > 0

    def _rows(self, condition: ColumnElement[bool], key_length: int) -> tuple[SecretRow, ...]:
        names = [name for name in SecretRow.__struct_fields__ if name not in ("key", "creator")]
        wanted = (
            select(
                *(_columns[name] for name in names),
                func.substr(_columns.value, 1, key_length).label("key"),
                users.c.username.label("creator"),
            )
            .outerjoin(users, users.c.id == _columns.created_by)
            .where(condition)
            .order_by(_columns.name, _columns.holder)
        )
        return tuple(record_of(SecretRow, row) for row in self._database.all(wanted))


def personal_holder(user_id: int) -> str:
    """Return the holder of the secrets that only the runs of one account get."""
    return f"user:{user_id}"


def run_holder(run_id: str) -> str:
    """Return the holder of the secrets that one run was submitted with."""
    return f"{_RUN}{run_id}"


def _of(workspace_id: str, holders: Collection[str]) -> ColumnElement[bool]:
    return and_(_columns.workspace_id == plain(workspace_id), _columns.holder.in_(list(holders)))


def _ciphertexts() -> Select[tuple[object, ...]]:
    return select(*(_columns[name] for name in StoredSecret.__struct_fields__))
