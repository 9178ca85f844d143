"""The time by which leases and signs of life are judged: that of the database where several machines share one."""

import time
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, text

ASK_S = 30.0
"""Seconds for which it is known how far the clock of a server is from ours."""

_ahead: WeakKeyDictionary[Engine, tuple[float, float]] = WeakKeyDictionary()
_CLOCK = text("SELECT extract(epoch FROM clock_timestamp())")


def now(connection: Connection) -> float:
    """Return UNIX seconds by the database server's clock, so that machines agree on leases; SQLite: this machine's."""
    if connection.dialect.name != "postgresql":
        return time.time()
    known, asked = _ahead.get(connection.engine, (0.0, -ASK_S))
    if time.monotonic() - asked >= ASK_S:
        known = float(connection.scalar(_CLOCK)) - time.time()
        _ahead[connection.engine] = (known, time.monotonic())
    return time.time() + known
