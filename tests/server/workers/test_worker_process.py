"""Workers as processes: what they take, what they give back, and what is left when they die."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.run import RunStatus
from mesocosm.server.run_requests.lifecycle import cancel_run
from mesocosm.store.queue import SUSPECT

pytestmark = pytest.mark.usefixtures("forked")


def test_a_worker_plays_what_is_queued_and_ends(platform: Any, world: Any) -> None:
    run_id = platform.order(world.url, (1, 2, 3))
    assert platform.worker("--once").wait(120) == 0
    run = platform.run(run_id)
    assert (run.status, run.counts.completed, run.primary.value) == (RunStatus.FINISHED, 3, 1.0)
    assert platform.order_state(run_id) == "ended"
    assert [worker.ended_at is not None for worker in platform.service.store.workers.list(ended=True)] == [True]


def test_a_killed_worker_loses_nothing_and_nothing_is_played_twice(
    platform: Any, world: Any, eventually: Callable[..., None], kill: Callable[..., None]
) -> None:
    world.held.add(3)
    run_id = platform.order(world.url, (1, 2, 3, 4))
    first = platform.worker()
    eventually(lambda: platform.run(run_id).counts.done == 2 and 3 in world.resets)
    kill(first)
    world.held.clear()
    assert platform.run(run_id).status is RunStatus.RUNNING
    # Its lease is still good; but its process is gone, which another one of this machine can see.
    second = platform.worker()
    eventually(lambda: platform.order_state(run_id) == "ended")
    assert platform.run(run_id).status is RunStatus.FINISHED
    assert platform.seeds_of(run_id) == [1, 2, 3, 4]
    assert world.resets == [1, 2, 3, 3, 4]
    second.send_signal(signal.SIGTERM)
    assert second.wait(120) == 0


def test_a_worker_that_is_told_to_end_gives_its_runs_back(
    platform: Any, world: Any, eventually: Callable[..., None]
) -> None:
    world.held.add(2)
    run_id = platform.order(world.url, (1, 2, 3))
    worker = platform.worker()
    eventually(lambda: platform.run(run_id).counts.done == 1 and 2 in world.resets)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(120) == 0
    order = platform.service.store.run_requests.get(run_id)
    assert (order.state, order.claimed_by, order.tries) == ("queued", None, 0)
    world.held.clear()
    world.released.set()
    assert platform.worker("--once").wait(120) == 0
    assert platform.run(run_id).status is RunStatus.FINISHED
    assert platform.seeds_of(run_id) == [1, 2, 3]


def test_a_finished_run_that_its_worker_still_held_when_it_died_is_free(platform: Any, world: Any) -> None:
    run_id = platform.order(world.url, (1,))
    assert platform.worker("--once").wait(120) == 0
    (gone,) = platform.service.store.workers.list(ended=True)
    platform.service.store.leases.take(run_id, gone.holder)
    platform.service.store.queue.reopen(run_id)
    assert platform.worker("--once").wait(120) == 0
    assert platform.order_state(run_id) == "ended"
    assert platform.run(run_id).holder is None
    assert world.resets == [1]


def test_a_cancelled_run_stops_soon(platform: Any, world: Any, eventually: Callable[..., None]) -> None:
    world.held.add(2)
    run_id = platform.order(world.url, (1, 2, 3))
    platform.worker()
    eventually(lambda: platform.run(run_id).counts.done == 1 and 2 in world.resets)
    platform.service.store.queue.cancel(run_id)
    eventually(lambda: platform.run(run_id).status is RunStatus.STOPPED)
    assert platform.order_state(run_id) == "cancelled"
    assert platform.seeds_of(run_id) == [1]


def test_a_run_that_cannot_be_played_does_not_end_the_others(platform: Any, world: Any) -> None:
    nobody = platform.order("http://127.0.0.1:9", (1, 2), actor="user:2")
    good = platform.order(world.url, (1, 2))
    assert platform.worker("--once").wait(120) == 0
    assert platform.run(good).status is RunStatus.FINISHED
    left = platform.run(nobody)
    assert left.status is RunStatus.STOPPED
    assert "127.0.0.1:9" in left.error
    assert platform.order_state(nobody) == "ended"


def test_a_run_that_ended_four_workers_is_given_to_no_other(
    platform: Any, world: Any, eventually: Callable[..., None], kill: Callable[..., None]
) -> None:
    world.held.add(1)
    run_id = platform.order(world.url, (1,))
    for lives in range(4):
        worker = platform.worker()
        eventually(lambda lives=lives: len(world.resets) == lives + 1)
        kill(worker)
    platform.worker()
    eventually(lambda: platform.order_state(run_id) == "ended")
    assert platform.run(run_id).status is RunStatus.FAILED
    assert "4 workers ended" in platform.run(run_id).error
    assert platform.run(run_id).holder is None
    assert platform.service.store.episodes.search(run_id).items == ()
    assert len(world.resets) == 4


def test_a_cancelled_run_whose_worker_dies_is_stopped_by_the_next_one(
    platform: Any, world: Any, eventually: Callable[..., None], kill: Callable[..., None]
) -> None:
    world.held.add(2)
    run_id = platform.order(world.url, (1, 2))
    worker = platform.worker()
    eventually(lambda: platform.run(run_id).counts.done == 1 and 2 in world.resets)
    kill(worker)
    assert platform.service.store.queue.cancel(run_id) is not None
    assert platform.run(run_id).status is RunStatus.RUNNING
    platform.worker()
    eventually(lambda: platform.run(run_id).status is RunStatus.STOPPED and platform.run(run_id).holder is None)
    assert platform.seeds_of(run_id) == [1]
    assert len(platform.service.store.episodes.search(run_id).items) == 1


def test_a_run_that_is_cancelled_after_its_worker_died_leaves_nothing_unfinished(
    platform: Any, world: Any, eventually: Callable[..., None], kill: Callable[..., None]
) -> None:
    world.held.add(1)
    run_id = platform.order(world.url, (1,))
    worker = platform.worker()
    eventually(lambda: world.resets == [1] and len(platform.service.store.episodes.search(run_id).items) == 1)
    kill(worker)
    platform.service.store.workers.reap_dead(3.0)
    cancel_run(platform.service, platform.service.store.run_requests.get(run_id))
    assert (platform.run(run_id).status, platform.run(run_id).holder) == (RunStatus.STOPPED, None)
    assert platform.service.store.episodes.search(run_id).items == ()


def test_a_run_that_may_have_ended_workers_is_played_beside_one_that_moves_on(
    platform: Any, world: Any, elsewhere: Any, eventually: Callable[..., None]
) -> None:
    world.held.add(2)
    long = platform.order(world.url, (1, 2))
    platform.worker()
    eventually(lambda: platform.run(long).counts.done == 1 and 2 in world.resets)
    blamed = platform.order(elsewhere.url, (1,), actor="user:2", tries=SUSPECT)
    eventually(lambda: platform.order_state(blamed) == "ended")
    assert platform.order_state(long) == "claimed"


def test_a_run_that_moves_on_is_no_longer_played_alone(
    platform: Any, world: Any, elsewhere: Any, eventually: Callable[..., None]
) -> None:
    world.held.add(2)
    blamed = platform.order(world.url, (1, 2), tries=SUSPECT)
    platform.worker()
    eventually(lambda: platform.run(blamed).counts.done == 1 and 2 in world.resets)
    other = platform.order(elsewhere.url, (1,), actor="user:2")
    eventually(lambda: platform.order_state(other) == "ended")
    assert platform.order_state(blamed) == "claimed"


def test_a_worker_ends_when_its_server_does(platform: Any, eventually: Callable[..., None]) -> None:
    worker = platform.worker("--attached")
    eventually(lambda: len(platform.service.store.workers.list()) == 1)
    worker.stdin.close()
    assert worker.wait(120) == 0
    assert platform.service.store.workers.list() == ()


def test_a_worker_starts_without_what_only_a_server_needs(tmp_path: Path) -> None:
    words = [sys.executable, "-X", "importtime", "-m", "mesocosm", "worker", "--once", "--data-dir", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "mesocosm.server.workers.worker" in loaded
    assert not {"fastapi", "uvicorn"} & loaded
