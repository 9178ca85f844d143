"""Budgets of a run, and rates per minute."""

import asyncio
import time

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
        # Before anything was spent nobody knows what a token costs.
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
