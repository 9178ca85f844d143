"""Slots and exclusive things of a group."""

import asyncio

from mesocosm.engine.group import Resources


async def taken(resources: Resources, slots: int, *names: str) -> bool:
    """Return whether a wish is granted at once."""
    task = asyncio.create_task(resources.take(slots, frozenset(names)))
    for _ in range(5):
        await asyncio.sleep(0)
    granted = task.done()
    task.cancel()
    return granted


async def test_slots_are_handed_out_until_none_is_left() -> None:
    resources = Resources(3)
    await resources.take(2)
    assert not await taken(resources, 2)
    assert await taken(resources, 1)


async def test_what_is_given_back_can_be_taken_again() -> None:
    resources = Resources(2)
    release = await resources.take(2)
    waiting = asyncio.create_task(resources.take(1))
    await asyncio.sleep(0)
    release()
    await asyncio.wait_for(waiting, 120)


async def test_a_wish_for_more_than_there_is_takes_all() -> None:
    resources = Resources(2)
    await resources.take(7)
    assert not await taken(resources, 1)


async def test_no_number_is_a_wish_for_all() -> None:
    resources = Resources(2)
    await resources.take(0)
    assert not await taken(resources, 1)


async def test_an_exclusive_thing_is_used_by_one_at_a_time() -> None:
    resources = Resources(4)
    release = await resources.take(1, frozenset({"gpu"}))
    assert await taken(resources, 1, "port-80")
    assert not await taken(resources, 1, "gpu")
    release()
    assert await taken(resources, 1, "gpu")
