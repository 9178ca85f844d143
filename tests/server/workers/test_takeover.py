"""A worker that stands still loses what it has, and writes nothing when it goes on."""

import signal
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from mesocosm.core.run import RunStatus


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def shared(request: pytest.FixtureRequest, open_platform: Callable[..., Any]) -> Any:
    """A platform over each kind of database in turn."""
    if request.param == "sqlite":
        return open_platform()
    return open_platform(database_url=request.getfixturevalue("postgres_schema"))


def stored(platform: Any, run_id: str) -> tuple[bytes, bytes, Any]:
    """Return all that is stored of a run: itself, its episodes, its order."""
    episodes = platform.service.store.episodes.search(run_id, limit=100).items
    order = platform.service.store.run_requests.get(run_id)
    return msgspec.json.encode(platform.run(run_id)), msgspec.json.encode(episodes), order


def test_a_frozen_worker_loses_its_run_to_another_and_writes_nothing_when_it_goes_on(
    shared: Any, world: Any, elsewhere: Any, eventually: Callable[..., None]
) -> None:
    world.held.add(2)
    run_id = shared.order(world.url, (1, 2, 3))
    frozen = shared.worker()
    eventually(lambda: shared.run(run_id).counts.done == 1 and 2 in world.resets)
    frozen.send_signal(signal.SIGSTOP)
    world.held.clear()
    second = shared.worker()
    eventually(lambda: shared.order_state(run_id) == "ended")
    assert shared.run(run_id).status is RunStatus.FINISHED
    assert shared.seeds_of(run_id) == [1, 2, 3]
    second.send_signal(signal.SIGTERM)
    assert second.wait(120) == 0
    before = stored(shared, run_id)
    world.released.set()
    frozen.send_signal(signal.SIGCONT)
    # It has seen that the run is not its own when it is through with another one.
    other = shared.order(elsewhere.url, (7,))
    eventually(lambda: shared.order_state(other) == "ended")
    frozen.send_signal(signal.SIGTERM)
    assert frozen.wait(120) == 0
    assert shared.run(other).status is RunStatus.FINISHED
    assert stored(shared, run_id) == before


def test_a_run_is_not_taken_from_a_worker_that_is_heard_of(platform: Any, world: Any) -> None:
    run_id = platform.order(world.url, (1,))
    store = platform.service.store
    store.leases.take(run_id, store.leases.owner())
    assert not store.leases.evict(run_id, 60.0)
    assert store.leases.evict(run_id, -1.0)
    assert not store.leases.evict(run_id, -1.0)
    assert platform.run(run_id).holder is None
