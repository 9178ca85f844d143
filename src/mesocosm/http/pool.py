"""The connections to one server, kept open between requests."""

import asyncio
from collections import deque
from collections.abc import Callable

from mesocosm.http.connection import Connection
from mesocosm.http.dial import Dialer, Route

FRESH_S = 1.0
"""Seconds that a connection may have been idle to carry a request that must not be repeated.

Servers close idle connections when they like (gunicorn after 2 s, uvicorn and Node after 5 s), and of a request that
crosses the close on the wire nobody can say whether it was seen.
"""


PROVE_S = 0.01
"""Seconds that a connection is watched before it carries another request that must not be repeated."""
PROOFS = 8
"""So many times a server must have kept a connection open after requests to one path until it is believed to."""
_MOST_PATHS = 32


class OwnConnection:
    """A connection that one caller keeps for itself between its requests, so that no fault of others reaches it.

    Call `drop` when the caller is done.
    """

    __slots__ = ("connection",)

    def __init__(self) -> None:
        self.connection: Connection | None = None

    def drop(self) -> None:
        """Close the connection."""
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.abort()


class Pool:
    """Connections along one route: at most `limit` in use at once, dropped after `idle_seconds` without a request.

    Whoever holds a permit may use one connection: take an idle one, or open one when there is none. `abrupt` says that
    the server once closed a kept-open connection under a request.
    """

    def __init__(self, route: Route, *, limit: int, idle_seconds: float, max_response: int) -> None:
        self.loop = asyncio.get_running_loop()
        self._dialer = Dialer(route)
        self._idle_seconds = idle_seconds
        self.max_response = max_response
        self._idle: deque[Connection] = deque()
        self._open: set[Connection] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._emptied: Callable[[], object] = lambda: None
        self.permits = asyncio.Semaphore(limit)
        self.route = route
        self.abrupt = False
        self._proved: dict[str, int] = {}

    def take(self, own: OwnConnection | None = None, *, repeatable: bool = True) -> Connection | None:
        """Return the connection of `own`, else the one that was idle for the shortest time; None when there is none.

        For a request that is not `repeatable`, none that was idle for longer than FRESH_S, and none at all of an abrupt
        server.
        """
        oldest = float("-inf") if repeatable else self.loop.time() - FRESH_S
        if not repeatable and self.abrupt:
            oldest = float("inf")
        if own is not None:
            connection, own.connection = own.connection, None
            if connection is None or (connection.idle_since >= oldest and connection.quiet):
                return connection
            connection.abort()
            return None
        while self._idle and self._idle[-1].idle_since >= oldest:
            connection = self._idle.pop()
            if connection.quiet:
                return connection
            connection.abort()
        return None

    async def proved(self, connection: Connection) -> Connection | None:
        """Return a connection that is to carry a request that must not be repeated; None where the server closed it.

        Some servers answer, fail afterwards (in a background task, say), and close without having said so. That is
        seen a moment after the answer. The first connections are watched for that moment, and when one is closed
        none is used again for such a request.
        """
        path = connection.served
        known = self._proved.get(path, 0 if len(self._proved) < _MOST_PATHS else PROOFS)
        if known >= PROOFS or self.loop.time() - connection.idle_since >= PROVE_S:
            return connection
        try:
            await asyncio.sleep(PROVE_S)
        except BaseException:
            connection.abort()
            raise
        if connection.quiet:
            self._proved[path] = self._proved.get(path, 0) + 1
            return connection
        self.abrupt = True
        connection.abort()
        return None

    async def open(self) -> Connection:
        """Return a new connection. Raises OSError."""
        connection = await self._dialer.open(self._make)
        if not connection.over:
            self._open.add(connection)
        return connection

    def give_back(self, connection: Connection, own: OwnConnection | None = None) -> None:
        """Keep a connection for the next request, of `own` or of anybody, when it can carry one; drop it otherwise."""
        if not connection.usable or (own is not None and own.connection is not None):
            connection.abort()
            return
        connection.idle_since = self.loop.time()
        if own is not None:
            own.connection = connection
            return
        self._idle.append(connection)
        if self._sweeper is None:
            self._sweeper = self.loop.call_later(self._idle_seconds, self._sweep)

    async def close(self) -> None:
        """Drop every connection and wait until all of them are gone."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        gone = asyncio.Event()
        self._emptied = gone.set
        for connection in tuple(self._open):
            connection.abort("the client was closed")
        if self._open:
            await gone.wait()

    def _make(self) -> Connection:
        return Connection(self.max_response, self._lost)

    def _lost(self, connection: Connection) -> None:
        self._open.discard(connection)
        if not self._open:
            self._emptied()

    def _sweep(self) -> None:
        self._sweeper = None
        oldest = self.loop.time() - self._idle_seconds
        # The stack grows on the right, so the left end has waited longest.
        while self._idle and (self._idle[0].idle_since <= oldest or not self._idle[0].usable):
            self._idle.popleft().abort()
        if self._idle:
            wait = max(self._idle[0].idle_since - oldest, 0.01)
            self._sweeper = self.loop.call_later(wait, self._sweep)
