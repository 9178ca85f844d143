"""Functions that are passed in: whatever they do, the run goes on, and each is measured by its own time alone."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

import mesocosm as mc
from mesocosm.api import calling
from mesocosm.api.calling import Overdue, Raised, called

ERRORS = [StopIteration, TimeoutError, KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError]


async def test_plain_functions_do_not_wait_for_each_other() -> None:
    meeting = threading.Barrier(40)
    await asyncio.gather(*(called(meeting.wait, 20.0) for _ in range(40)))


def test_a_plain_function_that_never_returns_does_not_keep_the_run() -> None:
    with pytest.raises(Overdue):
        asyncio.run(called(threading.Event().wait, seconds=0.01))


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("asynchronous", [False, True])
async def test_whatever_a_function_raises_is_its_own_failure(error: type[BaseException], asynchronous: bool) -> None:
    def plain() -> None:
        raise error

    async def coroutine() -> None:
        raise error

    async def fine() -> str:
        return "fine"

    function: Callable[[], Any] = coroutine if asynchronous else plain
    with pytest.raises(Raised) as raised:
        await called(function)
    # A coroutine cannot raise StopIteration: Python makes another error of it.
    assert type(raised.value.error) is (RuntimeError if asynchronous and error is StopIteration else error)
    assert await called(fine) == "fine"


async def test_a_coroutine_that_swallows_its_cancellation_is_overdue() -> None:
    async def stays() -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    with pytest.raises(Overdue):
        await called(stays, seconds=0.01)


async def test_a_coroutine_that_blocks_the_loop_takes_no_other_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "STUCK_S", 0.01)
    blocked = threading.Event()

    async def blocks(waits: bool) -> str:
        if waits:
            blocked.wait()
        return "answer"

    try:
        found = await asyncio.gather(
            *(called(blocks, number == 0, seconds=0.2) for number in range(4)), return_exceptions=True
        )
    finally:
        blocked.set()
    assert [type(found[0]), *found[1:]] == [Overdue, "answer", "answer", "answer"]


async def test_an_agent_that_times_out_itself_has_raised() -> None:
    def solve(question: str) -> str:
        raise TimeoutError("its own")

    run = await mc.aevaluate([{"q": "1", "answer": "1"}], agent=solve, grader="exact")
    (episode,) = run.episodes()
    assert (episode.cause, "raised TimeoutError: its own" in episode.error) == ("agent_error", True)


async def test_a_further_score_cannot_take_the_place_of_the_score() -> None:
    def right(answer: str, expected: str) -> dict[str, float]:
        return {"score": 1.0, "right": 0.0}

    run = await mc.aevaluate([{"q": "1", "answer": "1"}], prompt="{q}", grader=right, model="builtin/oracle")
    assert (run.score, run.missing) == (None, {"grader_error": 1})
