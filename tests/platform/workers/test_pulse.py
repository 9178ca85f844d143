"""Signs of life come from a thread of their own."""

import time
from collections.abc import Callable
from typing import Any

from mesocosm import __version__
from mesocosm.core.ids import new_id
from mesocosm.platform.workers.pulse import Kept, Pulse
from mesocosm.store import this_process
from mesocosm.store.workers import Worker


def entered(platform: Any) -> str:
    """Enter a worker that was heard of long ago; return its id."""
    worker = Worker(new_id(), this_process(), __version__, 8, 0, 1.0, 1.0)
    platform.service.workers.add(worker)
    return worker.id


def test_leases_are_renewed_while_nothing_else_in_the_process_gets_a_turn(
    platform: Any, eventually: Callable[..., None]
) -> None:
    pulse = Pulse(platform.service, entered(platform))
    renewed: list[float] = []

    def renew() -> bool:
        renewed.append(time.monotonic())
        return True

    pulse.keep("run", Kept(renew, lambda: True, lambda: None))
    pulse.start()
    try:
        # This thread, on which a worker has its event loop, computes without a pause.
        eventually(lambda: sum(range(20_000)) > 0 and len(renewed) >= 2)
    finally:
        pulse.stop()
    (worker,) = platform.service.workers.list()
    assert worker.heartbeat_at > 1.0


def test_what_is_lost_is_told_once(platform: Any, eventually: Callable[..., None]) -> None:
    pulse = Pulse(platform.service, entered(platform))
    lost: list[str] = []
    looks: list[str] = []

    def renewed() -> bool:
        looks.append("another")
        return True

    pulse.keep("gone", Kept(lambda: False, lambda: False, lambda: lost.append("gone")))
    pulse.keep("there", Kept(renewed, renewed, lambda: lost.append("there")))
    pulse.start()
    try:
        eventually(lambda: len(looks) >= 2)
    finally:
        pulse.stop()
    assert lost == ["gone"]


def test_a_store_that_fails_for_a_moment_does_not_end_the_pulse(platform: Any, eventually: Callable[..., None]) -> None:
    from mesocosm.core.failure import InfrastructureError

    pulse = Pulse(platform.service, entered(platform))
    calls: list[int] = []

    def renew() -> bool:
        calls.append(1)
        if len(calls) == 1:
            raise InfrastructureError("the disk is away")
        return True

    pulse.keep("run", Kept(renew, lambda: True, lambda: None))
    pulse.start()
    try:
        eventually(lambda: len(calls) >= 2)
    finally:
        pulse.stop()
