"""Slots for episodes go round."""

import asyncio

import pytest

from mesocosm.server.episode_slots import EpisodeSlots


async def settled() -> None:
    """Let everything happen that can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_free_slot_goes_to_the_run_that_has_the_fewest() -> None:
    slots = EpisodeSlots(2)
    greedy, modest = slots.join(), slots.join()
    await greedy.acquire()
    await greedy.acquire()
    order: list[str] = []

    async def wait(member: object, name: str) -> None:
        await (greedy if member is greedy else modest).acquire()
        order.append(name)

    waiting = [asyncio.create_task(wait(greedy, "greedy")) for _ in range(3)]
    await settled()
    waiting.append(asyncio.create_task(wait(modest, "modest")))
    await settled()
    assert order == []
    greedy.release()
    await settled()
    assert order == ["modest"]
    for task in waiting:
        task.cancel()


async def test_who_gives_up_waiting_takes_no_slot() -> None:
    slots = EpisodeSlots(1)
    first, second = slots.join(), slots.join()
    await first.acquire()
    waiting = asyncio.create_task(second.acquire())
    await settled()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    first.release()
    async with asyncio.timeout(120):
        await first.acquire()
    assert (first.held, second.held) == (1, 0)


async def test_a_run_that_ends_gives_back_all_it_has() -> None:
    slots = EpisodeSlots(2)
    first, second = slots.join(), slots.join()
    await first.acquire()
    await first.acquire()
    first.end()
    async with asyncio.timeout(120):
        await second.acquire()
        await second.acquire()
    assert second.held == 2


async def test_the_slots_of_a_run_that_waits_for_a_server_go_to_others() -> None:
    slots = EpisodeSlots(1)
    waiting, well = slots.join(), slots.join()
    await waiting.acquire()
    entering = asyncio.create_task(well.acquire())
    await settled()
    assert not entering.done()
    waiting.pause(paused=True)
    await settled()
    assert entering.done()
    waiting.pause(paused=False)
    further = asyncio.create_task(waiting.acquire())
    well.release()
    await settled()
    assert not further.done()
    waiting.release()
    async with asyncio.timeout(120):
        await further


async def test_a_run_that_waits_for_its_environment_gets_a_slot_to_try_it() -> None:
    slots = EpisodeSlots(1)
    member = slots.join()
    member.pause(paused=True)
    async with asyncio.timeout(120):
        await member.acquire()
