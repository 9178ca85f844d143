"""Budgets of a run that several workers spend: the session grants amounts, and takes back what is left of them.

All amounts together never exceed the budget, so it is overspent only by calls that cost more than was granted for them:
a worker that has little left makes one call at a time.
"""

import asyncio
import time
from collections.abc import Callable

from mesocosm.core.ports import CallBudget
from mesocosm.core.run import Limits
from mesocosm.core.usage import Usage
from mesocosm.engine.executors.messages import Amount
from mesocosm.engine.limits import Budget

KEPT_S = 10.0
"""Seconds after which a worker returns what it has not spent."""

UNTOLD = 0.05
"""Share of what was granted that a worker may spend before it reports that: a lost worker has not reported more."""

NOTHING_LEFT = 1e-9
"""Share of a budget below which an amount is a rounding error."""


class AllowedBudget(Budget):
    """The budget of one worker: what it was granted. Implements core.ports.CallBudget."""

    def __init__(self, limits: Limits, short: Callable[[], None]) -> None:
        super().__init__(limits)
        self.over = ""
        self._short = short
        self._left = Amount(
            None if limits.run_tokens is None else 0.0,
            None if limits.run_usd is None else 0.0,
        )
        self._granted = self._left
        self._granted_at = 0.0
        self._waiting: list[asyncio.Future[None]] = []

    def grant(self, more: Amount, over: str) -> None:
        """Add an amount, or end all spending with a reason."""
        self.over = self.over or over
        self._left = Amount(_sum(self._left.tokens, more.tokens), _sum(self._left.usd, more.usd))
        self._granted, self._granted_at = self._left, time.monotonic()
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def matters(self, spent: Usage) -> bool:
        """Return whether the session should know soon that this was spent."""
        amounts = ((self._granted.tokens, spent.total), (self._granted.usd, spent.cost_usd or 0.0))
        return any(granted is not None and used > granted * UNTOLD for granted, used in amounts)

    def returned(self) -> Amount | None:
        """Take out and return what was left for `KEPT_S`; None if nothing is due."""
        left = self._left
        if time.monotonic() - self._granted_at < KEPT_S or not any(one and one > 0 for one in (left.tokens, left.usd)):
            return None
        back = Amount(_positive(left.tokens), _positive(left.usd))
        self._left = Amount(_less(left.tokens, back.tokens), _less(left.usd, back.usd))
        return back

    def charge(self, usage: Usage, model: str) -> None:
        """Add the usage of a call. Raises RunAborted if money is limited and the price of `model` is unknown."""
        super().charge(usage, model)
        self._left = Amount(_less(self._left.tokens, usage.total), _less(self._left.usd, usage.cost_usd or 0.0))

    def fits(self, tokens: int) -> bool:
        """Return whether `tokens` more fit into what was granted; their price is estimated from the average so far."""
        left, spent = self._left, self.spent
        if left.tokens is not None and tokens > left.tokens:
            return False
        if left.usd is None:
            return True
        return bool(spent.total) and (spent.cost_usd or 0.0) * tokens / spent.total <= left.usd

    def exhausted(self) -> str:
        """Return why no further episode may start, or an empty string; the session watches the time."""
        return self.over

    def overspent(self) -> str:
        """Return why no further call may be made, or an empty string."""
        return self.over

    async def admitted(self, running: int) -> None:
        """Wait until a call may start beside `running` others without spending more than was granted."""
        while not self.over and not self._affordable(running):
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            self._short()
            await future

    def _affordable(self, running: int) -> bool:
        left, spent = self._left, self.spent
        for amount, used in ((left.tokens, spent.total), (left.usd, spent.cost_usd or 0.0)):
            if amount is None:
                continue
            mean = used / spent.calls if spent.calls else 0.0
            if amount <= 0 or (running and (not spent.calls or amount < mean * (running + 1))):
                return False
        return True


class Ledger:
    """What a session has granted to its workers, beside what they have spent."""

    def __init__(self, limits: Limits, budget: CallBudget) -> None:
        self.limited = limits.run_tokens is not None or limits.run_usd is not None
        self._limits = limits
        self._budget = budget
        self._granted: dict[int, Amount] = {}

    def spent(self, worker: int, usage: Usage, returned: Amount | None) -> None:
        """Take what a worker has spent off its amount; what it returned can be granted again."""
        if (held := self._granted.get(worker)) is None:
            return
        back = returned or Amount(0.0, 0.0)
        tokens = _less(_less(held.tokens, usage.total), back.tokens or 0.0)
        usd = _less(_less(held.usd, usage.cost_usd or 0.0), back.usd or 0.0)
        self._granted[worker] = Amount(tokens, usd)

    def lost(self, worker: int) -> None:
        """Forget what a worker had that is gone."""
        self._granted.pop(worker, None)

    def grant(self, worker: int, workers: int) -> Amount | None:
        """Return what one of `workers` workers gets now; None while others hold all that is left."""
        spent = self._budget.spent
        held = self._granted.get(worker)
        given: list[float | None] = []
        for limit, used, has, others in zip(
            (self._limits.run_tokens, self._limits.run_usd),
            (spent.total, spent.cost_usd or 0.0),
            (0.0, 0.0) if held is None else _pair(held),
            [[_pair(one)[place] for one in self._granted.values()] for place in (0, 1)],
            strict=True,
        ):
            if limit is None:
                given.append(None)
                continue
            out = sum(max(one or 0.0, 0.0) for one in others)
            free = limit - used - out
            mean = used / spent.calls if spent.calls else 0.0
            share = max(free / (2 * workers), min(2 * mean, free))
            if share <= limit * NOTHING_LEFT < out:
                return None
            # What a worker overspent is in `spent`; it gets it back, so that it has its share.
            given.append(max(share, limit * NOTHING_LEFT) - min(has or 0.0, 0.0))
        more = Amount(*given)
        self._granted[worker] = (
            more if held is None else Amount(_sum(held.tokens, more.tokens), _sum(held.usd, more.usd))
        )
        return more


def _pair(amount: Amount) -> tuple[float | None, float | None]:
    return (amount.tokens, amount.usd)


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None else one + (other or 0.0)


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None else one - (other or 0.0)


def _positive(one: float | None) -> float | None:
    return None if one is None else max(one, 0.0)
