"""Budgets that several workers spend: together they never spend more than was granted, and all of it can be spent."""

import asyncio
import random

import pytest

from mesocosm.core.run import Limits
from mesocosm.core.usage import Usage
from mesocosm.engine.executors import allowance
from mesocosm.engine.executors.allowance import AllowedBudget, Ledger
from mesocosm.engine.executors.messages import Amount
from mesocosm.engine.limits import Budget


class Worker:
    """A worker that spends what it was granted in calls of varying cost."""

    def __init__(self, number: int, limits: Limits) -> None:
        self.number = number
        self.asked = False
        self.budget = AllowedBudget(limits, self._ask)

    def _ask(self) -> None:
        self.asked = True


def play(limits: Limits, workers: int, seed: int) -> tuple[Budget, float]:
    """Let workers make calls in a random order until the budget is used up; return it and the dearest call."""
    rng, whole = random.Random(seed), Budget(limits)
    ledger = Ledger(limits, whole)
    crew = [Worker(number, limits) for number in range(workers)]
    dearest = 0.0
    for _ in range(100_000):
        if whole.overspent():
            return whole, dearest
        worker = rng.choice(crew)
        if worker.budget._affordable(0):
            tokens = rng.randint(1, 60)
            usage = Usage(tokens, 0, cost_usd=tokens / 1000, calls=1)
            dearest = max(dearest, tokens)
            worker.budget.charge(usage, "m")
            whole.charge(usage, "m")
            ledger.spent(worker.number, usage, None)
        elif (more := ledger.grant(worker.number, workers)) is not None:
            worker.budget.grant(more, "")
    raise AssertionError("the budget was never used up: what is left of it lies with workers that cannot spend it")


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("workers", [1, 2, 7])
def test_calls_one_by_one_overspend_by_one_call_of_each_worker_at_most(workers: int, seed: int) -> None:
    whole, dearest = play(Limits(run_tokens=5000), workers, seed)
    assert 5000 <= whole.spent.total < 5000 + workers * dearest


@pytest.mark.parametrize("seed", range(5))
def test_money_is_used_up_to_the_last_cent_and_not_far_beyond(seed: int) -> None:
    whole, dearest = play(Limits(run_usd=2.0), 4, seed)
    assert whole.spent.cost_usd is not None
    assert 2.0 <= whole.spent.cost_usd < 2.0 + 4 * dearest / 1000


def test_what_a_lost_worker_had_can_be_granted_again() -> None:
    whole = Budget(Limits(run_tokens=1000))
    ledger = Ledger(whole.limits, whole)
    given = sum(more.tokens or 0 for _ in range(60) if (more := ledger.grant(1, 1)) is not None)
    assert given == pytest.approx(1000)
    ledger.lost(1)
    more = ledger.grant(2, 1)
    assert more is not None
    assert more.tokens == 500


async def test_a_call_waits_until_more_is_granted() -> None:
    asked = 0

    def ask() -> None:
        nonlocal asked
        asked += 1

    budget = AllowedBudget(Limits(run_tokens=100), ask)
    call = asyncio.create_task(budget.admitted(0))
    await asyncio.sleep(0)
    assert (asked, call.done()) == (1, False)
    budget.grant(Amount(10.0), "")
    await call


async def test_a_call_beside_others_waits_unless_what_is_left_is_enough_for_all() -> None:
    budget = AllowedBudget(Limits(run_tokens=100), lambda: None)
    budget.grant(Amount(50.0), "")
    budget.charge(Usage(20, 0, calls=1), "m")
    await budget.admitted(0)
    second = asyncio.create_task(budget.admitted(1))
    await asyncio.sleep(0)
    assert not second.done()
    budget.grant(Amount(20.0), "")
    await second


async def test_calls_that_wait_go_on_when_the_budget_is_used_up() -> None:
    budget = AllowedBudget(Limits(run_tokens=100), lambda: None)
    call = asyncio.create_task(budget.admitted(0))
    await asyncio.sleep(0)
    budget.grant(Amount(), "the budget is used up")
    await call
    assert budget.overspent() == "the budget is used up"


def test_what_is_not_spent_for_a_while_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = AllowedBudget(Limits(run_tokens=100), lambda: None)
    budget.grant(Amount(30.0), "")
    budget.charge(Usage(10, 0, calls=1), "m")
    assert budget.returned() is None
    monkeypatch.setattr(allowance, "KEPT_S", 0.0)
    assert budget.returned() == Amount(20.0)
    assert budget.returned() is None
