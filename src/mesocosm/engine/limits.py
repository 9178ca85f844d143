"""Budgets of a run, rates per minute, and how many calls to a model run at once."""

import asyncio
import time
from collections import deque
from types import TracebackType

from mesocosm.core.failure import RunAborted
from mesocosm.core.run import Limits
from mesocosm.core.usage import NOTHING, Usage


class Rate:
    """A token bucket: `per_minute` units on average, at most a second's worth (or one unit) at once."""

    def __init__(self, per_minute: float) -> None:
        self._per_second = per_minute / 60
        self._burst = max(self._per_second, 1.0)
        self._level = self._burst
        self._at = time.monotonic()

    async def take(self, units: float = 1.0) -> None:
        """Wait until `units` are free. Debts are allowed: units are known only after a call, and paid by the next."""
        now = time.monotonic()
        self._level = min(self._level + (now - self._at) * self._per_second, self._burst) - units
        self._at = now
        if self._level < 0:
            await asyncio.sleep(-self._level / self._per_second)

    def owe(self, units: float) -> None:
        """Charge units after the fact."""
        self._level -= units


class Budget:
    """What a run may spend: tokens and US dollars in all, earlier sessions included, and seconds in this session."""

    def __init__(self, limits: Limits, spent: Usage = NOTHING) -> None:
        self.limits = limits
        self.spent = spent
        self._started = time.monotonic()

    def charge(self, usage: Usage, model: str) -> None:
        """Add what a call used. Raises RunAborted when money is limited and the price of `model` is unknown."""
        self.spent += usage
        if self.limits.run_usd is not None and self.spent.cost_usd is None:
            raise RunAborted(
                f"the run is limited to {self.limits.run_usd} USD, but no price is known for {model}; "
                "name it in a price file (MESOCOSM_PRICES) or limit tokens instead"
            )

    def fits(self, tokens: int) -> bool:
        """Return whether `tokens` more fit into the budgets; their price is reckoned from what was spent so far."""
        limits, spent = self.limits, self.spent
        if limits.run_tokens is not None and spent.total + tokens > limits.run_tokens:
            return False
        if limits.run_usd is None:
            return True
        cost = spent.cost_usd or 0.0
        # Before anything was spent the cost of a token is unknown.
        return bool(spent.total) and cost * (1 + tokens / spent.total) <= limits.run_usd

    def exhausted(self) -> str:
        """Return why no further episode may start, or an empty string."""
        limits = self.limits
        if limits.run_seconds is not None and time.monotonic() - self._started >= limits.run_seconds:
            return f"the run's time budget of {limits.run_seconds:g} s is used up"
        return self.overspent()

    def overspent(self) -> str:
        """Return why no further call may be made: tokens or money are used up. Empty as long as one may."""
        limits = self.limits
        if limits.run_tokens is not None and self.spent.total >= limits.run_tokens:
            return f"the run's budget of {limits.run_tokens} tokens is used up ({self.spent.total} spent)"
        if limits.run_usd is not None and (self.spent.cost_usd or 0.0) >= limits.run_usd:
            return f"the run's budget of {limits.run_usd:g} USD is used up ({self.spent.cost_usd or 0.0:.4f} spent)"
        return ""


class AdaptiveLimit:
    """A limit on concurrent calls that finds its own level between 1 and `ceiling`, as TCP does (RFC 5681).

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
