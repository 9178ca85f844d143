"""Rows of workers, and what becomes free when one is gone."""

import time
from typing import TYPE_CHECKING

import msgspec

from mesocosm.core.ids import new_id
from mesocosm.core.run import LeaseOwner
from mesocosm.store import Store
from mesocosm.store.environments import EnvironmentRow, VersionRow
from mesocosm.store.lease_owner import this_process
from mesocosm.store.run_requests import RunRequest
from mesocosm.store.workers import Worker

if TYPE_CHECKING:
    from tests.store.conftest import Samples

LEASE_S = 1000.0
HERE = this_process()
GONE = LeaseOwner(HERE.host, 2**22 + 1, HERE.started, HERE.boot)
ELSEWHERE = LeaseOwner("another-machine", 1, 1.0, "another boot")


def added(store: Store, holder: LeaseOwner, heard: float | None = None) -> str:
    """Enter a worker that was heard of at `heard`; return its id."""
    at = heard or time.time()
    worker = Worker(new_id(), holder, "1", 8, 0, at, at)
    store.workers.add(worker)
    return worker.id


def queued(store: Store, samples: "Samples") -> str:
    """Queue a run; return its id."""
    run = store.runs.add(samples.run())
    order = RunRequest(run_id=run.id, actor="user:1", domain_id="d", vow_version="1", model="m", created_at=time.time())
    store.run_requests.add(order)
    return str(run.id)


def test_a_worker_comes_back_as_it_was(store: Store) -> None:
    worker = Worker(new_id(), HERE, "1.2", 8, 0, 1.0, 2.0)
    workers = store.workers
    workers.add(worker)
    assert workers.get(worker.id) == worker
    workers.beat(worker.id, 3)
    beaten = workers.get(worker.id)
    assert beaten is not None
    assert (beaten.running, beaten.heartbeat_at > 2.0) == (3, True)


def test_what_a_dead_worker_had_can_be_taken_at_once(store: Store, samples: "Samples") -> None:
    workers, queue = store.workers, store.queue
    run_id, dead = queued(store, samples), added(store, GONE)
    assert queue.claim(dead, LEASE_S, 4) is not None
    assert (workers.waiting(), queue.claim("other", LEASE_S, 4)) == (False, None)
    assert [worker.id for worker in workers.reap_dead(LEASE_S)] == [dead]
    assert workers.waiting()
    again = queue.claim("other", LEASE_S, 4)
    assert again is not None
    assert (again.run_id, again.tries) == (run_id, 2)
    assert workers.reap_dead(LEASE_S) == ()


def test_living_workers_keep_what_they_have(store: Store, samples: "Samples") -> None:
    workers, queue = store.workers, store.queue
    queued(store, samples)
    living = added(store, HERE, heard=1.0)
    assert queue.claim(living, LEASE_S, 4) is not None
    assert workers.reap_dead(LEASE_S) == ()
    assert not workers.waiting()


def test_a_worker_of_another_machine_is_dead_when_it_was_silent_for_long(store: Store) -> None:
    workers = store.workers
    added(store, ELSEWHERE)
    silent = added(store, ELSEWHERE, heard=time.time() - 2 * LEASE_S)
    assert [worker.id for worker in workers.reap_dead(LEASE_S)] == [silent]


def test_builds_of_a_dead_worker_can_be_taken_at_once(store: Store) -> None:
    workers, environments = store.workers, store.environments
    row = EnvironmentRow(id=new_id(), holder_key="user:1")
    environments.add(row, VersionRow(environment_id=row.id, version=1))
    dead = added(store, GONE)
    assert environments.claim_build(dead, LEASE_S) is not None
    assert not workers.waiting()
    workers.reap_dead(LEASE_S)
    assert workers.waiting()
    assert environments.claim_build("other", LEASE_S) is not None


def test_the_queue_counts_what_waits_and_what_goes_on(store: Store, samples: "Samples") -> None:
    workers = store.workers
    for _ in range(2):
        queued(store, samples)
    store.queue.claim("one", LEASE_S, 4)
    queue = workers.queue()
    assert (queue.runs_queued, queue.runs_claimed, queue.builds_queued) == (1, 1, 0)
    assert queue.oldest_at is not None


def test_workers_that_ended_long_ago_are_forgotten(store: Store) -> None:
    workers = store.workers
    old = msgspec.structs.replace(Worker(new_id(), HERE, "1", 8, 0, 1.0, 1.0), ended_at=2.0)
    workers.add(old)
    lately = added(store, HERE)
    workers.end(lately)
    assert workers.forget() == 1
    assert [worker.id for worker in workers.list(ended=True)] == [lately]
