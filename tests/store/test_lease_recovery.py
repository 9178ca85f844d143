"""Runs and groups of processes that are gone are found and closed; those of living ones are left alone."""

import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from sqlalchemy import update

from mesocosm.core.failure import RunLeased, UnknownName
from mesocosm.core.group import Outcome, OutcomeStatus, RunGroup
from mesocosm.core.run import LeaseOwner, Run, RunStatus
from mesocosm.store import Store
from mesocosm.store.lease_owner import this_process
from mesocosm.store.leases import Recovered
from mesocosm.store.schema import invocations, runs
from mesocosm.store.views import INTERRUPTED

if TYPE_CHECKING:
    from tests.store.conftest import Samples


def dead() -> LeaseOwner:
    """Return a process of this machine whose id was given to another one since."""
    return msgspec.structs.replace(this_process(), started=-1.0)


def elsewhere() -> LeaseOwner:
    """Return a process of a machine that cannot be looked at."""
    return LeaseOwner("elsewhere", 1, 1.0, "another boot")


def left(store: Store, samples: "Samples", holder: LeaseOwner | None, heard: float = 0.0, **given: Any) -> Run:
    """Return a run that counts as running, held by `holder`, last heard of `heard` seconds ago."""
    at = time.time() - heard
    run: Run = store.runs.add(
        samples.run(**{"status": RunStatus.RUNNING, "created_at": at - 5.0, "started_at": at - 4.0} | given)
    )
    values = {"holder": None if holder is None else msgspec.json.encode(holder).decode(), "heartbeat_at": at}
    statement = update(runs).where(runs.c.id == run.id).values(**values, held_at=at)
    store.database.write(lambda connection: connection.execute(statement))
    return store.runs.get(run.id)


def group(store: Store, holder: LeaseOwner, *found: Outcome, created_at: float = 10.0) -> None:
    """Add a group that `holder` carries out."""
    store.groups.add(RunGroup("rg_1", created_at))
    statement = update(invocations).values(holder=msgspec.json.encode(holder).decode())
    store.database.write(lambda connection: connection.execute(statement))
    for one in found:
        store.groups.save_outcome(one)


def running(position: int = 0, run_id: str = "", at: float = 15.0) -> Outcome:
    return Outcome("rg_1", position, "words", "words", OutcomeStatus.RUNNING, run_id=run_id, at=at)


def ids(found: tuple[Run, ...]) -> set[str]:
    return {run.id for run in found}


def test_a_run_whose_process_is_gone_is_stale_at_once(store: Store, samples: "Samples") -> None:
    run = left(store, samples, dead())

    assert ids(store.leases.stale(300.0)) == {run.id}


def test_a_run_of_a_living_process_is_never_stale(store: Store, samples: "Samples") -> None:
    left(store, samples, this_process(), heard=10_000.0)
    samples.held(store, status=RunStatus.RUNNING)

    assert store.leases.stale(0.0) == ()


@pytest.mark.parametrize(
    ("heard", "older", "stale"), [(400, 300, True), (200, 300, False), (30, 0, False), (90, 0, True)]
)
def test_a_run_of_another_machine_is_stale_after_a_silence(
    store: Store, samples: "Samples", heard: float, older: float, stale: bool
) -> None:
    run = left(store, samples, elsewhere(), heard=heard)

    assert ids(store.leases.stale(older)) == ({run.id} if stale else set())


def test_a_run_that_should_be_going_on_without_anybody_is_stale(store: Store, samples: "Samples") -> None:
    running = left(store, samples, None)
    pending = left(store, samples, None, status=RunStatus.PENDING, heard=30.0)
    store.runs.add(samples.run())
    left(store, samples, None, status=RunStatus.STOPPED)

    assert ids(store.leases.stale(300.0)) == {running.id, pending.id}


def test_force_takes_everything_that_was_silent_for_so_long(store: Store, samples: "Samples") -> None:
    silent = left(store, samples, this_process(), heard=400.0)
    fresh = left(store, samples, this_process(), heard=100.0)

    assert ids(store.leases.stale(300.0, force=True)) == {silent.id}
    assert ids(store.leases.stale(0.0, force=True)) == {silent.id, fresh.id}


