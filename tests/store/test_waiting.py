"""Where runs stand in the queue: the order in which they are claimed."""

import time
from typing import TYPE_CHECKING

from mesocosm.core.ids import new_id
from mesocosm.store import Store
from mesocosm.store.queue import Waiting
from mesocosm.store.run_requests import RunRequest

if TYPE_CHECKING:
    from tests.store.conftest import Samples


def queued(store: Store, samples: "Samples", actor: str, at: float, purpose: str = "run") -> str:
    run = store.runs.add(samples.run())
    order = RunRequest(
        run_id=run.id, actor=actor, domain_id="d", vow_version="1", model="m", created_at=at, purpose=purpose
    )
    store.run_requests.add(order)
    return str(run.id)


def test_runs_stand_in_the_order_in_which_they_are_claimed(store: Store, samples: "Samples") -> None:
    now = time.time()
    places = [("user:1", 1.0), ("user:1", 2.0), ("user:1", 3.0), ("user:2", 4.0), ("guest:x", 5.0), ("user:2", 6.0)]
    named = [queued(store, samples, actor, now + at) for actor, at in places]
    named.append(queued(store, samples, "user:1", now + 9, purpose="test"))
    waiting = store.queue
    told = sorted(named, key=lambda run_id: getattr(waiting.place(run_id), "position", 0))
    claimed = [waiting.claim("worker", 1_000, 9) for _ in named]
    assert [order.run_id for order in claimed if order is not None] == told


def test_what_somebody_has_played_already_lets_others_go_first(store: Store, samples: "Samples") -> None:
    now = time.time()
    for _ in range(2):
        queued(store, samples, "user:1", now)
    mine = queued(store, samples, "user:1", now)
    store.queue.claim("worker", 1_000, 9)
    other = queued(store, samples, "user:2", now + 1)
    waiting = store.queue
    assert waiting.place(other) == Waiting(1, 3)
    assert waiting.place(mine) in {Waiting(2, 3), Waiting(3, 3)}


def test_what_does_not_wait_has_no_place(store: Store, samples: "Samples") -> None:
    run_id = queued(store, samples, "user:1", time.time())
    waiting = store.queue
    waiting.claim("worker", 1_000, 9)
    assert waiting.place(run_id) is None
    assert waiting.place(new_id()) is None
