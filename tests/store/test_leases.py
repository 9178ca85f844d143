"""One run, one process."""

import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import msgspec
import pytest
from sqlalchemy import update

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import RunLeased
from mesocosm.core.run import Counts, LeaseOwner
from mesocosm.store import Store, open_store
from mesocosm.store.lease_owner import this_process
from mesocosm.store.schema import runs

if TYPE_CHECKING:
    from tests.store.conftest import Samples

pytestmark = pytest.mark.usefixtures("forked")

ELSEWHERE = LeaseOwner("elsewhere", 5, 1.0, "boot")

HOLD = """
import sys
from mesocosm.store import open_store
store = open_store(sys.argv[1])
store.leases.take(sys.argv[2], store.leases.owner())
print("held", flush=True)
sys.stdin.read()
"""


def start(place: str, run_id: str) -> "subprocess.Popen[str]":
    """Return a process that holds the run."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, place, run_id], stdin=-1, stdout=-1, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def silent_for(store: Store, run_id: str, seconds: float) -> None:
    """Move the last heartbeat into the past."""
    moved = update(runs).where(runs.c.id == run_id).values(heartbeat_at=time.time() - seconds)
    store.database.write(lambda connection: connection.execute(moved).rowcount)


def test_a_held_run_shows_its_holder(store: Store, samples: "Samples") -> None:
    run = samples.held(store)

    found = store.runs.get(run.id)

    assert found.holder == this_process()
    assert found.heartbeat_at is not None


def test_a_run_held_by_a_living_process_is_refused_with_its_name(place: str, store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run())
    process = start(place, run.id)

    with pytest.raises(RunLeased, match=rf"process {process.pid} on .* since 20.* UTC.*mesocosm run stop {run.id}"):
        store.leases.take(run.id, store.leases.owner())
    # However long ago its last heartbeat is: it may have been suspended.
    silent_for(store, run.id, 1000)
    with pytest.raises(RunLeased):
        store.leases.take(run.id, store.leases.owner())

    process.communicate()


def test_the_run_of_a_killed_process_is_free_at_once(place: str, store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run())
    process = start(place, run.id)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()

    store.leases.take(run.id, store.leases.owner())

    assert store.runs.get(run.id).holder == this_process()


def test_a_process_elsewhere_keeps_its_run_while_it_is_heard_of(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run())
    store.leases.take(run.id, ELSEWHERE)
    silent_for(store, run.id, 40)

    with pytest.raises(RunLeased, match=r"process 5 on elsewhere .*last heard of 40 s ago.*free in (20|19) s"):
        store.leases.take(run.id, store.leases.owner())

    silent_for(store, run.id, 61)
    store.leases.take(run.id, store.leases.owner())


def test_a_process_does_not_take_a_run_from_itself(store: Store, samples: "Samples") -> None:
    run = samples.held(store)

    with pytest.raises(RunLeased, match="this very process"):
        store.leases.take(run.id, store.leases.owner())


def test_a_run_given_back_can_be_taken_again(store: Store, samples: "Samples") -> None:
    run = samples.held(store)

    store.leases.release(run.id, store.leases.owner())

    assert store.runs.get(run.id).holder is None
    store.leases.take(run.id, store.leases.owner())


def test_a_failed_attempt_leaves_the_run_free_for_a_later_one(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run())
    store.leases.take(run.id, ELSEWHERE)
    with pytest.raises(RunLeased):
        store.leases.take(run.id, store.leases.owner())
    store.leases.release(run.id, ELSEWHERE)

    store.leases.take(run.id, store.leases.owner())


def test_only_the_holder_gives_a_run_back(store: Store, samples: "Samples") -> None:
    run = samples.held(store)

    store.leases.release(run.id, ELSEWHERE)

    assert store.runs.get(run.id).holder == this_process()


def test_of_many_that_take_a_free_run_one_gets_it(place: str, store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run())
    store.leases.take(run.id, ELSEWHERE)
    silent_for(store, run.id, 100)
    got: list[int] = []
    ready = threading.Barrier(6)

    def take(number: int) -> None:
        own = open_store(place)
        ready.wait()
        try:
            own.leases.take(run.id, LeaseOwner(f"host {number}", number, 1.0, "boot"))
        except RunLeased:
            pass
        else:
            got.append(number)
        own.close()

    threads = [threading.Thread(target=take, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(got) == 1
    holder = store.runs.get(run.id).holder
    assert holder is not None
    assert holder.pid == got[0]


def test_taking_a_run_clears_an_old_request_to_stop(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run())
    store.runs.request_stop(run.id)
    assert store.runs.get(run.id).stop_requested

    store.leases.take(run.id, store.leases.owner())

    assert not store.runs.get(run.id).stop_requested


async def test_taking_a_run_removes_what_never_finished(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    statuses = (EpisodeStatus.RUNNING, EpisodeStatus.PENDING, EpisodeStatus.CANCELLED, EpisodeStatus.FAILED)
    entries = [samples.entry(run.id, index, status=status) for index, status in enumerate(statuses)]
    await samples.write(store, run.id, [*entries, samples.entry(run.id, 9)])
    store.leases.release(run.id, store.leases.owner())

    store.leases.take(run.id, store.leases.owner())

    left = store.episodes.list(run.id).items
    assert [episode.status for episode in left] == [EpisodeStatus.FAILED, EpisodeStatus.COMPLETED]
    assert store.runs.get(run.id).counts == Counts(10, completed=1, failed=1, errors=1)
    for table in ("scores", "event_chunks"):
        with store.database.once() as connection:
            kept = connection.exec_driver_sql(f"SELECT DISTINCT episode_id FROM {table}").scalars().all()
        assert sorted(kept) == sorted(episode.id for episode in left)


async def test_taking_a_run_mends_its_counters(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    await samples.write(store, run.id, [samples.entry(run.id, index) for index in range(3)])
    wrong = update(runs).where(runs.c.id == run.id).values(completed=0, prompt_tokens=7)
    store.database.write(lambda connection: connection.execute(wrong).rowcount)
    store.leases.release(run.id, store.leases.owner())

    store.leases.take(run.id, store.leases.owner())

    found = store.runs.get(run.id)
    assert found.counts.completed == 3
    assert found.usage.prompt == 300


def test_two_stores_hold_runs_of_one_id_apart(tmp_path: "os.PathLike[str]", samples: "Samples") -> None:
    run = samples.run()
    stores = [open_store(f"{tmp_path}/{name}.sqlite") for name in "ab"]
    for store in stores:
        store.runs.add(msgspec.structs.replace(run))
        store.leases.take(run.id, store.leases.owner())
    for store in stores:
        store.leases.release(run.id, store.leases.owner())
        store.close()
