"""Adaptive concurrency."""

import asyncio
import time

import pytest

from mesocosm.engine.limits import AdaptiveLimit


async def test_no_more_than_the_limit_run_at_once() -> None:
    limit = AdaptiveLimit(ceiling=3, start=3)
    most = 0

    async def call() -> None:
        nonlocal most
        await limit.acquire()
        most = max(most, limit.active)
        await asyncio.sleep(0)
        limit.release()

    await asyncio.gather(*(call() for _ in range(20)))
    assert most == 3
    assert limit.active == 0


async def test_it_doubles_per_round_while_calls_succeed() -> None:
    limit = AdaptiveLimit(ceiling=1000, start=4)
    for _ in range(3):
        for _ in range(int(limit.limit)):
            limit.succeeded()
    assert limit.limit == 32


async def test_one_round_of_overloads_halves_it_once() -> None:
    limit = AdaptiveLimit(ceiling=64, start=64)
    started = time.monotonic()
    for _ in range(10):
        limit.overloaded(started)
    assert limit.limit == 32
    limit.overloaded(time.monotonic())
    assert limit.limit == 16


async def test_after_an_overload_it_grows_by_one_per_round() -> None:
    limit = AdaptiveLimit(ceiling=64, start=64)
    limit.overloaded(time.monotonic())
    for _ in range(32):
        limit.succeeded()
    assert limit.limit == pytest.approx(33, abs=0.1)


async def test_it_never_falls_below_one_nor_rises_above_the_ceiling() -> None:
    limit = AdaptiveLimit(ceiling=2, start=2)
    for _ in range(20):
        limit.overloaded(time.monotonic())
    assert limit.limit == 1
    for _ in range(100):
        limit.succeeded()
    assert limit.limit == 2


async def test_a_wait_that_the_server_asks_for_holds_everybody_back() -> None:
    limit = AdaptiveLimit(ceiling=10)
    limit.overloaded(time.monotonic(), retry_after=0.05)
    began = time.monotonic()
    await asyncio.gather(*(limit.acquire() for _ in range(3)))
    assert time.monotonic() - began >= 0.04


async def test_cancelled_waiters_lose_no_places() -> None:
    limit = AdaptiveLimit(ceiling=1, start=1)
    await limit.acquire()
    waiting = [asyncio.create_task(limit.acquire()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    limit.release()
    waiting[1].cancel()
    await asyncio.gather(*waiting[:2], return_exceptions=True)
    await asyncio.wait_for(waiting[2], 120)
    assert limit.active == 1
