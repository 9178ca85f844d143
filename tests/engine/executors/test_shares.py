"""How a session divides its episodes between workers that come and leave."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from tests.store.conftest import Samples

from mesocosm.core.backoff import Backoff
from mesocosm.core.ports import Planned
from mesocosm.core.run import Limits
from mesocosm.core.task import Task
from mesocosm.engine.executors.dispatch import Dispatcher
from mesocosm.engine.executors.links import LinkLost
from mesocosm.engine.executors.messages import (
    Order,
    PlayShard,
    Ready,
    Share,
    WorkerReport,
    decode_order,
    encode,
    unpacked,
)
from mesocosm.engine.limits import Budget


class Worker:
    """A worker of which a test says what it reports."""

    def __init__(self, number: int) -> None:
        self.name = f"worker {number}"
        self.orders: list[Order] = []
        self.closed = False
        self.may_close = asyncio.Event()
        self.may_close.set()
        self._news: asyncio.Queue[bytes | None] = asyncio.Queue()

    def send(self, data: bytes) -> None:
        self.orders.append(decode_order(data))

    async def receive(self) -> bytes:
        if (news := await self._news.get()) is None:
            raise LinkLost("it was ended by SIGKILL")
        return news

    async def close(self) -> None:
        await self.may_close.wait()
        self.closed = True

    async def says(self, news: Ready | WorkerReport | None) -> None:
        """Report, or end without a word, and let the session act on it."""
        self._news.put_nowait(None if news is None else encode(news))
        await settled()

    @property
    def shares(self) -> list[int]:
        return [order.parallel for order in self.orders if isinstance(order, Share)]

    @property
    def played(self) -> list[tuple[int, int]]:
        """Shard and position of the episodes that it was sent."""
        shards = [order for order in self.orders if isinstance(order, PlayShard)]
        return [(order.shard, planned.index) for order in shards for planned in unpacked(order.episodes)]


async def settled() -> None:
    """Let everything happen that waits for nothing."""
    for _ in range(50):
        await asyncio.sleep(0)


class Team:
    """A session of twelve episodes, four at a time, and workers; all but the first come when they are let in."""

    most = 2
    what = "workers"

    def __init__(self) -> None:
        run = Samples().run()
        run.spec = msgspec.structs.replace(run.spec, parallel=4)
        info = SimpleNamespace(parallel=None, growing=False, kind="python")
        journal = SimpleNamespace(room=lambda: asyncio.sleep(0), write=lambda entry: None)
        self.session: Any = SimpleNamespace(
            run=run,
            parts=SimpleNamespace(benchmark=SimpleNamespace(info=info)),
            journal=journal,
            budget=Budget(Limits()),
            backoff=Backoff(),
            left=12,
            running=0,
            served={},
            judge_served={},
            notice=lambda message: None,
        )
        self.workers = [Worker(number) for number in range(1, 5)]
        self.come = asyncio.Event()
        self._coming = iter(self.workers)
        self.dispatcher = Dispatcher(self.session, self)

    async def connect(self) -> Worker:
        worker = next(self._coming, None)
        if worker is not self.workers[0]:
            await self.come.wait()
        if worker is None:
            await asyncio.Event().wait()
        assert worker is not None
        return worker

    async def close(self) -> None:
        pass

    async def start(self, count: int) -> "asyncio.Task[None]":
        """Start to play so many episodes; the first worker is ready."""
        planned = iter(Planned(Task(id=f"t{index}", seed=index), f"d{index}", 0, index) for index in range(count))
        running = asyncio.create_task(self.dispatcher.run(planned))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await self.workers[0].says(Ready("here"))
        return running


@pytest.fixture
async def team() -> AsyncIterator[Team]:
    """The first worker plays, the second has just come."""
    made = Team()
    running = await made.start(12)
    first, second, *_ = made.workers
    await first.says(WorkerReport(running=4, share=1))
    made.come.set()
    await second.says(Ready("there"))
    yield made
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await made.dispatcher.close()


async def test_a_worker_that_comes_plays_only_what_others_have_ended(team: Team) -> None:
    first, second, *_ = team.workers
    assert (first.shares, second.shares, second.played) == ([4, 2], [0], [])

    await first.says(WorkerReport(running=3, share=2))
    assert second.shares[-1] == 1
    assert second.played

    await first.says(WorkerReport(running=2, share=2))
    assert second.shares[-1] == 2


async def test_what_a_worker_has_not_begun_when_it_leaves_is_played_by_others(team: Team) -> None:
    first, second, third, _ = team.workers
    await first.says(WorkerReport(running=2, share=2))
    given = second.played
    assert given

    await second.says(WorkerReport(running=0, share=2, leaving=True, unplayed=given))
    await third.says(Ready("there"))
    await first.says(WorkerReport(running=2, share=len(first.shares)))

    assert second.closed
    assert {index for _, index in given} <= {index for _, index in third.played}


async def test_a_run_does_not_end_while_a_lost_worker_has_the_last_episodes() -> None:
    team = Team()
    first, second, *_ = team.workers
    first.may_close.clear()
    running = await team.start(3)
    given = first.played
    assert len(given) == 3

    await first.says(None)
    team.come.set()
    await second.says(Ready("there"))
    assert not running.done()

    first.may_close.set()
    await settled()
    assert {index for _, index in second.played} == {index for _, index in given}
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await team.dispatcher.close()


async def test_an_episode_is_not_blamed_for_the_end_of_workers_that_had_others_too() -> None:
    team = Team()
    running = await team.start(1)
    team.come.set()
    for worker in team.workers[:3]:
        await worker.says(Ready("here"))
        assert len(worker.played) == 1
        await worker.says(None)

    *_, last = team.workers
    await last.says(Ready("here"))
    assert len(last.played) == 1
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await team.dispatcher.close()
