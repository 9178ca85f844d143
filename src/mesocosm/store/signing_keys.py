"""What tokens are signed with."""

import secrets
import time

import msgspec
from sqlalchemy import Connection, insert, select, update

from mesocosm.core.ids import new_id
from mesocosm.store.database import Database
from mesocosm.store.tenancy import signing_keys


class SigningKey(msgspec.Struct, frozen=True):
    """A secret that signs tokens; times in UNIX seconds. From `retired_at` on nothing that it signed is valid."""

    id: str
    secret: str
    created_at: float
    retired_at: float | None

    def __repr__(self) -> str:
        return f"SigningKey(id={self.id!r})"


class SigningKeys:
    """What tokens are signed with."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def valid(self) -> tuple[SigningKey, ...]:
        """Return the keys that are not retired, the newest first: it signs. Makes the first one."""
        found = self._database.read(_valid)
        return found or self._database.write(lambda connection: _valid(connection) or (_make(connection),))

    def rotate(self, retire_after: float) -> SigningKey:
        """Make a new key that signs from now on; what older ones signed stays valid for so many seconds."""
        key = _new()

        def work(connection: Connection) -> SigningKey:
            at = key.created_at + retire_after
            older = (
                signing_keys.c.id != key.id,
                signing_keys.c.retired_at.is_(None) | (signing_keys.c.retired_at > at),
            )
            connection.execute(update(signing_keys).where(*older).values(retired_at=at))
            if connection.scalar(select(signing_keys.c.id).where(signing_keys.c.id == key.id)) is None:
                _make(connection, key)
            return key

        return self._database.write(work)


def _new() -> SigningKey:
    return SigningKey(new_id(), secrets.token_urlsafe(48), time.time(), None)


def _make(connection: Connection, key: SigningKey | None = None) -> SigningKey:
    key = key or _new()
    connection.execute(insert(signing_keys).values(msgspec.structs.asdict(key)))
    return key


def _valid(connection: Connection) -> tuple[SigningKey, ...]:
    standing = signing_keys.c.retired_at.is_(None) | (signing_keys.c.retired_at > time.time())
    wanted = select(signing_keys).where(standing).order_by(signing_keys.c.id.desc())
    return tuple(SigningKey(**row) for row in connection.execute(wanted).mappings())
