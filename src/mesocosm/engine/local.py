"""Episodes in this process."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from mesocosm.core.episode import Episode, EpisodeKey, EpisodeStatus
from mesocosm.core.failure import InfrastructureError
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Journal, Parts, Planned
from mesocosm.core.redact import Redactor
from mesocosm.core.run import Run
from mesocosm.engine.collection import seldom
from mesocosm.engine.episode import Player, Withdrawn
from mesocosm.engine.gateways import Gateways
from mesocosm.engine.limits import Budget
from mesocosm.engine.progress import Tracker
from mesocosm.engine.retry import Backoff, Caller
from mesocosm.engine.scheduler import Scheduler

FLUSH_S = 1.0
"""A running episode's events reach the store at the latest after this time, so that others can watch it."""

ROUNDS = 2
"""How often a session plays what infrastructure made fail, before it leaves it owed."""

GRACE_S = 5.0
"""Running episodes have this time to end when a budget is used up."""


def beyond_default(info: BenchmarkInfo, parallel: int) -> str:
    """Return a warning where more episodes are played at once than the environment's document names, else ""."""
    named = info.parallel_default
    if named is None or parallel <= named:
        return ""
    return (
        f"{parallel} episodes at a time, as asked, although the manifest says parallel_episodes {named}, which "
        "scaffolds write by default; where the environment really takes no more, say so with max_parallel_episodes"
    )


class LocalExecutor:
    """Plays a run's episodes as tasks of one event loop. Implements core.ports.Executor.

    `withdrawn` holds the last tries of episodes that infrastructure made fail and that are still owed.
    """

    def __init__(
        self,
        tracker: Tracker,
        redactor: Redactor,
        warned: Callable[[str], None],
        notice: Callable[[str], None] = lambda message: None,
        backoff: Backoff = Backoff(),  # noqa: B008  (frozen)
    ) -> None:
        self.stopped = ""
        self.withdrawn: dict[EpisodeKey, Episode] = {}
        self._again: list[Planned] = []
        self._notice = notice
        self._tracker = tracker
        self._redactor = redactor
        self._warned = warned
        self._backoff = backoff
        self._scheduler: Scheduler[Planned] | None = None

    async def execute(self, run: Run, owed: Iterator[Planned], parts: Parts, journal: Journal) -> None:
        """Play until nothing is owed, a budget is used up, or `stop` was called."""
        spec = run.spec
        info = parts.benchmark.info
        parallel = spec.parallel if info.parallel is None else min(spec.parallel, info.parallel)
        if warning := beyond_default(info, parallel):
            self._warned(warning)
        budget = self._tracker.budget = Budget(spec.limits, run.usage)
        # One program may well make several calls at once.
        caller = Caller(parts.model, spec.limits, spec.parallel, budget, self._backoff)
        judge = None if parts.judge is None or spec.judge is None else (parts.judge, spec.judge)
        gateways = Gateways(parts.model, spec.model, judge)
        player = Player(run, parts, caller, gateways, journal, self._redactor, self._warned)

        async def play(planned: Planned) -> None:
            await journal.room()
            if reason := budget.exhausted():
                self.stop(reason, GRACE_S)
                return
            try:
                episode = await player.play(planned)
            except Withdrawn as withdrawn:
                self.stop(str(withdrawn), GRACE_S)
                return
            if episode.status is EpisodeStatus.CANCELLED:
                self._again.append(planned)
                self.withdrawn[episode.key] = episode
            else:
                self.withdrawn.pop(episode.key, None)

        if self.stopped:
            return
        keeper = asyncio.create_task(self._keep(player, budget, journal))
        try:
            with seldom():
                await self._rounds(owed, lambda: Scheduler(parallel, play))
        finally:
            keeper.cancel()
            with suppress(asyncio.CancelledError):
                await keeper
            await gateways.close()

    async def _rounds(self, owed: Iterator[Planned], begun: Callable[[], Scheduler[Planned]]) -> None:
        """Play what is owed, then once more what infrastructure made fail."""
        for left in range(ROUNDS):
            self._scheduler = begun()
            self._tracker.watch(self._scheduler)
            await self._scheduler.run(owed)
            if self.stopped or not self._again:
                return
            if left < ROUNDS - 1:
                again, self._again = self._again, []
                self._notice(f"{len(again)} failed for reasons that are not the agent's, and are played again")
                owed = iter(again)

    def stop(self, reason: str, grace: float = GRACE_S) -> None:
        """Take no new episodes; cancel the running ones after `grace` seconds."""
        self.stopped = self.stopped or reason
        if self._scheduler is not None:
            self._scheduler.stop(grace)

    async def _keep(self, player: Player, budget: Budget, journal: Journal) -> None:
        """Write what running episodes recorded, and end them when a budget is used up or the store fails.

        Episodes that may well end before their events are due are spared. Raises InfrastructureError.
        """
        try:
            while True:
                await asyncio.sleep(FLUSH_S / 2)
                await journal.room()
                if not self.stopped and (reason := budget.exhausted()):
                    self.stop(reason, GRACE_S)
                due = time.time() - FLUSH_S / 2
                for recorder in list(player.active.values()):
                    if recorder.pending_since is not None and recorder.pending_since <= due:
                        recorder.flush()
        except InfrastructureError as error:
            self.stop(str(error), 0.0)
            raise
