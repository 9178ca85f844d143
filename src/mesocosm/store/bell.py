"""Bells: a process that waits for another one is woken by PostgreSQL's NOTIFY instead of asking again and again."""

import asyncio
import os
import select
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func
from sqlalchemy import select as selected
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from mesocosm.store.database import Database

if TYPE_CHECKING:
    import psycopg


WORK = "mesocosm_work"
"""The channel that rings when there is something to do for workers."""


def ring(connection: Connection, channel: str = WORK) -> None:
    """Wake those that wait at a channel, all workers by default, once this transaction is committed.

    SQLite has no channels.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(selected(func.pg_notify(channel, "")))


class SqlBell:
    """Waits until it rings, in this process or, with PostgreSQL, at its channel. `wait` belongs to one thread.

    It rings once too often rather than not at all. A server that restarts loses what rings, so waits have an end.
    """

    def __init__(self, database: Database, channel: str) -> None:
        self._database = database
        self._channel = channel
        self._listening: psycopg.Connection[object] | None = None
        self._awake, self._wakes = os.pipe()
        os.set_blocking(self._awake, False)
        os.set_blocking(self._wakes, False)
        self._lock = threading.Lock()
        self._closed = False

    def wait(self, seconds: float) -> None:
        """Wait until it rings, at most for `seconds`. Returns at once when it has just begun to listen."""
        if self._database.postgres and self._listening is None and self._listen():
            # What rang before was not heard.
            seconds = 0.0
        files = [self._awake] if self._listening is None else [self._awake, self._listening.fileno()]
        heard, _, _ = select.select(files, [], [], seconds)
        if self._awake in heard:
            with suppress(BlockingIOError):
                os.read(self._awake, 4096)
        if self._listening is not None and self._listening.fileno() in heard:
            self._take()

    async def first(self, seconds: float, *others: "asyncio.Future[Any]") -> None:
        """Wait until it rings or one of `others` is done, at most for `seconds`. Belongs to one task."""
        ringing = asyncio.create_task(asyncio.to_thread(self.wait, seconds))
        try:
            await asyncio.wait({ringing, *others}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # What rings after the wait has ended would end the next one at once, and that one the next.
            if not ringing.done():
                self.ring()
            await ringing

    def ring(self) -> None:
        """Wake the thread that waits. Call it from any thread; a closed bell does not ring."""
        # Another file may have the number of a closed one.
        with self._lock, suppress(BlockingIOError):
            if not self._closed:
                os.write(self._wakes, b"!")

    def close(self) -> None:
        """Stop listening. Safe to call again."""
        self._end()
        with self._lock:
            if not self._closed:
                self._closed = True
                os.close(self._awake)
                os.close(self._wakes)

    def _listen(self) -> bool:
        """Return whether the database can be heard."""
        from psycopg import Error, sql

        try:
            opened = self._database.engine.raw_connection()
            connection: psycopg.Connection[object] = opened.driver_connection  # type: ignore[assignment]
            # A connection of our own, which the pool does not count.
            opened.detach()
            connection.autocommit = True
            connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
        except (Error, DBAPIError, OperationalError, PoolTimeout):
            return False
        self._listening = connection
        return True

    def _take(self) -> None:
        """Take what rang, which says nothing more."""
        from psycopg import Error

        assert self._listening is not None
        try:
            for _ in self._listening.notifies(timeout=0):
                pass
        except Error:
            self._end()

    def _end(self) -> None:
        listening, self._listening = self._listening, None
        if listening is not None:
            from psycopg import Error

            with suppress(Error):
                listening.close()
