"""Orders: the queue and its fairness, leases, what is accepted, and what was spent."""

import threading
import time
from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from mesocosm.core.ids import new_id
from mesocosm.core.run import Counts, Run, RunStatus
from mesocosm.core.usage import Usage
from mesocosm.server.run_requests.view import public_status
from mesocosm.store import Store
from mesocosm.store.batch_runs import TAKEN, BatchRun
from mesocosm.store.queue import SUSPECT, AdmissionTerms, Allowance, Bound, RunQueue
from mesocosm.store.run_requests import (
    PRIVATE,
    PUBLIC,
    RunRequest,
    RunRequestFilter,
    RunRequests,
    is_public,
    public_pair,
)
from mesocosm.store.schema import runs
from mesocosm.store.tenancy import requests as order_table

if TYPE_CHECKING:
    from tests.store.conftest import Samples

LEASE_S = 1000.0


@pytest.fixture
def orders(store: Store) -> RunRequests:
    """The orders of an empty store."""
    return store.run_requests


@pytest.fixture
def line(store: Store) -> RunQueue:
    """The queue of an empty store."""
    return store.queue


def order_of(run: Run, **given: Any) -> RunRequest:
    """Return the order of a run."""
    fields = {"actor": "user:1", "domain_id": "d", "vow_version": "1.0.0", "model": "m", "created_at": time.time()}
    return RunRequest(run_id=run.id, **{**fields, **given})


@pytest.fixture
def queue(store: Store, samples: "Samples", orders: RunRequests) -> Any:
    """Return what queues a run and returns its id."""

    def queued(actor: str = "user:1", usage: Usage | None = None, status: str = "pending", **given: Any) -> str:
        run = store.runs.add(samples.run(usage=usage or Usage(), status=RunStatus(status)))
        orders.add(order_of(run, actor=actor, **given))
        return str(run.id)

    return queued


def claimed(line: RunQueue, count: int, per_actor: int = 9) -> list[str]:
    """Return the ids of what a worker takes."""
    found = [line.claim("worker", LEASE_S, per_actor) for _ in range(count)]
    return [order.run_id for order in found if order is not None]


def test_an_order_comes_back_as_it_was(store: Store, samples: "Samples", orders: RunRequests) -> None:
    order = order_of(store.runs.add(samples.run()), config={"num_episodes": 3}, expires_at=5.0, environment_version=2)
    orders.add(order)
    orders.add(order)
    assert orders.get(order.run_id) == order
    assert orders.of([order.run_id, "no run", "nul\0"]) == {order.run_id: order}
    assert orders.list() == (order,)


def test_the_database_counts_runs_by_the_status_that_their_documents_show(
    store: Store, samples: "Samples", orders: RunRequests
) -> None:
    shown: Counter[str] = Counter()
    choices = product(RunStatus, ("queued", "claimed", "ended", "cancelled"), (None, 1.0), (0, 1))
    for status, state, started_at, planned in choices:
        run = store.runs.add(samples.run(status=status, started_at=started_at, counts=Counts(planned=planned)))
        order = order_of(run, state=state)
        orders.add(order)
        shown[public_status(order, store.runs.get(run.id)).value] += 1
    assert store.counts.take(LEASE_S).runs == shown
    assert len(shown) == 6


def test_who_has_fewest_runs_going_comes_first_then_who_waits_longest(line: RunQueue, queue: Any) -> None:
    greedy = [queue("user:1", created_at=float(number)) for number in range(4)]
    other = queue("user:2", created_at=10.0)
    later = queue("user:3", created_at=11.0)
    assert claimed(line, 7) == [greedy[0], other, later, greedy[1], greedy[2], greedy[3]]


