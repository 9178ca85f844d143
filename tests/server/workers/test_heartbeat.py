"""Signs of life come from a thread of their own."""

import asyncio
import re
import time
from collections.abc import Callable
from typing import Any

from mesocosm import __version__
from mesocosm.core.ids import new_id
from mesocosm.server.metrics import ServerMetrics
from mesocosm.server.workers.heartbeat import EventLoopWatch, Heartbeat, WorkerLease
from mesocosm.store.lease_owner import this_process
from mesocosm.store.workers import Worker


def entered(platform: Any) -> str:
    """Enter a worker that was heard of long ago; return its id."""
    worker = Worker(new_id(), this_process(), __version__, 8, 0, 1.0, 1.0)
    platform.service.store.workers.add(worker)
    return worker.id


def test_leases_are_renewed_while_nothing_else_in_the_process_gets_a_turn(
    platform: Any, eventually: Callable[..., None]
) -> None:
    heartbeat = Heartbeat(platform.service, entered(platform))
    renewed: list[float] = []

    def renew() -> bool:
        renewed.append(time.monotonic())
        return True

    heartbeat.add("run", WorkerLease(renew, lambda: True, lambda: None))
    heartbeat.start()
    try:
        # This thread, on which a worker has its event loop, computes without a pause.
        eventually(lambda: sum(range(20_000)) > 0 and len(renewed) >= 2)
    finally:
        heartbeat.stop()
    (worker,) = platform.service.store.workers.list()
    assert worker.heartbeat_at > 1.0


def test_what_is_lost_is_told_once(platform: Any, eventually: Callable[..., None]) -> None:
    heartbeat = Heartbeat(platform.service, entered(platform))
    lost: list[str] = []
    looks: list[str] = []

    def renewed() -> bool:
        looks.append("another")
        return True

    heartbeat.add("gone", WorkerLease(lambda: False, lambda: False, lambda: lost.append("gone")))
    heartbeat.add("there", WorkerLease(renewed, renewed, lambda: lost.append("there")))
    heartbeat.start()
    try:
        eventually(lambda: len(looks) >= 2)
    finally:
        heartbeat.stop()
    assert lost == ["gone"]


def test_a_store_that_fails_for_a_moment_does_not_end_the_heartbeat(
    platform: Any, eventually: Callable[..., None]
) -> None:
    from mesocosm.core.failure import InfrastructureError

    heartbeat = Heartbeat(platform.service, entered(platform))
    calls: list[int] = []

    def renew() -> bool:
        calls.append(1)
        if len(calls) == 1:
            raise InfrastructureError("the disk is away")
        return True

    heartbeat.add("run", WorkerLease(renew, lambda: True, lambda: None))
    heartbeat.start()
    try:
        eventually(lambda: len(calls) >= 2)
    finally:
        heartbeat.stop()


class Standing(EventLoopWatch):
    """A loop that has stood still for as long as the test says."""

    def __init__(self) -> None:
        super().__init__(asyncio.new_event_loop())
        self.stood = 0.0

    def seconds(self) -> float:
        return self.stood

    def close(self) -> None:
        self._loop.close()


def test_a_worker_whose_loop_stands_still_gives_its_leases_up_and_takes_them_back_when_it_turns(
    platform: Any, eventually: Callable[..., None]
) -> None:
    loop, hung, looked, renewed = Standing(), list[str](), list[str](), list[str]()
    heartbeat = Heartbeat(platform.service, entered(platform), watch=loop, hung=lambda: hung.append("hung"))

    def renew() -> bool:
        renewed.append("renewed")
        return True

    def ours() -> bool:
        looked.append("looked")
        return True

    loop.stood = platform.service.settings.lease_s
    heartbeat.add("run", WorkerLease(renew, ours, lambda: None))
    heartbeat.start()
    try:
        eventually(lambda: len(looked) >= 2)
        assert (renewed, hung) == ([], ["hung"])
        assert platform.service.store.workers.list()[0].heartbeat_at == 1.0
        loop.stood = 0.0
        eventually(lambda: bool(renewed))
    finally:
        heartbeat.stop()
        loop.close()


async def test_the_longest_wait_for_the_loop_is_told_once(platform: Any) -> None:
    still = EventLoopWatch(asyncio.get_running_loop())
    still.seconds()
    time.sleep(0.02)  # noqa: ASYNC251 -- this is what is measured
    await asyncio.sleep(0)
    assert still.longest() >= 0.02
    platform.service.store.workers.beat(entered(platform), 1, 0.25)
    assert platform.service.store.counts.take(30.0).lag_s == 0.25


def test_the_lag_of_a_server_is_the_longest_of_the_last_minutes(platform: Any) -> None:
    metrics = ServerMetrics(platform.service.store.counts, 30.0)
    metrics.tick(-0.75)
    metrics.tick(10.0)
    found = re.search(rb"^mesocosm_server_loop_lag_seconds ([0-9.]+)", metrics.text(), re.MULTILINE)
    assert found is not None
    assert float(found[1]) >= 0.75


async def test_a_loop_owes_an_answer_until_it_turns() -> None:
    still = EventLoopWatch(asyncio.get_running_loop())
    assert still.seconds() == 0.0
    time.sleep(0.01)  # noqa: ASYNC251 -- this is what must not happen
    assert still.seconds() >= 0.01
    assert "test_a_loop_owes_an_answer" in still.stack()
    await asyncio.sleep(0)
    assert still.seconds() == 0.0
