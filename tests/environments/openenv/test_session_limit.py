"""Places among the sessions of a server that takes only so many."""

import asyncio

from mesocosm.environments.openenv.session_limit import SessionLimit


async def entered(limit: SessionLimit) -> "asyncio.Task[None]":
    """Return a task that enters, after it got as far as it can."""
    task = asyncio.create_task(limit.enter())
    await asyncio.sleep(0)
    return task


async def test_until_a_refusal_nobody_waits() -> None:
    limit = SessionLimit(lambda _: None)
    for _ in range(50):
        await limit.enter()
    assert (limit.open, limit.limit) == (50, None)


async def test_after_a_refusal_only_those_are_open_that_the_server_took() -> None:
    notices: list[str] = []
    limit = SessionLimit(notices.append)
    for _ in range(5):
        await limit.enter()
    limit.refused(4)
    limit.refused(4)
    assert (limit.open, limit.limit) == (3, 3)
    assert notices == ["the OpenEnv server takes at most 4 episodes at a time; further ones wait for their turn"]
    waiting = await entered(limit)
    assert not waiting.done()
    limit.leave()
    await waiting
    assert limit.open == 3


async def test_the_limit_rises_to_what_the_server_says_as_sessions_end() -> None:
    limit = SessionLimit(lambda _: None)
    for _ in range(3):
        await limit.enter()
    limit.refused(4)
    for _ in range(2):
        limit.leave()
    assert limit.limit == 4
    for _ in range(4):
        await limit.enter()
        limit.leave()
    assert limit.limit == 4


async def test_one_may_always_try() -> None:
    limit = SessionLimit(lambda _: None)
    await limit.enter()
    limit.refused(None)
    assert (limit.open, limit.limit) == (0, 1)
    await limit.enter()
    assert limit.open == 1


async def test_a_place_of_one_who_is_cancelled_goes_to_the_next() -> None:
    limit = SessionLimit(lambda _: None)
    for _ in range(2):
        await limit.enter()
    limit.refused(1)
    first, second = await entered(limit), await entered(limit)
    limit.leave()
    first.cancel()
    await second
    assert limit.open == 1
