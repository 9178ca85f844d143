"""Several runs at once: what they share, and what ends one of them or all."""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.api.conftest import ROWS, doubled

import mesocosm as mc
from mesocosm.api import evaluate, waiting
from mesocosm.api.evaluate import evaluated_together
from mesocosm.api.running import run_work
from mesocosm.core.failure import InfrastructureError
from mesocosm.engine.limits import Rate
from mesocosm.engine.pool import PoolShare
from mesocosm.engine.session import Control
from mesocosm.testing.model_server import ModelServer

PATIENCE = 120.0
"""Seconds until a test fails that waits for what never comes."""


class Crowd(ModelServer):
    """A model that adds and counts the calls that it has at a time.

    It answers nothing before `models_first` models were asked, and `slow` nothing before `one` was asked `free_after`
    times.
    """

    def __init__(self) -> None:
        super().__init__(self.add, models=["one", "two", "slow", "judge", "critic"])
        self.most = self._now = self.models_first = 0
        self.met = asyncio.Event()
        self.asked: Counter[str] = Counter()
        self.free = asyncio.Event()
        self.free_after = 0

    async def add(self, body: dict[str, Any]) -> str:
        name = body["model"]
        self.asked[name] += 1
        self._now += 1
        self.most = max(self.most, self._now)
        if len(self.asked) >= self.models_first:
            self.met.set()
        await self.met.wait()
        for _ in range(50):  # turns of the loop in which further calls could come
            await asyncio.sleep(0)
        if self.asked["one"] == self.free_after:
            self.free.set()
        if name == "slow":
            await self.free.wait()
        self._now -= 1
        return "yes" if name in {"judge", "critic"} else doubled(body)

    def named(self, *names: str) -> list[str]:
        return [f"openai/{name}@{self.openai_url}" for name in names]


@pytest.fixture
async def crowd() -> AsyncIterator[Crowd]:
    async with Crowd() as running:
        yield running


async def swept(model: list[str], **more: Any) -> mc.Runs:
    async with asyncio.timeout(PATIENCE):
        return await mc.asweep(ROWS, **{"prompt": "{question}", "grader": "numeric", "model": model, **more})


async def test_all_runs_together_have_at_most_so_many_calls_at_a_time(crowd: Crowd) -> None:
    crowd.models_first = 2
    async with ModelServer(crowd.add, models=["other"]) as second:
        found = await swept([*crowd.named("one"), f"openai/other@{second.openai_url}"], parallel=3)
    assert [run.id for run in mc.runs()] == [run.id for run in found][::-1]
    assert (crowd.most, crowd.asked) == (3, {"one": 6, "other": 6})
    assert [(run.model.partition("@")[0], run.score) for run in found] == [("openai/one", 1.0), ("openai/other", 1.0)]


async def test_they_give_what_they_give_one_after_the_other(crowd: Crowd) -> None:
    found = await swept(crowd.named("one", "two"), grader="exact", trials=2)
    for run, model in zip(found, crowd.named("one", "two"), strict=True):
        alone = await mc.aevaluate(
            ROWS, prompt="{question}", grader="exact", model=model, trials=2, fresh=True, name="alone"
        )
        both = [
            sorted((one.task, one.trial, one.answer, one.score) for one in each.episodes()) for each in (run, alone)
        ]
        assert both[0] == both[1]
        assert (run.score, run.usage) == (alone.score, alone.usage)


async def test_a_slow_model_does_not_keep_a_fast_one_waiting(crowd: Crowd) -> None:
    crowd.free_after = 6
    found = await swept(crowd.named("slow", "one"), parallel=2)
    assert [run.score for run in found] == [1.0, 1.0]


async def test_the_budget_is_one_and_the_same_call_asks_nothing_more(crowd: Crowd) -> None:
    models, limits = crowd.named("one", "two"), mc.Limits(tokens=1)
    found = await swept(models, parallel=1, limits=limits)
    assert ([run.status for run in found], crowd.served) == (["stopped", "stopped"], 1)
    assert "the runs' common budget of 1 tokens is used up" in found[1].error
    again = await swept(models, parallel=1, limits=limits)
    assert ([run.id for run in again], crowd.served) == ([run.id for run in found], 1)
    whole = await swept(models)
    assert ([run.id for run in whole], crowd.served) == ([run.id for run in found], 12)


