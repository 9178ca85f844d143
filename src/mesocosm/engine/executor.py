"""Execution of episodes in this process."""

import asyncio
import gc
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from mesocosm.core.episode import Episode, EpisodeKey, EpisodeStatus
from mesocosm.core.failure import Cause, EpisodeError, InfrastructureError
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.model import ModelName, ModelSettings
from mesocosm.core.ports import Journal, Model, Parts, Pausable, Planned
from mesocosm.core.redact import Redactor
from mesocosm.core.run import Run
from mesocosm.core.task import Task
from mesocosm.engine.episode import Player
from mesocosm.engine.episode_end import Withdrawn, of_the_world
from mesocosm.engine.limits import Budget
from mesocosm.engine.outage import MOST_IN_A_ROW, Endpoint, retried
from mesocosm.engine.progress import Tracker
from mesocosm.engine.proxies import ProxyEndpoints
from mesocosm.engine.retry import Backoff, Caller, Callers
from mesocosm.engine.scheduler import Scheduler

FLUSH_S = 1.0
"""Maximum seconds until a running episode's events are in the store, so that it can be watched live."""

ROUNDS = 2
"""Number of times a session runs an episode that fails because of infrastructure before leaving it pending."""

GIVEN_UP_S = 0.5
"""Seconds for running episodes to end when the run gives up waiting for an endpoint."""

ALIKE = 6
"""Stop a run if this many first episodes all failed for the same reason."""

GRACE_S = 5.0
"""Seconds for running episodes to end when a budget is used up."""

COLLECTION_THRESHOLD = (20_000, 20, 50)
"""Thresholds for `gc`. Young collections repeatedly traverse the objects of thousands of live episodes, which hardly
contain cycles. Measured with 1,000 concurrent episodes: 2,720 episodes/s with Python's default thresholds, 3,210 with
these, 3,430 without collection; peak memory was the same in all three."""


def beyond_default(info: BenchmarkInfo, parallel: int) -> str:
    """Return a warning if `parallel` exceeds the parallelism in the environment's document, else an empty string."""
    named = info.parallel_default
    if named is None or parallel <= named:
        return ""
    return (
        f"{parallel} episodes at a time, as asked, although the manifest says parallel_episodes {named}, which "
        "scaffolds write by default; where the environment really takes no more, say so with max_parallel_episodes"
    )


class SameFailures:
    """Detects that all first episodes fail for the same reason (ignoring numbers and ids) that is not the agent's."""

    def __init__(self, *, nothing_yet: bool) -> None:
        self._open = nothing_yet
        self._kind: tuple[str, str] | None = None
        self._keys: set[EpisodeKey] = set()

    def seen(self, episode: Episode) -> str:
        """Count an episode; return why the run should stop, or an empty string."""
        if not self._open:
            return ""
        failed = _not_the_agents(episode)
        if failed is None:
            self._open = False
            return ""
        cause, message = failed
        kind = (cause, _VARYING.sub("#", message))
        self._open = self._kind in {None, kind}
        self._kind = kind
        self._keys.add(episode.key)
        if not self._open or len(self._keys) < ALIKE:
            return ""
        return f"the first {len(self._keys)} episodes all failed alike: {cause}: {message.splitlines()[0][:300]}"


def _not_the_agents(episode: Episode) -> tuple[str, str] | None:
    """Return cause and message of an episode without any value, None if it has one or if the agent failed."""
    if episode.failure is not None:
        return None if episode.valid else (episode.failure.cause.value, episode.failure.message or "no reason is known")
    missing = [score for score in episode.scores if score.missing is not None]
    if not missing or len(missing) < len(episode.scores) or missing[0].missing is Cause.SKIPPED:
        return None
    return str(missing[0].missing), missing[0].explanation or "no reason is known"


_VARYING = re.compile(r"0x[0-9a-fA-F]+|[0-9a-fA-F-]{8,}|\d+")


