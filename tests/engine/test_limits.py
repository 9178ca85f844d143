"""Budgets of a run and rates per minute, on a clock of our own."""

from types import SimpleNamespace

import pytest

from mesocosm.core.failure import RunAborted
from mesocosm.core.run import Limits
from mesocosm.core.usage import Usage
from mesocosm.engine import limits as module
from mesocosm.engine.limits import Budget, Rate


class Clock:
    """Time passes only while somebody sleeps, or when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    monkeypatch.setattr(module, "asyncio", SimpleNamespace(sleep=made.sleep))
    return made


async def test_a_rate_is_kept_on_average(clock: Clock) -> None:
    rate = Rate(per_minute=60)
    for _ in range(31):
        await rate.take()
    assert clock.now == pytest.approx(1030)


async def test_a_rate_below_one_a_minute_works_too(clock: Clock) -> None:
    rate = Rate(per_minute=0.5)
    for _ in range(3):
        await rate.take()
    assert clock.now == pytest.approx(1240)


async def test_idle_time_saves_up_one_second_of_units_and_no_more(clock: Clock) -> None:
    rate = Rate(per_minute=600)
    clock.now += 3600
    for _ in range(10):
        await rate.take()
    assert clock.now == pytest.approx(4600)
    await rate.take()
    assert clock.now == pytest.approx(4600.1)


async def test_units_known_only_afterwards_are_paid_by_the_next(clock: Clock) -> None:
    rate = Rate(per_minute=6000)
    await rate.take(0.0)
    rate.owe(1100)
    await rate.take(0.0)
    assert clock.now == pytest.approx(1010)


@pytest.mark.parametrize(
    ("limits", "spent", "said"),
    [
        (Limits(run_tokens=30), Usage(20, 9), ""),
        (Limits(run_tokens=30), Usage(20, 10), "the run's budget of 30 tokens is used up (30 spent)"),
        (Limits(run_usd=0.5), Usage(cost_usd=0.49), ""),
        (Limits(run_usd=0.5), Usage(cost_usd=0.5), "the run's budget of 0.5 USD is used up (0.5000 spent)"),
        (Limits(run_tokens=0), Usage(), "the run's budget of 0 tokens is used up (0 spent)"),
        (Limits(), Usage(10**9, 10**9, cost_usd=1e9), ""),
    ],
)
def test_a_budget_is_used_up_when_it_is_reached(limits: Limits, spent: Usage, said: str) -> None:
    budget = Budget(limits)
    budget.charge(spent, "m")
    assert budget.exhausted() == said


def test_a_budget_counts_what_was_spent_before() -> None:
    assert "(30 spent)" in Budget(Limits(run_tokens=30), Usage(20, 10)).exhausted()


def test_seconds_count_from_the_beginning_of_the_session(clock: Clock) -> None:
    budget = Budget(Limits(run_seconds=90))
    clock.now += 89.9
    assert budget.exhausted() == ""
    clock.now += 0.1
    assert budget.exhausted() == "the run's time budget of 90 s is used up"


def test_unknown_prices_matter_only_where_money_is_limited() -> None:
    unknown = Usage(1, 1, cost_usd=None)
    Budget(Limits(run_tokens=9)).charge(unknown, "m-1")
    with pytest.raises(RunAborted, match=r"limited to 2\.0 USD, but no price is known for m-1.*MESOCOSM_PRICES"):
        Budget(Limits(run_usd=2.0)).charge(unknown, "m-1")


def test_money_spent_before_at_an_unknown_price_is_no_licence() -> None:
    with pytest.raises(RunAborted, match="no price is known"):
        Budget(Limits(run_usd=2.0), Usage(10, 10, cost_usd=None)).charge(Usage(1, 1, cost_usd=0.1), "m-1")


def test_what_calls_under_way_may_use_fits_or_does_not() -> None:
    spent = Usage(80, 20, cost_usd=1.0, calls=1)
    tokens, money = Budget(Limits(run_tokens=150), spent), Budget(Limits(run_usd=1.5), spent)
    for budget in (tokens, money):
        assert budget.fits(50)
        assert not budget.fits(51)
    assert Budget(Limits()).fits(10**9)


def test_before_anything_was_spent_nobody_knows_what_fits_into_money() -> None:
    assert not Budget(Limits(run_usd=1.5)).fits(1)
