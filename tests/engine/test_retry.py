"""Model calls with retries."""

import asyncio

import pytest

from mesocosm.core.backoff import Backoff
from mesocosm.core.failure import Cause, EpisodeError, RunAborted
from mesocosm.core.model import Capabilities, ModelReply, ModelRequest
from mesocosm.core.run import Limits
from mesocosm.core.usage import Usage
from mesocosm.engine.limits import Budget
from mesocosm.engine.retry import Caller, Retry


class Flaky:
    """A model that raises the given errors first, then answers."""

    capabilities = Capabilities()

    def __init__(self, *errors: EpisodeError, usage: Usage = Usage(calls=1)) -> None:  # noqa: B008
        self.errors = list(errors)
        self.usage = usage
        self.calls = 0

    async def ask(self, request: ModelRequest) -> ModelReply:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return ModelReply("ok", usage=self.usage, model="m")

    async def check(self) -> None:
        return

    async def close(self) -> None:
        return


def caller_of(model: Flaky, limits: Limits = Limits()) -> Caller:  # noqa: B008
    return Caller(model, limits, 8, Budget(limits), Backoff(base=0.0))


async def test_what_may_pass_is_tried_again_and_every_wait_is_told() -> None:
    model = Flaky(
        EpisodeError(Cause.MODEL_UNAVAILABLE, "500"), EpisodeError(Cause.RATE_LIMITED, "429", retry_after=0.01)
    )
    told: list[Retry] = []
    reply = await caller_of(model).ask(ModelRequest([]), told.append)
    assert reply.text == "ok"
    assert [(retry.attempt, retry.error.cause, retry.wait_s) for retry in told] == [
        (1, Cause.MODEL_UNAVAILABLE, 0.0),
        (2, Cause.RATE_LIMITED, 0.01),
    ]


async def test_what_cannot_pass_is_not_tried_again() -> None:
    model = Flaky(EpisodeError(Cause.MODEL_REJECTED, "400"))
    with pytest.raises(EpisodeError, match="400"):
        await caller_of(model).ask(ModelRequest([]), lambda retry: None)
    assert model.calls == 1


async def test_retries_end_and_the_last_error_is_raised() -> None:
    model = Flaky(*[EpisodeError(Cause.MODEL_TIMEOUT, f"timeout {number}") for number in range(9)])
    with pytest.raises(EpisodeError, match="timeout 2"):
        await caller_of(model, Limits(retries=2)).ask(ModelRequest([]), lambda retry: None)
    assert model.calls == 3


async def test_a_busy_server_makes_fewer_calls_run_at_once() -> None:
    caller = caller_of(Flaky(EpisodeError(Cause.MODEL_UNAVAILABLE, "503", overload=True)))
    before = caller.concurrency.limit
    await caller.ask(ModelRequest([]), lambda retry: None)
    assert caller.concurrency.limit < before


def test_a_wait_that_is_asked_for_is_obeyed_up_to_a_bound() -> None:
    backoff = Backoff(longest=60)
    assert backoff.wait(1, 7.5) == 7.5
    assert backoff.wait(1, 3600) == 60


async def test_the_bound_holds_for_calls_beside_the_refused_one_too() -> None:
    model = Flaky(EpisodeError(Cause.RATE_LIMITED, "429", retry_after=3600.0))
    caller = Caller(model, Limits(), 8, Budget(Limits()), Backoff(longest=0.01))
    replies = await asyncio.wait_for(
        asyncio.gather(*(caller.ask(ModelRequest([]), lambda retry: None) for _ in range(3))), 30
    )
    assert [reply.text for reply in replies] == ["ok"] * 3


def test_waits_grow_and_are_spread() -> None:
    backoff = Backoff(base=1.0, factor=2.0, cap=8.0)
    for attempt, top in ((1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (9, 8.0)):
        waits = {backoff.wait(attempt, None) for _ in range(50)}
        assert len(waits) > 10
        assert all(top / 2 <= wait <= top for wait in waits)


async def test_a_money_budget_with_an_unknown_price_stops_the_run() -> None:
    limits = Limits(run_usd=1.0)
    caller = caller_of(Flaky(usage=Usage(10, 10, cost_usd=None)), limits)
    reply = await caller.ask(ModelRequest([]), lambda retry: None)
    with pytest.raises(RunAborted, match="no price is known"):
        caller.charge(reply)


async def test_spent_tokens_exhaust_the_budget_of_a_run() -> None:
    limits = Limits(run_tokens=15)
    budget = Budget(limits)
    caller = Caller(Flaky(usage=Usage(5, 5)), limits, 1, budget, Backoff())
    caller.charge(await caller.ask(ModelRequest([]), lambda retry: None))
    assert budget.exhausted() == ""
    caller.charge(await caller.ask(ModelRequest([]), lambda retry: None))
    assert "15 tokens is used up (20 spent)" in budget.exhausted()
    with pytest.raises(EpisodeError, match="15 tokens is used up") as refused:
        await caller.ask(ModelRequest([]), lambda retry: None)
    assert refused.value.rule.pending
