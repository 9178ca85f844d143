"""Slots for episodes go round."""

import asyncio

import pytest

from mesocosm.server.adapters.share import Share


async def settled() -> None:
    """Let everything happen that can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_free_slot_goes_to_the_run_that_has_the_fewest() -> None:
    share = Share(2)
    greedy, modest = share.member(), share.member()
    await greedy.enter()
    await greedy.enter()
    order: list[str] = []

    async def wait(member: object, name: str) -> None:
        await (greedy if member is greedy else modest).enter()
        order.append(name)

    waiting = [asyncio.create_task(wait(greedy, "greedy")) for _ in range(3)]
    await settled()
    waiting.append(asyncio.create_task(wait(modest, "modest")))
    await settled()
    assert order == []
    greedy.leave()
    await settled()
    assert order == ["modest"]
    for task in waiting:
        task.cancel()


async def test_who_gives_up_waiting_takes_no_slot() -> None:
    share = Share(1)
    first, second = share.member(), share.member()
    await first.enter()
    waiting = asyncio.create_task(second.enter())
    await settled()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    first.leave()
    async with asyncio.timeout(120):
        await first.enter()
    assert (first.held, second.held) == (1, 0)


async def test_a_run_that_ends_gives_back_all_it_has() -> None:
    share = Share(2)
    first, second = share.member(), share.member()
    await first.enter()
    await first.enter()
    first.end()
    async with asyncio.timeout(120):
        await second.enter()
        await second.enter()
    assert second.held == 2


async def test_the_slots_of_a_run_that_waits_for_a_server_go_to_others() -> None:
    share = Share(1)
    waiting, well = share.member(), share.member()
    await waiting.enter()
    entering = asyncio.create_task(well.enter())
    await settled()
    assert not entering.done()
    waiting.pause(paused=True)
    await settled()
    assert entering.done()
    waiting.pause(paused=False)
    further = asyncio.create_task(waiting.enter())
    well.leave()
    await settled()
    assert not further.done()
    waiting.leave()
    async with asyncio.timeout(120):
        await further


async def test_a_run_that_waits_for_its_environment_gets_a_slot_to_try_it() -> None:
    share = Share(1)
    member = share.member()
    member.pause(paused=True)
    async with asyncio.timeout(120):
        await member.enter()
