"""Budgets of a run, rate limits per minute, and adaptive concurrency of model calls."""

import asyncio
import time
from collections import deque

from mesocosm.core.failure import RunAborted
from mesocosm.core.run import Limits
from mesocosm.core.usage import NOTHING, Usage


class Rate:
    """A token bucket: `per_minute` units on average, at most one second's worth (or one unit) at once."""

    def __init__(self, per_minute: float) -> None:
        self._whole = self._per_second = per_minute / 60
        self._burst = max(self._per_second, 1.0)
        self._level = self._burst
        self._at = time.monotonic()

    def share(self, part: float) -> None:
        """Use only `part` (0 to 1) of the rate: others use the rest."""
        self._per_second = self._whole * part
        self._burst = max(self._per_second, 1.0)

    async def take(self, units: float = 1.0) -> None:
        """Wait until `units` are available.

        The level may be negative: usage is known only after a call and delays the next one.
        """
        now = time.monotonic()
        self._level = min(self._level + (now - self._at) * self._per_second, self._burst) - units
        self._at = now
        if self._level < 0:
            await asyncio.sleep(-self._level / self._per_second)

    def owe(self, units: float) -> None:
        """Charge units after a call."""
        self._level -= units


class Budget:
    """The budget of a run: total tokens and US dollars including earlier sessions, and seconds in this session.

    `whose` budget it is, for messages.
    """

    def __init__(self, limits: Limits, spent: Usage = NOTHING, *, whose: str = "the run's") -> None:
        self.limits = limits
        self.spent = spent
        self._whose = whose
        self._started = time.monotonic()

    def charge(self, usage: Usage, model: str) -> None:
        """Add the usage of a call. Raises RunAborted if money is limited and the price of `model` is unknown."""
        self.spent += usage
        if self.limits.run_usd is not None and self.spent.cost_usd is None:
            raise RunAborted(
                f"the run is limited to {self.limits.run_usd} USD, but no price is known for {model}; "
                "name it in a price file (MESOCOSM_PRICES) or limit tokens instead"
            )

    def fits(self, tokens: int) -> bool:
        """Return whether `tokens` more fit into the budgets; their price is estimated from the average so far."""
        limits, spent = self.limits, self.spent
        if limits.run_tokens is not None and spent.total + tokens > limits.run_tokens:
            return False
        if limits.run_usd is None:
            return True
        cost = spent.cost_usd or 0.0
        # Before the first call the price of a token is unknown.
        return bool(spent.total) and cost * (1 + tokens / spent.total) <= limits.run_usd

    def exhausted(self) -> str:
        """Return why no further episode may start, or an empty string."""
        limits = self.limits
        if limits.run_seconds is not None and time.monotonic() - self._started >= limits.run_seconds:
            return f"{self._whose} time budget of {limits.run_seconds:g} s is used up"
        return self.overspent()

    def overspent(self) -> str:
        """Return why no further call may be made (tokens or money are used up), or an empty string."""
        limits = self.limits
        if limits.run_tokens is not None and self.spent.total >= limits.run_tokens:
            return f"{self._whose} budget of {limits.run_tokens} tokens is used up ({self.spent.total} spent)"
        if limits.run_usd is not None and (self.spent.cost_usd or 0.0) >= limits.run_usd:
            return f"{self._whose} budget of {limits.run_usd:g} USD is used up ({self.spent.cost_usd or 0.0:.4f} spent)"
        return ""

    async def admitted(self, running: int) -> None:
        """Return at once: what others spend is in `spent` already."""
        del running


class AdaptiveLimit:
    """An adaptive limit on concurrent calls between 1 and `ceiling`, with congestion control as in TCP (RFC 5681).

    The limit doubles per round while calls succeed, until the first overload. An overload (429, 503) halves it; from
    then on it grows by one per round. After an overload with Retry-After, all calls wait for that time.
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

    def resize(self, ceiling: int) -> None:
        """Change the ceiling; calls in progress go on."""
        before, self.ceiling = self.ceiling, max(ceiling, 1)
        self.limit = min(self.limit, float(self.ceiling))
        if self._threshold >= before:
            # No overload so far.
            self._threshold = float(self.ceiling)
        self._admit()

    async def acquire(self) -> float:
        """Wait for a slot; return the monotonic time at which it was granted."""
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
        """Release a slot without changing the limit."""
        self.active -= 1
        if self._waiting:
            self._admit()

    def succeeded(self) -> None:
        """Increase the limit after a successful call."""
        if self.limit < self.ceiling:
            self.limit = min(self.limit + (1.0 if self.limit < self._threshold else 1.0 / self.limit), self.ceiling)

    def overloaded(self, started: float, retry_after: float | None = None) -> None:
        """Decrease the limit after an overload of a call granted at `started`.

        Overloads of the same round count once.
        """
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


class CallLimits:
    """What bounds the calls to one server: how many at a time, and requests and tokens per minute."""

    def __init__(self, limits: Limits, parallel: int) -> None:
        self.concurrency = AdaptiveLimit(parallel)
        self.requests = Rate(limits.requests_per_minute) if limits.requests_per_minute else None
        self.tokens = Rate(limits.tokens_per_minute) if limits.tokens_per_minute else None
