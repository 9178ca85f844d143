"""What runs that go at once share: slots for their episodes, one budget, the limits of each server."""

import asyncio
from collections import deque
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from mesocosm.core.run import Limits, Run
from mesocosm.core.usage import Usage
from mesocosm.engine.limits import Budget, CallLimits

T = TypeVar("T")


class Pool:
    """Runs that go at once, on one event loop: at most `parallel` of their episodes are played at a time.

    `limits` is their common budget; without it each run has its own. A run that has more to start keeps an equal part
    of the slots, at least one if there are enough: others use only what is left of it. So a server that does not answer
    stops its own runs and no others.
    """

    def __init__(self, parallel: int, limits: Limits | None = None) -> None:
        self.slots = self._free = max(parallel, 1)
        self.budget = None if limits is None else Budget(limits, whose="the runs' common")
        self._turns = 0
        self._shares: list[PoolShare] = []
        self._counted: set[str] = set()
        self._servers: dict[str, CallLimits] = {}

    def share(self) -> "PoolShare":
        """Return the share of one further run. Take those of all runs before the first one begins."""
        self._shares.append(PoolShare(self, len(self._shares)))
        return self._shares[-1]

    def calls_to(self, address: str, limits: Limits) -> CallLimits:
        """Return what bounds the calls to a server, the same for all runs that ask it."""
        return self._servers.setdefault(address, CallLimits(limits, self.slots))

    def count(self, earlier: Run) -> None:
        """Take what a run spent in earlier sessions off the common budget, once."""
        if self.budget is not None and earlier.id not in self._counted:
            self._counted.add(earlier.id)
            self.budget.spent += _priced(earlier.usage)

    def gather(self) -> None:
        """Let all runs begin, in their order, once every one is ready."""
        if all(share.ready for share in self._shares):
            for share in self._shares:
                share.all_ready.set()

    def before(self, share: "PoolShare") -> Iterator["PoolShare"]:
        """Yield the runs that this one waits for."""
        return (one for one in self._shares[: share.number] if one.after == share.after)

    def admit(self) -> None:
        """Give free slots to waiting runs, first to those with the fewest, in turns."""
        while self._free:
            share = min(filter(self._may_take, self._shares), key=lambda one: (one.held, one.turn), default=None)
            if share is None:
                return
            self._free -= 1
            self._turns += 1
            share.grant(self._turns)

    def give_back(self) -> None:
        """Take a slot back."""
        self._free += 1
        self.admit()

    def _may_take(self, share: "PoolShare") -> bool:
        if not share.waits():
            return False
        others = [one for one in self._shares if one.more and one is not share]
        part = max(self.slots // (len(others) + 1), 1)
        kept = sum(max(min(part, one.most) - one.held, 0) for one in others)
        return share.held < part or self._free > kept


class PoolShare:
    """What one run of a pool has of it. Call `leave` when the run is over, whatever happened.

    `held` are its slots, `more` says that it has more episodes to start, `most` how many it plays at a time.
    """

    def __init__(self, pool: Pool, number: int) -> None:
        self.pool = pool
        self.number = number
        self.after = ""
        self.ready = False
        self.all_ready = asyncio.Event()
        self.left = asyncio.Event()
        self.most = pool.slots
        self.held = 0
        self.turn = 0
        self.begun = False
        self.more = False
        self._waiting: deque[asyncio.Future[bool]] = deque()
        self._over = False

    async def begin(self, after: str, earlier: Run | None) -> None:
        """Return when the run may begin: all others are ready too, and earlier ones with the same `after` are over.

        What those write may spare this one calls. Runs that need not wait begin in their order. `earlier` is the run
        that this one continues.
        """
        self.after = after
        if earlier is not None:
            self.pool.count(earlier)
        self.ready = True
        # Not at once, so that the last one does not overtake those that wait already.
        asyncio.get_running_loop().call_soon(self.pool.gather)
        await self.all_ready.wait()
        for other in self.pool.before(self):
            await other.left.wait()
        self.begun = self.more = True

    def budget(self, limits: Limits, spent: Usage) -> Budget:
        """Return the budget of the run, which has `spent` before."""
        whole = self.pool.budget
        return Budget(limits, spent) if whole is None else _CommonBudget(whole, limits, spent)

    def follow(self, items: Iterator[T]) -> Iterator[T]:
        """Yield the items that are to be started; after the last one the run keeps no slots for more."""
        self.more = True
        yield from items
        self._no_more()

    async def take(self) -> bool:
        """Wait for a slot; return False, without one, if the run is to start nothing more."""
        if self._over:
            return False
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self.pool.admit()
        try:
            return await future
        except asyncio.CancelledError:
            if not future.cancelled() and future.result():
                self.give_back()
            raise

    def waits(self) -> bool:
        """Return whether an episode waits for a slot."""
        while self._waiting and self._waiting[0].done():  # cancelled
            self._waiting.popleft()
        return bool(self._waiting)

    def grant(self, turn: int) -> None:
        """Give a slot to the first that waits, in the turn with this number."""
        self.held += 1
        self.turn = turn
        self._waiting.popleft().set_result(True)

    def give_back(self) -> None:
        """Give a slot back."""
        self.held -= 1
        self.pool.give_back()

    def stop(self) -> None:
        """Start nothing more: who waits for a slot gets none."""
        self._over = True
        while self.waits():
            self._waiting.popleft().set_result(False)
        self._no_more()

    def leave(self) -> None:
        """End the run's part in the pool."""
        self.stop()
        self.ready = True
        self.left.set()
        self.pool.gather()

    def _no_more(self) -> None:
        self.more = False
        self.pool.admit()


class _CommonBudget(Budget):
    """The budget of one run that spends from a common one; `spent` is what this run did."""

    def __init__(self, whole: Budget, limits: Limits, spent: Usage) -> None:
        super().__init__(limits, spent)
        self._whole = whole

    def charge(self, usage: Usage, model: str) -> None:
        self._whole.spent += _priced(usage)
        super().charge(usage, model)

    def fits(self, tokens: int) -> bool:
        return self._whole.fits(tokens)

    def exhausted(self) -> str:
        return self._whole.exhausted()

    def overspent(self) -> str:
        return self._whole.overspent()


def _priced(usage: Usage) -> Usage:
    """Return a usage of which an unknown price counts nothing: a run with one is ended by its own budget."""
    return usage if usage.cost_usd is not None else msgspec.structs.replace(usage, cost_usd=0.0)
