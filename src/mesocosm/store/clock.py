"""The clock for leases and heartbeats: the database server's if several machines share one."""

import time
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, text

ASK_S = 30.0
"""Seconds to cache the offset between a server's clock and ours."""

_ahead: WeakKeyDictionary[Engine, tuple[float, float]] = WeakKeyDictionary()
_CLOCK = text("SELECT extract(epoch FROM clock_timestamp())")


def now(connection: Connection) -> float:
    """Return UNIX seconds by the database server's clock; for SQLite, by this machine's clock.

    Machines with different clocks would otherwise take each other's leases, or never find abandoned ones.
    """
    if connection.dialect.name != "postgresql":
        return time.time()
    known, asked = _ahead.get(connection.engine, (0.0, -ASK_S))
    if time.monotonic() - asked >= ASK_S:
        known = float(connection.scalar(_CLOCK)) - time.time()
        _ahead[connection.engine] = (known, time.monotonic())
    return time.time() + known