def test_a_newcomer_comes_before_who_has_waited_longer_and_has_had_a_run(line: RunQueue, queue: Any) -> None:
    now = time.time()
    greedy = [queue("user:1", created_at=now + number / 100) for number in range(4)]
    other = [queue("user:2", created_at=now + 1 + number / 100) for number in range(2)]
    later = queue("user:3", created_at=now + 2)
    taken = []
    for _ in range(7):
        waiting = [run_id for run_id in (*greedy, *other, later) if run_id not in taken]
        place = {line.place(run_id).position: run_id for run_id in waiting}  # type: ignore[union-attr]
        taken += claimed(line, 1)
        assert place[1] == taken[-1]
        line.end(taken[-1])
    assert taken == [greedy[0], other[0], later, greedy[1], other[1], greedy[2], greedy[3]]


def test_nobody_has_more_at_once_than_allowed(line: RunQueue, queue: Any) -> None:
    mine = [queue("user:1", created_at=float(number)) for number in range(3)]
    assert claimed(line, 3, per_actor=2) == mine[:2]
    line.end(mine[0])
    assert claimed(line, 1, per_actor=2) == mine[2:]


def test_test_episodes_go_before_ones_other_runs(line: RunQueue, queue: Any) -> None:
    run = queue(created_at=1.0)
    test = queue(created_at=2.0, purpose="test")
    assert claimed(line, 2) == [test, run]


def test_a_claim_whose_lease_is_over_is_taken_by_another_worker(line: RunQueue, queue: Any) -> None:
    run_id = queue()
    first = line.claim("first", -1.0, 1)
    assert first is not None
    second = line.claim("second", LEASE_S, 1)
    assert second is not None
    assert (second.run_id, second.claimed_by, second.tries) == (run_id, "second", 2)
    assert not line.renew(run_id, "first", LEASE_S)
    assert line.renew(run_id, "second", LEASE_S)
    assert line.claim("third", LEASE_S, 9) is None


def test_a_worker_does_not_take_again_what_it_plays_already(line: RunQueue, queue: Any) -> None:
    run_id = queue()
    assert claimed(line, 1) == [run_id]
    line.renew(run_id, "worker", -1.0)
    assert line.claim("worker", LEASE_S, 9, playing=[run_id]) is None
    line.renew_all([run_id, new_id()], "another", LEASE_S)
    found = line.claim("another", LEASE_S, 9)
    assert found is not None
    line.renew_all([run_id], "worker", -1.0)
    line.renew_all([run_id], "another", LEASE_S)
    assert line.claim("third", LEASE_S, 9) is None


def test_workers_at_once_never_take_the_same_order(line: RunQueue, queue: Any) -> None:
    ids = {queue(f"user:{number}") for number in range(8)}
    taken: list[str] = []
    gate = threading.Barrier(4)

    def take() -> None:
        gate.wait()
        while (order := line.claim(new_id(), LEASE_S, 9)) is not None:
            taken.append(order.run_id)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(taken), set(taken)) == (8, ids)


def test_a_run_that_may_have_ended_its_workers_is_for_one_that_plays_nothing_else(
    orders: RunRequests, line: RunQueue, queue: Any
) -> None:
    suspect, other = queue(), queue("user:2")
    for number in range(SUSPECT):
        assert line.claim(f"dead {number}", -1.0, 9) is not None
    assert line.claim("worker", LEASE_S, 9, playing=["another run"]) is None
    found = line.claim("worker", LEASE_S, 9)
    assert found is not None
    assert (found.run_id, found.tries) == (suspect, SUSPECT + 1)
    assert line.claim("another", LEASE_S, 9, playing=["another run"]) == orders.get(other)


def test_a_run_that_moves_on_is_not_blamed_for_dead_workers(line: RunQueue, queue: Any) -> None:
    run_id = queue()
    for number in range(5):
        worker = f"dead {number}"
        assert line.claim(worker, LEASE_S, 9, playing=["another run"]) is not None
        line.renew(run_id, worker, -1.0, moved=True)
    found = line.claim("worker", LEASE_S, 9, playing=["another run"])
    assert found is not None
    assert found.tries == 2


