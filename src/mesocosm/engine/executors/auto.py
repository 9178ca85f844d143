"""The executor `auto`: this process, and all cores once its episodes turn out to be bound by the processor."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from mesocosm.core.failure import UsageError
from mesocosm.core.ports import Executor, ExecutorSession, Planned
from mesocosm.core.run import HOSTED
from mesocosm.engine.executors.dispatch import Dispatcher
from mesocosm.engine.executors.local import LocalExecutor
from mesocosm.engine.executors.processes import Processes, cores

WATCHED_S = 3.0
"""Seconds over which the use of the processor is measured before anything is changed."""

BOUND = 0.9
"""Share of the time in which the thread of the episodes runs or waits for a core when they are bound by it."""

WORTH_S = 15.0
"""Expected seconds until the end of the run, below which starting processes is not worth it."""

ROLLOUT = "rollout"
"""Rollouts run in processes of their own already, on all cores."""


def open_auto(address: str) -> "type[AutoExecutor]":
    """Return the executor. Raises UsageError if an address is given."""
    if address:
        raise UsageError(f"the executor auto takes nothing after its name, not {address!r}")
    return AutoExecutor


class AutoExecutor:
    """Implements core.ports.Executor."""

    def __init__(self, session: ExecutorSession) -> None:
        self._session = session
        self._executor: Executor = LocalExecutor(session)
        self.parallel = self._executor.parallel
        info = session.parts.benchmark.info
        alone = info.growing or info.parallel is not None or info.kind in {HOSTED, ROLLOUT}
        self._most = 1 if alone else cores()
        self._watching = self._most > 1
        self._switching = False
        self._stopping = False
        self._since: tuple[float, float] | None = None
        self._left = 0

    async def run(self, pending: Iterator[Planned]) -> None:
        """Play episodes until none is pending or `stop` was called. Raises InfrastructureError, RunAborted."""
        self._since = None
        await self._executor.run(self._until_switched(pending))
        if not self._switching or self._stopping:
            return
        self._switching = self._watching = False
        number = min(self._most, self.parallel)
        self._session.notice(
            "episodes are bound by the processor, so several processes play them from now on "
            "(--executor local keeps them in one)"
        )
        await self._executor.close()
        self._executor = Dispatcher(self._session, Processes(number))
        await self._executor.run(pending)

    def _until_switched(self, pending: Iterator[Planned]) -> Iterator[Planned]:
        while not self._switching and (planned := next(pending, None)) is not None:
            yield planned

    def stop(self, grace: float) -> None:
        """Start no further episodes and cancel the running ones after `grace` seconds."""
        self._stopping = True
        self._executor.stop(grace)

    def keep(self) -> None:
        """Do what is due, and look at the use of the processor."""
        self._executor.keep()
        if self._watching and not self._switching:
            self._watch()

    def _watch(self) -> None:
        now, used, left = time.monotonic(), busy_seconds(), self._session.left or 0
        if self._since is None:
            self._since, self._left = (now, used), left
            return
        seconds = now - self._since[0]
        if seconds < WATCHED_S:
            return
        rate, bound = (self._left - left) / seconds, used - self._since[1] >= BOUND * seconds
        self._since, self._left = (now, used), left
        if not bound or rate <= 0 or left / rate < WORTH_S:
            return
        if self.parallel > 1:
            self._switching = True
            return
        self._watching = False
        self._session.notice(
            f"episodes are bound by the processor; --executor processes:{self._most} plays them on all cores"
        )

    async def close(self) -> None:
        """End everything."""
        await self._executor.close()

    @property
    def places(self) -> Mapping[str, int]:
        """Number of episodes by place, of those that other processes played."""
        return self._executor.places


def busy_seconds() -> float:
    """Return how many seconds this thread has run, or waited for a core that others used, if the system says that."""
    try:
        ran, waited, _ = _SCHEDULED.read_text().split()
    except (OSError, ValueError):
        return time.thread_time()
    return (int(ran) + int(waited)) / 1e9


_SCHEDULED = Path("/proc/thread-self/schedstat")
"""Nanoseconds on a core and in its queue, then the number of turns (Linux, Documentation/scheduler/sched-stats)."""
