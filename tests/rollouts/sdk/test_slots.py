"""Slots: who may run, in which order."""

import asyncio

import pytest

from mesocosm.rollouts.sdk.backend import Slots


async def test_slots_are_given_in_the_order_of_asking() -> None:
    slots, order = Slots(1), []

    async def work(name: str) -> None:
        await slots.take()
        order.append(name)
        slots.give()

    await slots.take()
    tasks = [asyncio.create_task(work(name)) for name in "abc"]
    await asyncio.sleep(0)
    assert (slots.queued, slots.running, slots.free) == (3, 1, False)
    slots.give()
    await asyncio.gather(*tasks)
    assert order == ["a", "b", "c"]
    assert (slots.queued, slots.running, slots.free) == (0, 0, True)


async def test_who_stops_waiting_leaves_no_hole() -> None:
    slots = Slots(1)
    await slots.take()
    first, second = asyncio.create_task(slots.take()), asyncio.create_task(slots.take())
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    slots.give()
    await second
    assert slots.running == 1


async def test_a_slot_given_to_somebody_who_was_just_cancelled_goes_on_to_the_next() -> None:
    slots = Slots(1)
    await slots.take()
    first, second = asyncio.create_task(slots.take()), asyncio.create_task(slots.take())
    await asyncio.sleep(0)
    slots.give()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    await second
    assert slots.running == 1


async def test_without_a_limit_nobody_waits() -> None:
    slots = Slots(None)
    for _ in range(100):
        await slots.take()
    assert (slots.running, slots.queued) == (100, 0)