def test_a_cancelled_order_is_neither_renewed_nor_ended_otherwise(
    orders: RunRequests, line: RunQueue, queue: Any
) -> None:
    run_id = queue()
    line.claim("worker", LEASE_S, 1)
    before = line.cancel(run_id, "enough")
    assert before is not None
    assert before.state == "claimed"
    assert line.cancel(run_id) is None
    assert not line.renew(run_id, "worker", LEASE_S)
    assert not line.end(run_id)
    assert not line.give_back(run_id, "worker")
    after = orders.get(run_id)
    assert after is not None
    assert (after.state, after.reason) == ("cancelled", "enough")
    assert claimed(line, 1) == []


def test_what_is_given_back_is_taken_again_and_the_try_does_not_count(line: RunQueue, queue: Any) -> None:
    run_id = queue()
    line.claim("worker", LEASE_S, 1)
    assert not line.give_back(run_id, "another")
    assert line.give_back(run_id, "worker")
    again = line.claim("another", LEASE_S, 1)
    assert again is not None
    assert again.tries == 1


def test_a_done_order_can_be_queued_once_more(line: RunQueue, queue: Any) -> None:
    run_id = queue()
    assert not line.reopen(run_id)
    line.end(run_id, reason="a budget")
    assert line.reopen(run_id)
    assert claimed(line, 1) == [run_id]


def test_lists_fit_every_condition_and_page(orders: RunRequests, queue: Any) -> None:
    mine = [queue("user:1"), queue("user:1", status="finished", visibility="gallery_public"), queue("user:1")]
    shown = queue("user:2", status="finished", visibility="gallery_public")
    queue("user:2", visibility="gallery_public")

    def listed(**given: Any) -> list[str]:
        return [order.run_id for order in orders.list(RunRequestFilter(**given))]

    assert listed(actor="user:1") == mine[::-1]
    assert listed(actor="user:1", cursor=mine[2]) == mine[1::-1]
    assert listed(public=True) == [shown, mine[1]]
    assert orders.count(RunRequestFilter(public=True, actor="user:2")) == 1


def test_what_is_for_everybody_is_the_same_for_one_run_in_lists_and_beside_runs(
    store: Store, samples: "Samples", orders: RunRequests, queue: Any
) -> None:
    made = {
        queue(status=status.value, visibility=visibility, workspace_id=workspace_id): is_public(
            order_of(samples.run(), visibility=visibility, workspace_id=workspace_id), status
        )
        for visibility in (PRIVATE, PUBLIC)
        for status in RunStatus
        for workspace_id in (None, "w")
    }
    joined = select(order_table.c.run_id).join(runs, runs.c.id == order_table.c.run_id).where(public_pair())
    found = set(store.database.read(lambda connection: connection.scalars(joined).all()))
    assert sum(made.values()) == 1
    assert {order.run_id for order in orders.list(RunRequestFilter(public=True))} == found
    assert found == {run_id for run_id, shown in made.items() if shown}


def test_what_was_spent_is_counted_by_actor_and_team_since_a_time(
    store: Store, orders: RunRequests, queue: Any
) -> None:
    user = store.users.add(f"u{new_id()}")
    team = store.teams.add("T", user.id)
    assert team is not None
    actor, now = user.actor, time.time()
    queue(actor, Usage(cost_usd=0.5))
    queue(actor, Usage(cost_usd=0.25), team_id=team.id)
    queue(actor, Usage(cost_usd=4.0), created_at=now - 90_000)
    queue(f"user:{new_id()}", Usage(cost_usd=None), team_id=team.id)
    mine = orders.spent(actor=actor, since=now - 86_400)
    assert (mine.usd, mine.unknown) == (0.75, False)
    ours = orders.spent(team_id=team.id, since=now - 86_400)
    assert (ours.usd, ours.unknown) == (0.25, True)