class EpisodeExecutor:
    """Runs a run's episodes as tasks of one event loop. Implements core.ports.Executor.

    `withdrawn` contains the last attempts of episodes that failed because of infrastructure and are still pending, with
    their tasks. `alike` is True if execution stopped because the first episodes all failed for the same reason. With
    `reached`, nothing is run until model and judge answer: the run waits as in an outage, then calls `reached`.
    """

    def __init__(
        self,
        tracker: Tracker,
        redactor: Redactor,
        warned: Callable[[str], None],
        notice: Callable[[str], None] = lambda message: None,
        backoff: Backoff = Backoff(),  # noqa: B008  (frozen)
        reached: Callable[[], None] | None = None,
    ) -> None:
        self.stopped = ""
        self._reached = reached
        self._reaching: asyncio.Task[None] | None = None
        self.withdrawn: dict[EpisodeKey, tuple[Task, Episode]] = {}
        self.served: dict[str, None] = {}
        self.judge_served: dict[str, None] = {}
        self._again: list[Planned] = []
        self.alike = False
        self._notice = notice
        self._tracker = tracker
        self._redactor = redactor
        self._warned = warned
        self._backoff = backoff
        self._scheduler: Scheduler[Planned] | None = None

    async def execute(self, run: Run, pending: Iterator[Planned], parts: Parts, journal: Journal) -> None:
        """Run episodes until none is pending, a budget is used up, or `stop` is called.

        Raises InfrastructureError, RunAborted.
        """
        spec = run.spec
        info = parts.benchmark.info
        parallel = spec.parallel if info.parallel is None else min(spec.parallel, info.parallel)
        if warning := beyond_default(info, parallel):
            self._warned(warning)
        budget = self._tracker.budget = Budget(spec.limits, run.usage)
        callers = self._callers(run, parts, budget)
        self.served, self.judge_served = callers.model.served, callers.judge.served
        judge = None if parts.judge is None or spec.judge is None else (parts.judge, spec.judge)
        endpoints = ProxyEndpoints(parts.model, spec.model, judge)
        player = Player(run, parts, callers, endpoints, journal, self._redactor, self._warned)

        alike = SameFailures(nothing_yet=not run.counts.done)

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
                self.withdrawn[episode.key] = (planned.task, episode)
            else:
                self.withdrawn.pop(episode.key, None)
            if reason := alike.seen(episode):
                self.alike = True
                self.stop(reason, GRACE_S)

        if self.stopped:
            return
        keeper = asyncio.create_task(self._keep(player, budget, journal))
        try:
            if self._reached is not None:
                if not await self._reach(parts, callers):
                    return
                self._reached()
            with rare_collection():
                await self._rounds(pending, lambda: Scheduler(parallel, play))
        finally:
            keeper.cancel()
            with suppress(asyncio.CancelledError):
                await keeper
            await endpoints.close()

    async def _reach(self, parts: Parts, callers: Callers) -> bool:
        """Return True once model and judge answer, or False if the run is to stop."""

        async def reach() -> None:
            await callers.model.endpoint.reach(parts.model.check)
            if parts.judge is not None:
                await callers.judge.endpoint.reach(parts.judge.check)

        self._reaching = asyncio.create_task(reach())
        try:
            await asyncio.wait([self._reaching])
        finally:
            self._reaching.cancel()
        if self.stopped:
            return False
        self._reaching.result()
        return True

    def _callers(self, run: Run, parts: Parts, budget: Budget) -> Callers:
        """Return the services that episodes depend on, each with its own outage handling."""
        spec, limits, info = run.spec, run.spec.limits, parts.benchmark.info
        server = run.provenance.get("server", {})
        # A single program may make several calls at once.
        most = max(min(MOST_IN_A_ROW, limits.retries + 1), 2)

        def endpoint(name: str, most: int, counts: Callable[[EpisodeError], bool] = retried) -> Endpoint:
            made = Endpoint(
                name,
                limits.outage_seconds,
                self._backoff,
                most,
                notice=lambda words: self._notice(
                    f"{words} ({self._tracker.done} of {self._tracker.planned} finished)"
                ),
                given_up=lambda reason: self.stop(reason, GIVEN_UP_S),
                counts=counts,
                changed=lambda: paused(any(one.down for one in endpoints)),
            )
            endpoints.append(made)
            return made

        def caller(model: Model, settings: ModelSettings, what: str, served: str) -> Caller:
            name = ModelName.parse(settings.name)
            watched = endpoint(f"{what} {name.shown()}", most)
            # The run records the address of the server once, so it is left out here.
            short = ModelName(name.provider, name.model).shown()
            made = Caller(model, limits, spec.parallel, budget, self._backoff, watched, short)
            made.served.update(dict.fromkeys(filter(None, server.get(served, "").split(", "))))
            return made

        endpoints: list[Endpoint] = []
        paused = parts.benchmark.pause if isinstance(parts.benchmark, Pausable) else _nothing
        model = caller(parts.model, spec.model, "the model", "served")
        judge = model
        if parts.judge is not None and spec.judge is not None:
            judge = caller(parts.judge, spec.judge, "the judge", "judge_served")
        kind = "environment" if info.kind in {"hosted", "python"} else info.kind
        return Callers(model, judge, endpoint(f"the {kind} {info.id}", MOST_IN_A_ROW, of_the_world))

    async def _rounds(self, pending: Iterator[Planned], begun: Callable[[], Scheduler[Planned]]) -> None:
        """Run pending episodes, then repeat those that failed because of infrastructure."""
        for left in range(ROUNDS):
            self._scheduler = begun()
            self._tracker.watch(self._scheduler)
            await self._scheduler.run(pending)
            if self.stopped or not self._again:
                return
            if left < ROUNDS - 1:
                again, self._again = self._again, []
                self._notice(f"{len(again)} failed for reasons that are not the agent's, and are played again")
                pending = iter(again)

    def stop(self, reason: str, grace: float = GRACE_S) -> None:
        """Start no new episodes; cancel the running ones after `grace` seconds."""
        self.stopped = self.stopped or reason
        if self._reaching is not None:
            self._reaching.cancel()
        if self._scheduler is not None:
            self._scheduler.stop(grace)

    async def _keep(self, player: Player, budget: Budget, journal: Journal) -> None:
        """Flush due events, and stop if a budget is used up or the store fails. Raises InfrastructureError.

        Short episodes, which end before their events are due, are written once, at their end.
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


def _nothing(paused: bool) -> None:
    """Do nothing: this benchmark has no resources to release during a pause."""


@contextmanager
def rare_collection() -> Iterator[None]:
    """Collect cycles less often within the block; higher thresholds set by the program are kept."""
    before = gc.get_threshold()
    if 0 < before[0] < COLLECTION_THRESHOLD[0]:
        gc.set_threshold(*COLLECTION_THRESHOLD)
    try:
        yield
    finally:
        gc.set_threshold(*before)
