"""How many calls to a model run at once: additive increase, multiplicative decrease, as TCP does (RFC 5681)."""

import asyncio
import time
from collections import deque
from types import TracebackType


class AdaptiveLimit:
    """A limit on concurrent calls that finds its own level between 1 and `ceiling`.

    It doubles per round while calls succeed, until the first overload; an overload (429, 503) halves it, and from then
    on it grows by one per round. `pause` holds all calls back for as long as the other side asks.
    """

    def __init__(self, ceiling: int, start: int = 32) -> None:
        self.ceiling = max(ceiling, 1)
        self.limit = float(min(start, self.ceiling))
        self.active = 0
        self._threshold = float(self.ceiling)
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._halved_at = 0.0
        self._paused_until = 0.0
        self._wake: asyncio.TimerHandle | None = None

    async def acquire(self) -> float:
        """Wait for a place and return the time (monotonic) at which it was given."""
        if self._waiting or self.active >= self.limit or self._paused_until:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            self._admit()
            try:
                await future
            except asyncio.CancelledError:
                if future.done() and not future.cancelled():
                    self.active -= 1
                    self._admit()
                raise
        else:
            self.active += 1
        return time.monotonic()

    def release(self) -> None:
        """Give a place back without a verdict."""
        self.active -= 1
        if self._waiting:
            self._admit()

    def succeeded(self) -> None:
        """Grow after a call that went well."""
        if self.limit < self.ceiling:
            self.limit = min(self.limit + (1.0 if self.limit < self._threshold else 1.0 / self.limit), self.ceiling)

    def overloaded(self, started: float, retry_after: float | None = None) -> None:
        """Shrink after an overload of a call given its place at `started`; calls of the same round count once."""
        now = time.monotonic()
        if started >= self._halved_at:
            self.limit = self._threshold = max(self.limit / 2, 1.0)
            self._halved_at = now
        if retry_after:
            self._pause(now + retry_after)

    def _pause(self, until: float) -> None:
        if until <= self._paused_until:
            return
        self._paused_until = until
        if self._wake is not None:
            self._wake.cancel()
        loop = asyncio.get_running_loop()
        self._wake = loop.call_later(until - time.monotonic(), self._resume)

    def _resume(self) -> None:
        self._paused_until = 0.0
        self._wake = None
        self._admit()

    def _admit(self) -> None:
        if self._paused_until:
            return
        while self._waiting and self.active < self.limit:
            future = self._waiting.popleft()
            if not future.done():
                self.active += 1
                future.set_result(None)

    async def __aenter__(self) -> "AdaptiveLimit":
        await self.acquire()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