async def test_an_interrupted_run_is_stopped_and_keeps_what_it_has(store: Store, samples: "Samples") -> None:
    run = samples.held(store, status=RunStatus.RUNNING)
    await samples.write(store, run.id, [samples.entry(run.id)])
    store.leases.release(run.id, store.leases.owner())
    at = time.time() - 50.0
    state: dict[str, Any] = {"holder": msgspec.json.encode(dead()).decode(), "heartbeat_at": at, "started_at": at - 20}
    state["provenance"] = '{"worked_s":7.0,"session_at":%r,"host":"h"}' % (at - 5.0)
    store.database.write(lambda connection: connection.execute(update(runs).values(**state)))

    marked = store.leases.mark_interrupted(run.id[:12])

    found = store.runs.get(run.id)
    assert marked is not None
    assert (marked.id, marked.status) == (run.id, RunStatus.STOPPED)
    assert (found.status, found.error, found.holder) == (RunStatus.STOPPED, INTERRUPTED, None)
    assert (found.ended_at, found.counts.completed) == (at, 1)
    assert found.provenance == {"worked_s": 12.0, "host": "h"}
    assert ids(store.runs.unfinished(run.signature)) == {run.id}
    store.leases.take(run.id, store.leases.owner())
    store.leases.release(run.id, store.leases.owner())


def test_marking_leaves_a_living_process_its_run_unless_forced(store: Store, samples: "Samples") -> None:
    run = samples.held(store, status=RunStatus.RUNNING)

    with pytest.raises(RunLeased, match="is worked on by"):
        store.leases.mark_interrupted(run.id)

    assert store.runs.get(run.id).status is RunStatus.RUNNING
    assert store.leases.mark_interrupted(run.id, force=True) is not None
    assert store.runs.get(run.id).holder is None
    store.leases.release(run.id, store.leases.owner())


def test_a_run_that_has_ended_is_not_marked(store: Store, samples: "Samples") -> None:
    run = left(store, samples, None, status=RunStatus.FINISHED)

    assert store.leases.mark_interrupted(run.id, force=True) is None
    assert store.runs.get(run.id).status is RunStatus.FINISHED
    with pytest.raises(UnknownName):
        store.leases.mark_interrupted("nothing")


def test_recovery_fails_outcomes_and_ends_the_group_of_a_dead_process(store: Store, samples: "Samples") -> None:
    run = left(store, samples, dead(), group_id="rg_1")
    done = Outcome("rg_1", 2, "golf", "golf", OutcomeStatus.SUCCEEDED, at=12.0)
    group(store, dead(), running(0, run.id), running(1), done)

    recovered = store.leases.recover(300.0)

    assert ids(recovered.runs) == {run.id}
    assert [(one.position, one.status, one.reason) for one in recovered.outcomes] == [
        (0, OutcomeStatus.FAILED, INTERRUPTED),
        (1, OutcomeStatus.FAILED, INTERRUPTED),
    ]
    assert recovered.groups == ("rg_1",)
    assert store.groups.outcomes("rg_1") == (*recovered.outcomes, done)
    assert store.groups.get("rg_1").finished_at == pytest.approx(run.heartbeat_at)
    assert store.leases.recover(300.0) == Recovered()


def test_recovery_leaves_the_group_of_a_living_process_alone(store: Store, samples: "Samples") -> None:
    store.groups.add(RunGroup("rg_1", 10.0))
    store.groups.save_outcome(running())

    assert store.leases.recover(0.0) == Recovered()
    assert store.groups.outcomes("rg_1") == (running(),)
    assert store.groups.get("rg_1").finished_at is None


def test_a_group_of_another_machine_is_closed_after_a_silence(store: Store) -> None:
    now = time.time()
    group(store, elsewhere(), running(at=now - 100.0))

    assert store.leases.recover(300.0) == Recovered()
    assert store.leases.recover(60.0).groups == ("rg_1",)
    assert store.groups.get("rg_1").finished_at == pytest.approx(now - 100.0)


def test_a_run_that_another_process_continues_keeps_its_outcome_and_group_open(
    store: Store, samples: "Samples"
) -> None:
    run = samples.held(store, status=RunStatus.RUNNING, group_id="rg_1")
    group(store, dead(), running(0, run.id), running(1))

    recovered = store.leases.recover(0.0)

    assert [one.position for one in recovered.outcomes] == [1]
    assert (recovered.runs, recovered.groups) == ((), ())
    assert store.groups.outcomes("rg_1")[0].status is OutcomeStatus.RUNNING
    store.leases.release(run.id, store.leases.owner())


def test_forced_recovery_closes_what_lives(store: Store, samples: "Samples") -> None:
    run = left(store, samples, this_process(), heard=400.0, group_id="rg_1")
    store.groups.add(RunGroup("rg_1", 10.0))
    store.groups.save_outcome(running(0, run.id))

    recovered = store.leases.recover(300.0, force=True)

    assert (ids(recovered.runs), recovered.groups) == ({run.id}, ("rg_1",))
