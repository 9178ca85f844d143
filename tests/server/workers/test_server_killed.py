"""A platform whose server dies: nothing is lost, nothing is played twice."""

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from mesocosm.core.run import RunStatus

pytestmark = pytest.mark.usefixtures("forked")


def ready(server: "subprocess.Popen[bytes]") -> dict[str, Any]:
    """Return what a server says when it answers."""
    assert server.stdout is not None
    lines = []
    for line in server.stdout:
        lines.append(line)
        if line == b"}\n":
            break
    return dict(json.loads(b"".join(lines)))


def test_a_killed_server_takes_its_workers_along_and_the_next_one_goes_on(
    platform: Any, world: Any, eventually: Callable[..., None], kill: Callable[..., None]
) -> None:
    world.held.add(2)
    run_id = platform.order(world.url, (1, 2, 3))
    first = platform.server()
    ready(first)
    eventually(lambda: platform.run(run_id).counts.done == 1 and 2 in world.resets)
    kill(first)
    # Its worker notices, and gives the run back.
    eventually(lambda: platform.service.store.workers.list() == ())
    world.held.clear()
    world.released.set()
    ready(platform.server())
    eventually(lambda: platform.order_state(run_id) == "ended")
    assert platform.run(run_id).status is RunStatus.FINISHED
    assert platform.seeds_of(run_id) == [1, 2, 3]


def test_a_run_goes_on_after_server_and_worker_were_killed(
    platform: Any, world: Any, eventually: Callable[..., None], kill: Callable[..., None]
) -> None:
    world.held.add(2)
    run_id = platform.order(world.url, (1, 2, 3))
    first = platform.server()
    ready(first)
    eventually(lambda: platform.run(run_id).counts.done == 1 and 2 in world.resets)
    (worker,) = platform.service.store.workers.list()
    first.kill()
    platform.kill_pid(worker.holder.pid)
    first.wait()
    assert platform.order_state(run_id) == "claimed"
    world.held.clear()
    ready(platform.server())
    eventually(lambda: platform.order_state(run_id) == "ended")
    assert platform.run(run_id).status is RunStatus.FINISHED
    assert platform.seeds_of(run_id) == [1, 2, 3]
    assert world.resets == [1, 2, 2, 3]
