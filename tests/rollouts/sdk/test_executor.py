"""Threads for blocking calls: bounded, reused, and never in the way of an end."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from mesocosm.rollouts.sdk.executor import DaemonExecutor

ENDLESS = """
import threading
from mesocosm.rollouts.sdk.executor import DaemonExecutor
begun = threading.Event()
DaemonExecutor().submit(lambda: (begun.set(), threading.Event().wait()))
begun.wait()
"""


@pytest.fixture
def executor() -> Iterator[DaemonExecutor]:
    executor = DaemonExecutor(2)
    yield executor
    executor.shutdown(cancel_futures=True)


def test_what_a_call_returns_and_raises_is_in_its_future(executor: DaemonExecutor) -> None:
    assert executor.submit(divmod, 7, 2).result(20) == (3, 1)
    with pytest.raises(SystemExit):
        executor.submit(sys.exit, 3).result(20)


def test_no_more_calls_than_allowed_run_at_once(executor: DaemonExecutor) -> None:
    both = threading.Barrier(2)
    lock, now, most = threading.Lock(), [0], [0]

    def call() -> None:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        both.wait(20)
        with lock:
            now[0] -= 1

    for future in [executor.submit(call) for _ in range(10)]:
        future.result(20)
    assert most[0] == 2


def test_what_has_not_begun_is_cancelled_at_the_end_where_asked(executor: DaemonExecutor) -> None:
    go = threading.Event()
    running = [executor.submit(go.wait, 20) for _ in range(2)]
    waiting = executor.submit(int)
    executor.shutdown(cancel_futures=True)
    go.set()
    assert [future.result(20) for future in running] == [True, True]
    assert waiting.cancelled()


async def test_a_loop_takes_it_as_its_default() -> None:
    def own() -> bool:
        loop = asyncio.new_event_loop()
        loop.set_default_executor(DaemonExecutor())
        try:
            return loop.run_until_complete(asyncio.to_thread(lambda: threading.current_thread().daemon))
        finally:
            loop.close()

    assert await asyncio.to_thread(own)


def test_a_call_that_never_returns_does_not_keep_the_process() -> None:
    assert subprocess.run([sys.executable, "-c", ENDLESS], timeout=240, check=False).returncode == 0
