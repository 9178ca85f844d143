"""Logins of programs that a person confirms in a browser (OAuth device authorization, RFC 8628)."""

import time
from enum import StrEnum

import msgspec
from sqlalchemy import ColumnElement, Connection, delete, select, update

from mesocosm.store.database import Database
from mesocosm.store.rows import record_of, values_of
from mesocosm.store.tenancy import device_logins, users
from mesocosm.store.users import User

_columns = device_logins.c


class DeviceState(StrEnum):
    """States of a device login. `expired` is never stored."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"


class DeviceLogin(msgspec.Struct, frozen=True):
    """A program that wants to log in; times in UNIX seconds.

    `program`, `device` and `address` are what it said of itself and where it called from.
    """

    program: str
    device: str
    address: str
    created_at: float
    expires_at: float


class Poll(msgspec.Struct, frozen=True):
    """What a program is told that asks for its login. `user_id` is there once it is approved."""

    state: DeviceState
    login: DeviceLogin | None = None
    user_id: int | None = None
    hasty: bool = False
    """Whether it asked again too soon."""


class DeviceLogins:
    """Device logins, by the digests of two codes: the secret one of the program, the short one that a person enters."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, login: DeviceLogin, digest: str, code_digest: str) -> bool:
        """Add a login and remove expired ones; return False if one of the codes is taken."""
        values = values_of(login, digest=digest, code_digest=code_digest, state=DeviceState.PENDING.value)

        def work(connection: Connection) -> bool:
            connection.execute(delete(device_logins).where(_columns.expires_at <= time.time()))
            taken = select(_columns.digest).where(_columns.code_digest == code_digest)
            holder = connection.scalar(taken)
            if holder is None:
                added = self._database.insert(device_logins).values(values).on_conflict_do_nothing()
                return connection.scalar(added.returning(_columns.digest)) is not None
            # A repeated transaction finds the row that its first attempt added.
            return bool(holder == digest)

        return self._database.write(work)

    def waiting(self, code_digest: str) -> DeviceLogin | None:
        """Return the undecided login with this code; None if there is none, or it has expired."""
        row = self._database.one(select(device_logins).where(*_waiting(code_digest)))
        return None if row is None else record_of(DeviceLogin, row)

    def decide(self, code_digest: str, user: User, state: DeviceState) -> bool:
        """Approve or deny a login as `user`; return False if it is not waiting any more."""
        change = update(device_logins).where(*_waiting(code_digest))
        values = {"state": state.value, "user_id": user.id, "epoch": user.epoch}
        return self._database.execute(change.values(values)) > 0

    def poll(self, digest: str, interval: float) -> Poll:
        """Return the state of a login by its secret code; a decided one is removed, so it is returned once.

        An approval is worth nothing if the user was disabled, or all their sign-ins were ended, after it.
        """
        now = time.time()
        mine = _columns.digest == digest

        def work(connection: Connection) -> Poll:
            row = connection.execute(select(device_logins).where(mine).with_for_update()).mappings().first()
            if row is None or row["expires_at"] <= now:
                return Poll(DeviceState.EXPIRED)
            login, state = record_of(DeviceLogin, row), DeviceState(row["state"])
            if state is DeviceState.PENDING:
                connection.execute(update(device_logins).where(mine).values(polled_at=now))
                polled = row["polled_at"]
                return Poll(state, login, hasty=polled is not None and now - polled < interval)
            connection.execute(delete(device_logins).where(mine))
            if state is DeviceState.DENIED:
                return Poll(state, login)
            valid = (users.c.id == row["user_id"], users.c.epoch == row["epoch"], users.c.disabled.is_(False))
            user_id = connection.scalar(select(users.c.id).where(*valid))
            return Poll(DeviceState.EXPIRED) if user_id is None else Poll(state, login, user_id)

        return self._database.write(work)


def _waiting(code_digest: str) -> tuple[ColumnElement[bool], ...]:
    return (
        _columns.code_digest == code_digest,
        _columns.state == DeviceState.PENDING.value,
        _columns.expires_at > time.time(),
    )
