"""Slots that limit the number of concurrent executions."""

import asyncio
from collections import deque


class Slots:
    """Slots for executions, assigned in the order of request. A `limit` of None is unlimited."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.running = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def free(self) -> bool:
        """Whether a slot is free."""
        return self.limit is None or (self.running < self.limit and not self._waiting)

    @property
    def queued(self) -> int:
        """Number of executions that wait for a slot."""
        return sum(not waiter.done() for waiter in self._waiting)

    async def take(self) -> None:
        """Wait for a slot and take it."""
        if self.free:
            self.running += 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.give()
            raise

    def give(self) -> None:
        """Release a slot; the longest waiting execution gets it."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.running -= 1