def test_what_a_deleted_run_cost_stays_spent_and_is_counted_once(store: Store, orders: RunRequests, queue: Any) -> None:
    actor, now = f"user:{new_id()}", time.time()
    run_id = queue(actor, Usage(cost_usd=0.5))
    order = orders.get(run_id)
    assert order is not None
    for _ in range(2):
        orders.remember_cost(order, 0.5)
    store.runs.delete(run_id)
    assert orders.spent(actor=actor, since=now - 60).usd == pytest.approx(0.5)
    assert orders.get(run_id) is None


def test_terms_are_spent_with_the_run_or_not_at_all(store: Store, samples: "Samples") -> None:
    line, actor = store.queue, f"user:{new_id()}"

    def admit(terms: AdmissionTerms) -> Bound | None:
        run = samples.run()
        denial = line.admit(order_of(run, actor=actor), run, terms)
        return None if denial is None else denial.bound

    terms = AdmissionTerms(cooldown_s=60.0, per_day=3, waiting=9)
    assert line.used(actor, terms) == Allowance()
    assert [admit(terms), admit(terms)] == [None, Bound.COOLDOWN]
    free = AdmissionTerms(per_day=3, waiting=2)
    assert [admit(free), admit(free)] == [None, Bound.QUEUE]
    assert [admit(AdmissionTerms(per_day=3)), admit(AdmissionTerms(per_day=3))] == [None, Bound.QUOTA]
    assert store.run_requests.count(RunRequestFilter(actor=actor)) == 3


def test_the_same_run_is_admitted_once(store: Store, samples: "Samples") -> None:
    line, run = store.queue, samples.run()
    order = order_of(run, actor=f"user:{new_id()}")
    terms = AdmissionTerms(cooldown_s=60.0, per_day=5)
    assert line.admit(order, run, terms) is None
    assert line.admit(order, run, terms) is None
    assert store.runs.get(run.id).attempt == 1


def test_a_job_is_claimed_once_and_completed_once(store: Store) -> None:
    jobs, user = store.batch_runs, int(time.time() * 1000) % 10**9
    job = BatchRun(id=new_id(), environment_id="e", user_id=user, results=[{"model": "m"}], created_at=time.time())
    jobs.add(job)
    assert jobs.get(job.id) == job
    assert [jobs.claim(job.id, "a"), jobs.claim(job.id, "b")] == [True, False]
    assert [jobs.complete(job.id, []), jobs.complete(job.id, [{}])] == [True, False]
    (listed,) = jobs.list(user_id=user)
    assert (listed.status, listed.claimed_by, listed.results) == ("completed", "a", [])
    assert jobs.list(user_id=user, cursor=job.id) == ()


def test_a_job_that_is_not_reported_in_time_is_taken_back_with_its_runs(
    store: Store, orders: RunRequests, line: RunQueue, queue: Any
) -> None:
    jobs, job_id, counts = store.batch_runs, new_id(), store.counts
    before = Counter(counts.take(LEASE_S).batch_runs)
    taken, other = queue(job_id=job_id), queue(job_id=job_id)
    line.cancel(other, "its owner wanted that")
    jobs.add(BatchRun(id=job_id, environment_id="e", results=[{"model": "m"}], created_at=time.time()))
    assert jobs.claim(job_id, "outside")
    line.cancel(taken, TAKEN)
    assert jobs.take_back(1000.0) == 0
    assert Counter(counts.take(LEASE_S).batch_runs) - before == {"running": 1}
    assert jobs.take_back(-1000.0) == 1
    assert jobs.take_back(-1000.0) == 0
    assert {name: order.state for name, order in orders.of([taken, other]).items()} == {
        taken: "queued",
        other: "cancelled",
    }
    assert Counter(counts.take(LEASE_S).batch_runs) - before == {"running": 1}
    assert line.claim("worker", LEASE_S, 9) is not None
    line.end(taken)
    assert Counter(counts.take(LEASE_S).batch_runs) - before == {"failed": 1}
