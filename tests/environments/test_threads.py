"""DaemonThreads for calls that may never return."""

import asyncio
import threading
from functools import partial

import pytest

from mesocosm.environments.episode_host import DaemonThreads


async def test_a_call_runs_in_another_thread_and_its_result_comes_back() -> None:
    threads = DaemonThreads(2)
    assert await threads.run(threading.current_thread) is not threading.current_thread()
    assert await threads.run(lambda: None) is None


async def test_a_thread_serves_one_call_after_another_and_ends_with_the_process() -> None:
    threads = DaemonThreads(5)
    served = {await threads.run(threading.current_thread) for _ in range(5)}
    assert len(served) == 1
    assert all(thread.daemon for thread in served)


async def test_calls_beyond_the_limit_wait_for_their_turn() -> None:
    meeting = threading.Barrier(3)

    def met(seconds: float) -> bool:
        try:
            meeting.wait(seconds)
        except threading.BrokenBarrierError:
            return False
        return True

    many, few = DaemonThreads(3), DaemonThreads(2)
    assert await asyncio.gather(*(many.run(partial(met, 60)) for _ in range(3))) == [True] * 3
    assert await asyncio.gather(*(few.run(partial(met, 0.2)) for _ in range(3))) == [False] * 3


async def test_a_call_that_nobody_waits_for_any_more_does_no_harm() -> None:
    threads, entered, released = DaemonThreads(1), threading.Event(), threading.Event()

    def wait() -> bool:
        entered.set()
        return released.wait(10)

    given_up = asyncio.ensure_future(threads.run(wait))
    await asyncio.to_thread(entered.wait, 10)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    released.set()
    assert await threads.run(lambda: "next") == "next"
