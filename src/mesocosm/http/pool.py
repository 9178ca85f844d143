"""The connections to one server, kept open between requests."""

import asyncio
from collections import deque
from collections.abc import Callable

from mesocosm.http.connection import Connection
from mesocosm.http.dial import Dialer, Route


class Pool:
    """Connections along one route: at most `limit` at once, dropped after `idle_seconds` without a request.

    Whoever holds a permit may use one connection: take an idle one, or open one when there is none.
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

    def take(self) -> Connection | None:
        """Return the connection that was idle for the shortest time, None when there is none."""
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                return connection
        return None

    async def open(self) -> Connection:
        """Return a new connection. Raises OSError."""
        connection = await self._dialer.open(self._make)
        if not connection.over:
            self._open.add(connection)
        return connection

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next request when it can carry one; drop it otherwise."""
        if not connection.usable:
            connection.abort()
            return
        connection.idle_since = self.loop.time()
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
