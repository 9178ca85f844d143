"""People without an account, for a few days."""

import time

import msgspec
from sqlalchemy import Connection, delete, insert, select, update

from mesocosm.core.ids import new_id
from mesocosm.store.database import Database
from mesocosm.store.rows import plain
from mesocosm.store.tenancy import guests


class Guest(msgspec.Struct, frozen=True):
    """Somebody without an account; times in UNIX seconds. `ended_at` when they left."""

    id: str
    created_at: float
    expires_at: float
    ended_at: float | None
    address: str


class Guests:
    """People without an account, for a few days."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, address: str, days: float) -> Guest:
        """Add a guest who came from `address`, for so many days."""
        now = time.time()
        guest = Guest(new_id(), now, now + days * 86_400, None, plain(address))
        row = insert(guests).values(msgspec.structs.asdict(guest))

        def work(connection: Connection) -> None:
            # Repeated after a commit that went unnoticed, it finds its own row.
            connection.execute(delete(guests).where(guests.c.id == guest.id))
            connection.execute(row)

        self._database.write(work)
        return guest

    def get(self, guest_id: str) -> Guest | None:
        """Return a guest; None where there is none."""
        wanted = select(guests).where(guests.c.id == plain(guest_id))
        row = self._database.read(lambda connection: connection.execute(wanted).mappings().first())
        return None if row is None else Guest(**row)

    def end(self, guest_id: str) -> None:
        """End a guest's stay."""
        change = (
            update(guests)
            .where(guests.c.id == plain(guest_id), guests.c.ended_at.is_(None))
            .values(ended_at=time.time())
        )
        self._database.write(lambda connection: connection.execute(change))

    def remove_expired(self, before: float) -> int:
        """Delete guests who expired before a UNIX time; return how many."""
        gone = delete(guests).where(guests.c.expires_at < before)
        return self._database.write(lambda connection: connection.execute(gone).rowcount)
