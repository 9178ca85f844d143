"""Rate limits: how often something was attempted recently."""

import time
from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, delete, select, update

from mesocosm.core.ids import digest_bytes
from mesocosm.store.database import Database
from mesocosm.store.rows import plain
from mesocosm.store.tenancy import attempts

_LONGEST = 200


class RateLimits:
    """Counts of recent attempts, shared by all servers of a database, in a sliding window over two periods."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def allow(self, key: str, most: int, seconds: float) -> float:
        """Count one attempt and return 0.0, or return the seconds to wait if `most` were made within `seconds`.

        A refused attempt is not counted, so waiting helps even a client that keeps trying.
        """
        return self.allow_all({key: most}, seconds)

    def allow_all(self, limits: Mapping[str, int], seconds: float) -> float:
        """Count one attempt under several keys, each with its limit, or under none if one of them refuses it.

        Return 0.0 if it was counted, else the seconds to wait.
        """
        now = time.time()
        stretch = int(now // seconds)
        passed = now / seconds - stretch
        named = {_name(key): most for key, most in sorted(limits.items())}
        values = [{"key": name, "stretch": stretch, "count": 1, "until": (stretch + 2) * seconds} for name in named]
        add = self._database.insert(attempts).values(values)
        counted = add.on_conflict_do_update(index_elements=["key", "stretch"], set_={"count": attempts.c.count + 1})

        def work(connection: Connection) -> float:
            for name in sorted(named) if self._database.postgres else ():
                # Two servers must not both take the last free attempt.
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtext(%s))", (name,))
            connection.execute(delete(attempts).where(attempts.c.until < now))
            columns = select(attempts.c.key, attempts.c.stretch, attempts.c.count)
            rows = connection.execute(columns.where(attempts.c.key.in_(named)))
            found = {(str(row[0]), int(row[1])): int(row[2]) for row in rows}
            waits = (
                _wait(found.get((name, stretch - 1), 0), found.get((name, stretch), 0), passed, most)
                for name, most in named.items()
            )
            wait = max(waits, default=0.0) * seconds
            if wait == 0:
                connection.execute(counted)
            return wait

        return self._database.write(work)

    def any_of(self, keys: Iterable[str], seconds: float) -> bool:
        """Return whether anything was counted under one of the keys in this period or the one before."""
        stretch = int(time.time() // seconds)
        where = (attempts.c.key.in_([_name(key) for key in keys]), attempts.c.stretch.in_((stretch - 1, stretch)))
        wanted = select(attempts.c.key).where(*where, attempts.c.count > 0).limit(1)
        return self._database.scalar(wanted) is not None

    def take_back(self, keys: Iterable[str], seconds: float) -> None:
        """Uncount one attempt under each key, for attempts that turned out not to be limited.

        `seconds` as in `allow`.
        """
        names = [_name(key) for key in keys]
        where = (attempts.c.key.in_(names), attempts.c.stretch == int(time.time() // seconds), attempts.c.count > 0)
        change = update(attempts).where(*where).values(count=attempts.c.count - 1)
        self._database.execute(change)

    def forget(self, key: str) -> None:
        """Reset the count of a key."""
        gone = delete(attempts).where(attempts.c.key == _name(key))
        self._database.execute(gone)


def _wait(before: int, now: int, passed: float, most: int) -> float:
    """Return how long to wait, in periods, until fewer than `most` attempts are in the window."""
    if before * (1 - passed) + now < most:
        return 0.0
    if now < most:
        return max(1 - (most - now) / before - passed, 0.0) + 1e-3
    return (1 - passed) + max(1 - most / now, 0.0) + 1e-3


def _name(key: str) -> str:
    key = plain(key)
    return key if len(key) <= _LONGEST else digest_bytes(key.encode())
