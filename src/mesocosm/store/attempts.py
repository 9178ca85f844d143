"""How often something was tried lately."""

import time

from sqlalchemy import Connection, delete, select, update

from mesocosm.core.ids import digest_bytes
from mesocosm.store.part import Part
from mesocosm.store.rows import plain
from mesocosm.store.tenancy import attempts

_LONGEST = 200


class Attempts(Part):
    """How often something was tried lately, counted for all servers of a database together.

    A window slides over two stretches: of the one before, as large a part counts as the window still covers.
    """

    def allow(self, key: str, most: int, seconds: float) -> float:
        """Return 0.0 and count one try, or the seconds to wait when `most` were made in so many seconds.

        A refused try is not counted, so that waiting helps even who keeps trying.
        """
        name, now = _name(key), time.time()
        stretch = int(now // seconds)
        passed = now / seconds - stretch
        add = self._database.insert(attempts).values(key=name, stretch=stretch, count=1, until=(stretch + 2) * seconds)
        counted = add.on_conflict_do_update(index_elements=["key", "stretch"], set_={"count": attempts.c.count + 1})

        def work(connection: Connection) -> float:
            if self._database.postgres:
                # Two servers must not both see the last free try.
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtext(%s))", (name,))
            connection.execute(delete(attempts).where(attempts.c.until < now))
            wanted = select(attempts.c.stretch, attempts.c.count).where(attempts.c.key == name)
            found = {int(row[0]): int(row[1]) for row in connection.execute(wanted)}
            wait = _wait(found.get(stretch - 1, 0), found.get(stretch, 0), passed, most) * seconds
            if wait == 0:
                connection.execute(counted)
            return wait

        return self._database.write(work)

    def take_back(self, key: str, seconds: float) -> None:
        """Count one try less: it was none of those that are limited. `seconds` as in `allow`."""
        where = (attempts.c.key == _name(key), attempts.c.stretch == int(time.time() // seconds), attempts.c.count > 0)
        change = update(attempts).where(*where).values(count=attempts.c.count - 1)
        self._database.write(lambda connection: connection.execute(change))

    def forget(self, key: str) -> None:
        """Count from zero again."""
        gone = delete(attempts).where(attempts.c.key == _name(key))
        self._database.write(lambda connection: connection.execute(gone))


def _wait(before: int, now: int, passed: float, most: int) -> float:
    """Return how long to wait, in stretches: until fewer than `most` tries lie in the window."""
    if before * (1 - passed) + now < most:
        return 0.0
    if now < most:
        return max(1 - (most - now) / before - passed, 0.0) + 1e-3
    return (1 - passed) + max(1 - most / now, 0.0) + 1e-3


def _name(key: str) -> str:
    key = plain(key)
    return key if len(key) <= _LONGEST else digest_bytes(key.encode())
