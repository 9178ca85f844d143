"""Whoever watches the runs learns of every change, also of those by other processes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from mesocosm.core.failure import UnknownName
from mesocosm.core.run import Counts, RunStatus
from mesocosm.core.usage import Usage
from mesocosm.store import Store, changes, open_store
from mesocosm.store.changes import ChangeWatch, RunChanges

if TYPE_CHECKING:
    from tests.store.conftest import Samples


@pytest.fixture
def watch(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChangeWatch]:
    """Return a watch that asks for nothing twice."""
    monkeypatch.setattr(changes, "OVERLAP", 0.0)
    watch = store.changes.watch()
    watch.changes()
    yield watch
    watch.close()


def seen(watch: ChangeWatch) -> RunChanges:
    found = watch.changes()
    assert found is not None
    return found


def test_new_changed_and_deleted_runs_are_told(store: Store, samples: "Samples", watch: ChangeWatch) -> None:
    first, second = (store.runs.add(samples.run()) for _ in range(2))
    assert set(seen(watch).changed) == {first.id, second.id}

    store.runs.set_tags(first.id, ["x"])
    assert seen(watch).changed == (first.id,)
    store.runs.request_stop(second.id)
    assert seen(watch).changed == (second.id,)
    second.status = RunStatus.FAILED
    store.runs.save(second)
    assert seen(watch).changed == (second.id,)
    store.runs.delete(first.id)
    assert seen(watch).deleted == (first.id,)


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_nothing_is_read_while_nobody_writes(store: Store, samples: "Samples", watch: ChangeWatch, place: str) -> None:
    assert watch.changes() is None
    other = open_store(place)
    run = other.runs.add(samples.run())
    other.close()

    assert seen(watch).changed == (run.id,)
    assert watch.changes() is None


async def test_a_run_that_goes_on_is_active(store: Store, samples: "Samples", watch: ChangeWatch) -> None:
    run = samples.held(store, status=RunStatus.RUNNING, counts=Counts(10))
    await samples.write(store, run.id, [samples.entry(run.id, index) for index in range(3)])

    assert seen(watch).active == (run.id,)
    state = store.changes.state(run.id)
    assert (state.status, state.counts, state.usage) == ("running", Counts(10, 3), Usage(300, 30, 12, 6, 0.75, 3))
    assert state.holder == store.leases.owner()
    assert state.heartbeat_at is not None


def test_the_last_seconds_come_again(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run())
    first = store.changes.since(0.0)

    assert first.changed == (run.id,)
    assert store.changes.since(first.at - changes.OVERLAP).changed == (run.id,)
    assert store.changes.since(first.at + 60).changed == ()


def test_more_changes_than_an_answer_holds_are_told(
    store: Store, samples: "Samples", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "_MOST", 2)
    made = [store.runs.add(samples.run()) for _ in range(3)]

    found = store.changes.since(0.0)

    assert set(found.changed) < {run.id for run in made}
    assert (len(found.changed), found.complete) == (2, False)


def test_a_run_that_came_back_is_not_deleted(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run())
    store.runs.delete(run.id)
    assert store.changes.since(0.0).deleted == (run.id,)

    store.bundles.insert(run, [])

    assert store.changes.since(0.0).deleted == ()


def test_states_come_in_the_order_asked_for(store: Store, samples: "Samples") -> None:
    made = [store.runs.add(samples.run()) for _ in range(3)]
    asked = [made[2].id, "unknown", made[0].id]

    assert [state.id for state in store.changes.states(asked)] == [made[2].id, made[0].id]
    with pytest.raises(UnknownName, match="no run 'unknown'"):
        store.changes.state("unknown")
