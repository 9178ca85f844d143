"""Notifications in both databases: which ends are announced, and who sends a message."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from sqlalchemy import update
from sqlalchemy.exc import IntegrityError

from mesocosm.core.ids import new_id
from mesocosm.core.run import RunStatus
from mesocosm.store import Store
from mesocosm.store.notifications import KEPT, Delivery, DeliveryState, Notification
from mesocosm.store.queue import AdmissionTerms
from mesocosm.store.run_requests import RunRequest
from mesocosm.store.schedules import is_name_taken
from mesocosm.store.tenancy import deliveries

if TYPE_CHECKING:
    from tests.store.conftest import Samples

LEASE_S = 1000.0
MOST = 3


@pytest.fixture
def reefs(store: Store) -> str:
    """Return the id of a workspace."""
    made = store.workspaces.add("Reefs", store.users.add("ada").id)
    assert made is not None
    return made.id


@pytest.fixture
def hook(store: Store, reefs: str) -> Notification:
    """Return a notification of the workspace."""
    return added(store, reefs)


def added(store: Store, workspace: str, name: str = "hook") -> Notification:
    wanted = Notification(
        id=new_id(), workspace_id=workspace, name=name, host="hooks.example", format="mesocosm", events=("failed",)
    )
    made = store.notifications.add(wanted, MOST)
    assert made is not None
    return made


def message(hook: Notification, **given: Any) -> Delivery:
    return Delivery(**({"id": "", "notification_id": hook.id, "event": "failed", "body": "{}"} | given))


def queued(store: Store, samples: "Samples", workspace: str | None) -> str:
    """Admit a run; return its id."""
    run = samples.run()
    request = RunRequest(run_id=run.id, actor="user:1", model="m", created_at=time.time(), workspace_id=workspace)
    assert store.queue.admit(request, run, AdmissionTerms()) is None
    return str(run.id)


def ended(store: Store, run_id: str, status: RunStatus = RunStatus.FINISHED) -> None:
    run = store.runs.get(run_id)
    run.status = status
    store.runs.save(run)
    store.queue.end(run_id)


def test_a_notification_is_found_by_its_id_and_name_in_its_workspace(store: Store, reefs: str) -> None:
    made = added(store, reefs)
    assert store.notifications.list(reefs) == (made,)
    assert store.notifications.get(reefs, made.id) == store.notifications.get(reefs, "hook") == made
    assert store.notifications.get("other", made.id) is None


def test_a_workspace_has_no_two_notifications_of_one_name_and_not_too_many(store: Store, reefs: str) -> None:
    first = added(store, reefs)
    with pytest.raises(IntegrityError) as refused:
        added(store, reefs)
    assert is_name_taken(refused.value)
    added(store, reefs, "second")
    added(store, reefs, "third")
    assert store.notifications.add(msgspec.structs.replace(first, id=new_id(), name="fourth"), MOST) is None


def test_the_end_of_a_run_of_a_workspace_is_announced_once(
    store: Store, samples: "Samples", reefs: str, hook: Notification
) -> None:
    run_id = queued(store, samples, reefs)
    queued(store, samples, None)
    assert store.deliveries.ended(9) == ()
    ended(store, run_id)
    assert store.deliveries.ended(9) == (run_id,)
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: store.deliveries.announce(run_id, [message(hook, run_id=run_id)]), range(8)))
    assert sum(done) == 1
    assert store.deliveries.ended(9) == ()
    assert [one.run_id for one in store.deliveries.list(hook.id)] == [run_id]


def test_a_run_outside_of_workspaces_is_not_announced(store: Store, samples: "Samples") -> None:
    run_id = queued(store, samples, None)
    ended(store, run_id)
    assert store.deliveries.ended(9) == ()
    store.queue.reopen(run_id)
    ended(store, run_id)
    assert store.deliveries.ended(9) == ()


def test_a_cancelled_run_is_announced_when_its_worker_has_stopped_it(
    store: Store, samples: "Samples", reefs: str
) -> None:
    run_id = queued(store, samples, reefs)
    run = store.runs.get(run_id)
    run.status = RunStatus.RUNNING
    store.runs.save(run)
    store.queue.cancel(run_id)
    assert store.deliveries.ended(9) == ()
    run.status = RunStatus.STOPPED
    store.runs.save(run)
    assert store.deliveries.ended(9) == (run_id,)


def test_a_resumed_run_is_announced_again_and_not_while_it_goes_on(
    store: Store, samples: "Samples", reefs: str, hook: Notification
) -> None:
    run_id = queued(store, samples, reefs)
    ended(store, run_id, RunStatus.STOPPED)
    assert store.deliveries.announce(run_id, [message(hook)])
    assert store.queue.reopen(run_id)
    assert not store.queue.reopen(run_id)
    assert store.deliveries.ended(9) == ()
    assert not store.deliveries.announce(run_id, [message(hook)])
    ended(store, run_id)
    assert store.deliveries.announce(run_id, [message(hook)])
    assert len(store.deliveries.list(hook.id)) == 2


def test_a_notification_that_was_removed_meanwhile_gets_no_message(
    store: Store, samples: "Samples", reefs: str, hook: Notification
) -> None:
    other, run_id = added(store, reefs, "other"), queued(store, samples, reefs)
    ended(store, run_id)
    assert store.notifications.delete(hook.id)
    assert not store.notifications.delete(hook.id)
    assert store.deliveries.announce(run_id, [message(hook), message(other)])
    assert len(store.deliveries.list(other.id)) == 1
    with pytest.raises(IntegrityError):
        store.deliveries.add(message(hook))


def test_a_message_is_claimed_once_and_again_when_its_worker_dies(store: Store, hook: Notification) -> None:
    sent = store.deliveries.add(message(hook))
    assert store.workers.waiting()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: store.deliveries.claim(f"worker {number}", LEASE_S), range(8)))
    claims = [one for one in found if one is not None]
    assert [(one.id, owner.id) for one, owner in claims] == [(sent.id, hook.id)]
    assert not store.workers.waiting()
    store.workers.end(claims[0][0].claimed_by or "")
    again = store.deliveries.claim("next", LEASE_S)
    assert again is not None
    assert (again[0].id, again[0].attempts) == (sent.id, 2)
    done = {"state": DeliveryState.DELIVERED, "status": 200}
    assert not store.deliveries.save(msgspec.structs.replace(claims[0][0], **done))
    assert store.deliveries.save(msgspec.structs.replace(again[0], **done))
    assert store.deliveries.claim("next", LEASE_S) is None
    kept = store.deliveries.get(hook.id, sent.id)
    assert kept is not None
    assert (kept.state, kept.status, kept.attempts) == (DeliveryState.DELIVERED, 200, 2)


def test_an_attempt_that_failed_is_repeated_later(store: Store, hook: Notification) -> None:
    store.deliveries.add(message(hook))
    claimed = store.deliveries.claim("worker", LEASE_S)
    assert claimed is not None
    assert store.deliveries.save(msgspec.structs.replace(claimed[0], status=500, answer="no"), after_s=1000.0)
    assert store.deliveries.claim("worker", LEASE_S) is None
    (waiting,) = store.deliveries.list(hook.id)
    assert (waiting.state, waiting.status, waiting.answer) == (DeliveryState.PENDING, 500, "no")
    store.database.execute(update(deliveries).values(next_at=0.0))
    again = store.deliveries.claim("worker", LEASE_S)
    assert again is not None
    assert again[0].attempts == 2


def test_an_address_that_hangs_delays_no_other(store: Store, reefs: str, hook: Notification) -> None:
    other = added(store, reefs, "other")
    for _ in range(3):
        store.deliveries.add(message(hook))
    assert store.deliveries.claim("worker", LEASE_S) is not None
    wanted = store.deliveries.add(message(other))
    found = store.deliveries.claim("worker", LEASE_S)
    assert found is not None
    assert found[0].id == wanted.id
    assert store.deliveries.claim("worker", LEASE_S) is None


def test_only_the_last_messages_of_a_notification_are_kept(store: Store, hook: Notification) -> None:
    for _ in range(KEPT + 3):
        store.deliveries.add(message(hook))
        claimed = store.deliveries.claim("worker", LEASE_S)
        assert claimed is not None
        store.deliveries.save(msgspec.structs.replace(claimed[0], state=DeliveryState.FAILED))
    assert len(store.deliveries.list(hook.id, limit=1000)) == KEPT


def test_the_newest_message_of_each_notification_is_found(store: Store, reefs: str, hook: Notification) -> None:
    other = added(store, reefs, "other")
    store.deliveries.add(message(hook))
    newest = store.deliveries.add(message(hook, event="test"))
    assert store.deliveries.last([hook.id, other.id]) == {hook.id: newest}
