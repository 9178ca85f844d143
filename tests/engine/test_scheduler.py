"""Many pieces of work at once."""

import asyncio
import gc
from collections.abc import Iterator

import pytest

from mesocosm.engine.executors.local import Scheduler


async def test_every_item_is_worked_on_once_and_never_too_many_at_a_time() -> None:
    seen: list[int] = []
    running = most = 0

    async def work(item: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        seen.append(item)
        running -= 1

    await Scheduler(7, work).run(iter(range(100)))
    assert sorted(seen) == list(range(100))
    assert most == 7


async def test_items_are_taken_only_when_a_worker_is_free() -> None:
    taken = done = 0
    ahead = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for item in range(50):
            taken += 1
            yield item

    async def work(item: int) -> None:
        nonlocal done, ahead
        ahead = max(ahead, taken - done)
        await asyncio.sleep(0)
        done += 1

    await Scheduler(2, work).run(items())
    assert (taken, ahead) == (50, 2)


async def test_the_first_error_ends_everything() -> None:
    cancelled = asyncio.Event()

    async def work(item: int) -> None:
        if item == 3:
            raise ValueError("three")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(ValueError, match="three"):
        await Scheduler(5, work).run(iter(range(10)))
    assert cancelled.is_set()


async def test_an_error_of_the_first_of_many_workers_is_not_lost_while_the_others_are_started() -> None:
    async def work(item: int) -> None:
        if item == 0:
            raise ValueError("zero")

    with pytest.raises(ValueError, match="zero"):
        await Scheduler(400, work).run(iter(range(1000)))


async def test_errors_of_several_workers_at_once_are_all_taken_note_of() -> None:
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, told: complaints.append(told["message"]))

    async def work(item: int) -> None:
        await asyncio.sleep(0)
        raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match="item"):
        await Scheduler(5, work).run(iter(range(10)))
    gc.collect()
    assert complaints == []


async def test_after_a_stop_running_work_may_end_and_nothing_new_starts() -> None:
    seen: list[int] = []

    async def work(item: int) -> None:
        if item == 1:
            scheduler.stop(grace=30)
        await asyncio.sleep(0)
        seen.append(item)

    scheduler: Scheduler[int] = Scheduler(2, work)
    await scheduler.run(iter(range(100)))
    assert seen == [0, 1]


async def test_a_stop_without_grace_cancels_what_runs() -> None:
    cancelled: list[int] = []

    async def work(item: int) -> None:
        if item == 4:
            scheduler.stop(grace=0)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(item)
            raise

    scheduler: Scheduler[int] = Scheduler(5, work)
    await asyncio.wait_for(scheduler.run(iter(range(100))), 120)
    assert sorted(cancelled) == [0, 1, 2, 3, 4]
