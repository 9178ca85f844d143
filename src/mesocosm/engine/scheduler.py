"""Concurrent work in one process with a limit, and a stop with a grace period."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Scheduler(Generic[T]):
    """Runs `work` on every item, at most `parallel` at a time.

    The first exception raised by `work` stops everything and is raised by `run`. After `stop` no new item is started,
    and running ones are cancelled after the grace period; a second `stop` with grace 0 cancels at once.
    """

    def __init__(self, parallel: int, work: Callable[[T], Awaitable[None]]) -> None:
        self.parallel = max(parallel, 1)
        self.running = 0
        self.stopping = False
        self._work = work
        self._workers: set[asyncio.Task[None]] = set()
        self._error: BaseException | None = None

    async def run(self, items: Iterator[T]) -> None:
        """Return when all items are done or the stop is complete. Raises the first exception of `work`."""
        try:
            for _ in range(self.parallel):
                if self.stopping or self._error is not None:
                    break
                item = next(items, None)
                if item is None:
                    break
                worker = asyncio.create_task(self._worker(item, items))
                self._workers.add(worker)
                worker.add_done_callback(self._ended)
                if len(self._workers) % 64 == 0:
                    await asyncio.sleep(0)
            await self._settle()
        finally:
            for worker in self._workers:
                worker.cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)

    async def _settle(self) -> None:
        while self._workers and self._error is None:
            await asyncio.wait(self._workers, return_when=asyncio.FIRST_EXCEPTION)
        if self._error is not None:
            raise self._error

    def _ended(self, worker: asyncio.Task[None]) -> None:
        """Record how a worker ended: it may fail while others are still being started, before anything waits for it."""
        self._workers.discard(worker)
        if not worker.cancelled():
            error = worker.exception()  # always retrieved: asyncio logs exceptions that are never retrieved
            self._error = self._error or error

    async def _worker(self, item: T | None, items: Iterator[T]) -> None:
        while item is not None:
            self.running += 1
            try:
                await self._work(item)
            finally:
                self.running -= 1
            # Work in this process may never await anything; let other tasks of the loop run.
            await asyncio.sleep(0)
            if self.stopping:
                return
            item = next(items, None)

    def stop(self, grace: float) -> None:
        """Start no new items; cancel the running ones after `grace` seconds. Call it on the event loop."""
        self.stopping = True
        asyncio.get_running_loop().call_later(grace, self._cancel)

    def _cancel(self) -> None:
        for worker in self._workers:
            worker.cancel()
