"""The single writer of a run: a queue that never blocks the event loop, and a thread that commits it in groups."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mesocosm.core.cancellation import to_the_end
from mesocosm.core.entry import Entry
from mesocosm.core.episode import Episode
from mesocosm.core.failure import InfrastructureError, MesocosmError
from mesocosm.store.writer import Writer

GROUP = 1_000
"""Maximum entries per transaction."""

QUEUE_ENTRIES = 1_000
QUEUE_BYTES = 32 * 1024 * 1024
"""Queue limits. A longer queue makes nothing faster, but loses more when the process dies."""

BEAT = 2.0
"""Seconds between heartbeats; also the maximum delay until a stop request is noticed."""

SPACING = 0.01
"""Seconds between the starts of two transactions under load, so that about a hundred entries share one fsync.

An entry that arrives after a pause is committed at once, and so is everything while a caller drains.
"""

Committed = Callable[[Sequence[Episode]], None]


@dataclass(slots=True)
class _Waiter:
    """A waiting coroutine: until `target` entries are durable, or for room in the queue (`target` None)."""

    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[None]
    target: int | None


class SqlJournal:
    """Takes entries on the event loop and commits them in groups, in order, on its own thread.

    `committed` and `stop` are called on that thread. After an error nothing more is written and every method raises it;
    entries committed before stay.
    """

    def __init__(self, writer: Writer, committed: Committed, stop: Callable[[], None], *, beat: float = BEAT) -> None:
        self._writer = writer
        self._committed = committed
        self._stop = stop
        self._beat = beat
        self._changed = threading.Condition()
        self._queue: deque[tuple[Entry, int]] = deque()
        self._bytes = 0
        self._taken = 0
        self._durable = 0
        self._waiters: list[_Waiter] = []
        self._closing = False
        self._error: InfrastructureError | None = None
        self._stopped = False
        self._last_commit = 0.0
        # Before accepting entries, check that this process has leased the run.
        writer.confirm()
        self._last_beat = time.monotonic()
        self._thread = threading.Thread(target=self._work, name="mesocosm-journal", daemon=True)
        self._thread.start()

    def write(self, entry: Entry) -> None:
        """Queue an entry without blocking. Raises InfrastructureError if the journal has failed or is closed."""
        size = sum(len(chunk.raw) for chunk in entry.chunks) + sum(len(blob.data) for blob in entry.blobs)
        with self._changed:
            self._check()
            if self._closing:
                raise InfrastructureError("the journal of this run is closed; nothing can be written to it any more")
            self._queue.append((entry, size))
            self._bytes += size
            self._taken += 1
            if len(self._queue) == 1 or len(self._queue) == GROUP:
                self._changed.notify()

    async def room(self) -> None:
        """Wait until the queue has room. Raises InfrastructureError."""
        while True:
            with self._changed:
                self._check()
                if self._has_room():
                    return
                waiter = self._waiter(None)
            await waiter.future

    async def drain(self) -> None:
        """Wait until all entries queued so far are durable. Raises InfrastructureError."""
        with self._changed:
            self._check()
            if self._durable >= self._taken:
                return
            waiter = self._waiter(self._taken)
            self._changed.notify()
        await waiter.future

    async def close(self) -> None:
        """Drain and stop the heartbeat. Raises InfrastructureError if something could not be written."""
        try:
            await self.drain()
        finally:
            with self._changed:
                self._closing = True
                self._changed.notify()
            await to_the_end(asyncio.to_thread(self._thread.join))

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _has_room(self) -> bool:
        return self._taken - self._durable < QUEUE_ENTRIES and self._bytes < QUEUE_BYTES

    def _waiter(self, target: int | None) -> _Waiter:
        loop = asyncio.get_running_loop()
        waiter = _Waiter(loop, loop.create_future(), target)
        self._waiters.append(waiter)
        return waiter

    def _work(self) -> None:
        error: InfrastructureError | None = None
        try:
            while self._turn():
                pass
        except InfrastructureError as failed:
            error = failed
        except BaseException as failed:  # noqa: BLE001 - any error must reach the run
            error = InfrastructureError(f"the journal of this run failed: {type(failed).__name__}: {failed}")
            error.__cause__ = failed
        with self._changed:
            self._closing = True
            self._error = error
            if error is not None:
                self._queue.clear()
            self._wake()

    def _turn(self) -> bool:
        group = self._next()
        if group is None:
            return False
        if group:
            self._last_commit = time.monotonic()
            finished = self._writer.commit([entry for entry, _size in group])
            if finished:
                self._committed(finished)
            with self._changed:
                self._durable += len(group)
                self._bytes -= sum(size for _entry, size in group)
                self._wake()
        if time.monotonic() - self._last_beat >= self._beat:
            self._last_beat = time.monotonic()
            if self._writer.beat() and not self._stopped:
                self._stopped = True
                self._stop()
        return True

    def _next(self) -> list[tuple[Entry, int]] | None:
        """Wait for work; return entries to commit, an empty list if only a heartbeat is due, None at the end."""
        with self._changed:
            while True:
                now = time.monotonic()
                beat = self._last_beat + self._beat
                ready = self._last_commit + SPACING
                if self._queue and (now >= ready or self._urgent()):
                    return [self._queue.popleft() for _ in range(min(len(self._queue), GROUP))]
                if self._closing and not self._queue:
                    return None
                if now >= beat:
                    return []
                self._changed.wait((min(beat, ready) if self._queue else beat) - now)

    def _urgent(self) -> bool:
        return self._closing or len(self._queue) >= GROUP or bool(self._waiters)

    def _wake(self) -> None:
        """Release the waiters that are done. Called with the lock held."""
        left: list[_Waiter] = []
        for waiter in self._waiters:
            done = self._has_room() if waiter.target is None else self._durable >= waiter.target
            if done or self._error is not None:
                _release(waiter, self._error)
            else:
                left.append(waiter)
        self._waiters = left


def _release(waiter: _Waiter, error: MesocosmError | None) -> None:
    def settle() -> None:
        if waiter.future.done():
            return
        if error is None:
            waiter.future.set_result(None)
        else:
            waiter.future.set_exception(error)

    try:
        waiter.loop.call_soon_threadsafe(settle)
    except RuntimeError:
        # The loop is closed, so its waiters are gone.
        return
