"""The slots of a pool: who gets one, and who gets it back."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from mesocosm.core.group import RunGroup
from mesocosm.core.model import ModelRequest
from mesocosm.core.run import Limits
from mesocosm.core.usage import Usage
from mesocosm.engine.group import GroupMember, GroupRunner, Resources, pooled
from mesocosm.engine.pool import Pool, PoolShare
from mesocosm.engine.rerun_decision import RerunPolicy

if TYPE_CHECKING:
    from tests.engine.conftest import Lab


async def begun(slots: int, runs: int) -> list[PoolShare]:
    pool = Pool(slots)
    shares = [pool.share() for _ in range(runs)]
    await asyncio.gather(*(share.begin(str(place), None) for place, share in enumerate(shares)))
    return shares


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def wanting(share: PoolShare, number: int) -> list["asyncio.Task[bool]"]:
    return [asyncio.create_task(share.take()) for _ in range(number)]


async def test_a_run_leaves_the_part_of_others_free_before_they_come() -> None:
    first, second = await begun(4, 2)
    wanting(first, 4)
    await turns()
    assert (first.held, second.held) == (2, 0)
    wanting(second, 4)
    await turns()
    assert (first.held, second.held) == (2, 2)


async def test_a_run_with_nothing_more_to_start_leaves_its_part_to_others() -> None:
    first, second = await begun(4, 2)
    wanting(first, 4)
    assert list(second.follow(iter("ab"))) == ["a", "b"]
    await turns()
    assert first.held == 4


async def test_a_run_keeps_no_more_than_it_plays_at_a_time() -> None:
    first, second = await begun(4, 2)
    second.most = 1
    wanting(first, 4)
    await turns()
    assert first.held == 3


async def test_of_more_runs_than_slots_each_has_its_turn() -> None:
    shares = await begun(2, 3)
    for share in shares:
        wanting(share, 2)
    await turns()
    assert [share.held for share in shares] == [1, 1, 0]
    shares[0].give_back()
    await turns()
    assert [share.held for share in shares] == [0, 1, 1]


async def test_a_slot_that_was_granted_to_who_is_cancelled_goes_on() -> None:
    first, second = await begun(1, 2)
    (held,) = wanting(first, 1)
    cancelled, waits = wanting(second, 1)[0], wanting(second, 1)[0]
    await turns()
    first.leave()
    first.give_back()
    cancelled.cancel()
    await turns()
    assert (held.result(), waits.result(), second.held) == (True, True, 1)


async def test_a_stopped_run_gets_no_slot() -> None:
    first, _ = await begun(1, 2)
    _, refused = wanting(first, 2)
    await turns()
    first.stop()
    assert not await refused
    assert not await first.take()


async def test_a_run_begins_when_the_one_before_with_the_same_answers_has_left() -> None:
    pool = Pool(2)
    first, second = pool.share(), pool.share()
    begins = asyncio.create_task(second.begin("same", None))
    await first.begin("same", None)
    await turns()
    assert not begins.done()
    first.leave()
    await begins


@pytest.mark.parametrize("price", [0.3, None])
async def test_runs_spend_one_budget_and_each_knows_its_own(price: float | None) -> None:
    pool = Pool(1, Limits(run_tokens=10))
    one, other = (pool.share().budget(Limits(run_tokens=10), Usage()) for _ in range(2))
    one.charge(Usage(4, 2, cost_usd=price), "m")
    other.charge(Usage(3, 1), "m")
    assert (one.spent.total, other.spent.total) == (6, 4)
    assert one.overspent() == other.exhausted() == "the runs' common budget of 10 tokens is used up (10 spent)"
    assert not one.fits(1)


async def test_groups_play_each_benchmark_at_once_within_one_number_of_episodes(lab: "Lab") -> None:
    met = asyncio.Event()
    asked: set[str] = set()
    now = most = 0

    def model() -> str:
        async def said(request: ModelRequest) -> str:
            nonlocal now, most
            asked.add(name)
            now += 1
            most = max(most, now)
            if len(asked) == 2:
                met.set()
            await met.wait()
            await turns()
            now -= 1
            return "end"

        name = lab.model(said)
        return name

    members = [
        [GroupMember("walk", ".", spec=lab.spec(name, count=count, parallel=2)) for count in (3, 4)]
        for name in (model(), model())
    ]
    resources = Resources(2)
    runners = [
        GroupRunner(RunGroup(f"rg_{place}", 1.0), lab.store, RerunPolicy(), resources=resources) for place in range(2)
    ]
    async with asyncio.timeout(60):
        found = await asyncio.gather(
            *(runner.run(own) for runner, own in zip(runners, pooled(members, 2), strict=True))
        )
    assert [[one.outcome.status.value for one in results] for results in found] == [["succeeded"] * 2] * 2
    assert most == 2


async def test_what_takes_all_slots_for_a_pool_shares_them_with_this_pool_only() -> None:
    resources, pool = Resources(2), Pool(2)
    releases = [await resources.take(0, pool=pool) for _ in range(2)]
    waiting = asyncio.create_task(resources.take(1))
    await turns()
    releases[0]()
    await turns()
    assert not waiting.done()
    releases[1]()
    await asyncio.wait_for(waiting, 60)