async def test_runs_on_the_same_server_share_its_rate(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: Counter[int] = Counter()

    async def take(self: Rate, units: float = 1.0) -> None:
        taken[id(self)] += 1

    monkeypatch.setattr(Rate, "take", take)
    await swept(crowd.named("one", "two"), limits=mc.Limits(requests_per_minute=60))
    assert list(taken.values()) == [12]


async def test_of_runs_with_the_same_answers_one_asks_for_them(crowd: Crowd) -> None:
    async def polite(answer: str, expected: str, judge: Any) -> bool:
        return bool(await judge.ask(f"Is {answer} polite?") == "yes")

    (model,) = crowd.named("one")
    await swept([model], grader=polite, judge=crowd.named("judge", "critic"))
    assert crowd.asked == {"one": 6, "judge": 6, "critic": 6}


async def test_equal_calls_are_one_run(crowd: Crowd) -> None:
    (model,) = crowd.named("one")
    first, second = await swept([model, model])
    assert (first.id, crowd.served) == (second.id, 6)


async def test_a_refused_key_ends_one_run_and_is_told_at_the_end(crowd: Crowd) -> None:
    async with ModelServer(doubled, key="sk-of-somebody-else") as guarded:
        with pytest.raises(mc.RunAborted, match="key"):
            await swept([f"openai/other@{guarded.openai_url}", *crowd.named("one")])
    (run,) = mc.runs()
    assert (run.status, run.score) == ("finished", 1.0)


async def test_a_store_that_fails_ends_all(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asyncio.Event()
    crowd.answer = lambda body: wait_for_ever(asked)

    async def failing(work: Any, wishes: Any, control: Any, display: Any, share: PoolShare) -> mc.Run:
        if share.number == 0:
            return await run_work(work, wishes, control, display, share)
        await share.begin("other", None)
        await asked.wait()
        raise InfrastructureError("the disk is full")

    monkeypatch.setattr(evaluate, "run_work", failing)
    with pytest.raises(mc.InfrastructureError, match="disk is full"):
        await swept(crowd.named("one", "two"))
    (run,) = mc.runs()
    assert (run.status, run.missing) == ("stopped", {"not_run": 6})


async def wait_for_ever(begun: asyncio.Event) -> str:
    begun.set()
    await asyncio.Event().wait()
    return ""


async def test_what_cannot_work_is_refused_before_any_run_begins(crowd: Crowd) -> None:
    with pytest.raises(mc.UsageError, match="nope"):
        await swept(crowd.named("one"), prompt={"good": "{question}", "bad": "{nope}"})
    assert (crowd.served, len(mc.runs())) == (0, 0)


async def test_a_stop_reaches_every_run_and_the_same_calls_go_on(crowd: Crowd) -> None:
    control = Control()
    calls = [{"what": ROWS, "prompt": "{question}", "model": one, "parallel": 2} for one in crowd.named("one", "slow")]

    def stop(body: dict[str, Any]) -> str:
        control.stop("interrupted")
        return doubled(body)

    add, crowd.answer = crowd.answer, stop
    stopped = await evaluated_together(calls, "", control)
    assert [(run.status, run.error) for run in stopped] == [("stopped", "interrupted")] * 2
    crowd.answer, crowd.free_after = add, 0
    crowd.free.set()
    whole = await evaluated_together(calls, "", Control())
    assert [(run.id, run.status) for run in whole] == [(run.id, "finished") for run in stopped]
    assert crowd.served == 12


def test_ctrl_c_keeps_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    import _thread

    release, began = threading.Event(), threading.Event()

    def agent(question: str) -> str:
        began.set()
        release.wait(PATIENCE)
        return question

    def interrupt() -> None:
        began.wait(PATIENCE)
        _thread.interrupt_main()

    def stopping(state: Any, control: Any) -> None:
        stop(state, control)
        state.loop.call_soon_threadsafe(release.set)

    stop = waiting._stop
    monkeypatch.setattr(waiting, "_stop", stopping)
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(mc.Interrupted, match="the same call runs the rest") as caught:
        mc.sweep(ROWS, prompt={"a": "{question}", "b": "{question}!"}, agent=agent, parallel=2)
    assert [run.status for run in caught.value.runs] == ["stopped", "stopped"]
