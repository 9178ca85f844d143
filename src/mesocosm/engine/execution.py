"""Execution of the pending episodes of one session, many at a time, with updates to the store and the observers."""

import asyncio
import gc
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Generic, TypeVar

import msgspec

from mesocosm.core.episode import Episode, EpisodeKey, EpisodeStatus
from mesocosm.core.failure import OF_CODE, Cause, EpisodeError, InfrastructureError, RunAborted
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.model import ModelName, ModelSettings
from mesocosm.core.ports import HoldsSecrets, Journal, Model, Observer, Pausable, Planned
from mesocosm.core.run import HOSTED, RunStatus
from mesocosm.engine.episode import Player
from mesocosm.engine.episode_end import Withdrawn, of_the_world
from mesocosm.engine.limits import Budget
from mesocosm.engine.metrics import Collected
from mesocosm.engine.outage import MOST_IN_A_ROW, Endpoint, retried
from mesocosm.engine.plan import pending_episodes
from mesocosm.engine.progress import Tracker
from mesocosm.engine.proxies import ProxyEndpoints
from mesocosm.engine.retry import Caller, Callers
from mesocosm.engine.session_state import SessionState, in_thread

FLUSH_S = 1.0
"""Maximum seconds until a running episode's events are in the store, so that it can be watched live."""

ROUNDS = 2
"""Number of times a session runs an episode that fails because of infrastructure before leaving it pending."""

GIVEN_UP_S = 0.5
"""Seconds for running episodes to end when the run gives up waiting for an endpoint."""

ALIKE = 6
"""Stop a run if this many first episodes all failed for the same reason."""

LINES = 8
"""Number of last lines of a traceback to show."""

GRACE_S = 5.0
"""Seconds for running episodes to end when a budget is used up."""

COLLECTION_THRESHOLD = (20_000, 20, 50)
"""Thresholds for `gc`. Young collections repeatedly traverse the objects of thousands of live episodes, which hardly
contain cycles. Measured with 1,000 concurrent episodes: 2,720 episodes/s with Python's default thresholds, 3,210 with
these, 3,430 without collection; peak memory was the same in all three."""


T = TypeVar("T")


def begin(state: SessionState) -> None:
    """Mark the run as running, and remove its earlier metrics, which no longer match its episodes."""
    before, now, store = state.record, time.time(), state.store
    record = state.record = store.runs.get(before.id)
    record.status, record.error, record.ended_at = RunStatus.RUNNING, "", None
    record.started_at, record.metrics = record.started_at or now, ()
    record.provenance = {**record.provenance, "session_at": now}
    if before.started_at is not None and before.ended_at is None and before.heartbeat_at is not None:
        # The process of the previous session died without recording its end.
        record.provenance["worked_s"] = round(before.worked_s(before.heartbeat_at) or 0.0, 3)
    store.runs.save(record, state.lease_owner)
    if state.options.retry_failed:
        store.episodes.drop_failed(record.id)
    if state.options.retry_unscored:
        store.episodes.drop_unscored(record.id, state.options.retry_unscored)
    state.record = store.runs.get(record.id)


async def execute(state: SessionState) -> str:
    """Run the pending episodes; return why execution stopped early, or an empty string."""
    store, record, parts, messages = state.store, state.record, state.parts, state.messages
    try:
        await parts.benchmark.open(messages.notice)
    finally:
        if isinstance(parts.benchmark, HoldsSecrets):
            messages.hide(parts.benchmark.secrets())
    state.opened = True
    # Installing packages and starting servers is not part of the run's time; its limits do not count it either.
    state.started = time.monotonic()
    record.provenance["session_at"] = time.time()
    # Each session chooses its parallelism; the maximum of a benchmark is known once it is open.
    before = record.spec, record.info
    record.spec = msgspec.structs.replace(record.spec, parallel=state.spec().parallel)
    if (most := parts.benchmark.info.parallel) is not None:
        record.info = {**record.info, "parallel": most}
    await in_thread(state.count_parts)
    await in_thread(store.runs.save, record, state.lease_owner)
    if before != (record.spec, record.info):
        await in_thread(store.runs.save_terms, record)
    finished = await asyncio.to_thread(store.episodes.finished_keys, record.id)
    tracker = Tracker(record, parts.benchmark.info)
    earlier = asyncio.create_task(_count_earlier(state, tracker, finished)) if finished else None
    try:
        async with _journal(state, tracker) as journal:
            execution = _Execution(state, tracker, journal)
            state.control.halt = execution.stop
            if state.control.reason:
                execution.stop(state.control.reason)
            messages.send(lambda observer: observer.run_started(tracker))
            todo = pending_episodes(parts.benchmark, record.spec.selection, finished, state.repeats)
            await execution.run(tracker.follow(todo))
    finally:
        state.control.halt = None
        if earlier is not None:
            await earlier
    await asyncio.sleep(0)
    return execution.stopped


@asynccontextmanager
async def _journal(state: SessionState, tracker: Tracker) -> AsyncIterator[Journal]:
    def committed(episodes: Sequence[Episode]) -> None:
        tracker.add(episodes)

        def finished(observer: Observer) -> None:
            for episode in episodes:
                observer.episode_finished(episode)

        state.messages.send(finished)

    # The journal calls from its own thread.
    soon: Callable[..., Any] = asyncio.get_running_loop().call_soon_threadsafe
    journal = state.store.journal(
        state.record.id,
        state.lease_owner,
        lambda episodes: soon(committed, episodes),
        lambda: soon(state.control.stop, "a stop was requested"),
    )
    try:
        yield journal
    finally:
        await journal.close()


async def _count_earlier(state: SessionState, tracker: Tracker, finished: Collection[EpisodeKey]) -> None:
    """Add the scores of earlier sessions to the running score without delaying the first episode."""

    def collected() -> Collected:
        # This session counts the episodes that it has committed by now itself.
        rows = state.store.episodes.score_rows(state.record.id)
        return tracker.earlier(row for row in rows if (row.task, row.trial) in finished)

    with suppress(InfrastructureError):  # the writer meets the same fault; this number is only displayed
        tracker.merge(await asyncio.to_thread(collected))


class _Execution:
    """Runs the episodes of one session as tasks of one event loop."""

    def __init__(self, state: SessionState, tracker: Tracker, journal: Journal) -> None:
        self.stopped = ""
        self._state = state
        self._parts = parts = state.parts
        self._messages = messages = state.messages
        self._tracker = tracker
        self._journal = journal
        self._run = run = msgspec.structs.replace(state.record, spec=state.spec())
        self._budget = tracker.budget = Budget(run.spec.limits, run.usage)
        parallel, info = run.spec.parallel, parts.benchmark.info
        parallel = parallel if info.parallel is None else min(parallel, info.parallel)
        if warning := beyond_default(info, parallel):
            messages.warn(warning)
        self._endpoints: list[Endpoint] = []
        self._callers = callers = self._open_callers()
        state.served, state.judge_served = callers.model.served, callers.judge.served
        judge = None if parts.judge is None or run.spec.judge is None else (parts.judge, run.spec.judge)
        self._proxies = ProxyEndpoints(parts.model, run.spec.model, judge)
        self._player = Player(run, parts, callers, self._proxies, journal, messages.redactor, messages.warn)
        self._alike = SameFailures(nothing_yet=not run.counts.done)
        self._scheduler = Scheduler(parallel, self._play)
        self._again: list[Planned] = []
        self._reaching: asyncio.Task[None] | None = None

    def _open_callers(self) -> Callers:
        """Return the services that episodes depend on, each with its own outage handling."""
        parts, spec, info = self._parts, self._run.spec, self._parts.benchmark.info
        # A single program may make several calls at once.
        most = max(min(MOST_IN_A_ROW, spec.limits.retries + 1), 2)
        model = judge = self._caller(parts.model, spec.model, "the model", "served", most)
        if parts.judge is not None and spec.judge is not None:
            judge = self._caller(parts.judge, spec.judge, "the judge", "judge_served", most)
        kind = "environment" if info.kind in {"hosted", "python"} else info.kind
        return Callers(model, judge, self._endpoint(f"the {kind} {info.id}", MOST_IN_A_ROW, of_the_world))

    def _caller(self, model: Model, settings: ModelSettings, what: str, served: str, most: int) -> Caller:
        run, name = self._run, ModelName.parse(settings.name)
        endpoint = self._endpoint(f"{what} {name.shown()}", most, retried)
        # The run records the address of the server once, so it is left out here.
        short = ModelName(name.provider, name.model).shown()
        caller = Caller(
            model, run.spec.limits, run.spec.parallel, self._budget, self._state.options.backoff, endpoint, short
        )
        earlier = run.provenance.get("server", {}).get(served, "")
        caller.served.update(dict.fromkeys(filter(None, earlier.split(", "))))
        return caller

    def _endpoint(self, name: str, most: int, counts: Callable[[EpisodeError], bool]) -> Endpoint:
        tracker = self._tracker
        endpoint = Endpoint(
            name,
            self._run.spec.limits.outage_seconds,
            self._state.options.backoff,
            most,
            notice=lambda words: self._messages.notice(f"{words} ({tracker.done} of {tracker.planned} finished)"),
            given_up=lambda reason: self.stop(reason, GIVEN_UP_S),
            counts=counts,
            changed=self._pause,
        )
        self._endpoints.append(endpoint)
        return endpoint

    def _pause(self) -> None:
        """Tell the progress and the benchmark, which can lend its resources, whether the run waits for an endpoint."""
        down = any(endpoint.down for endpoint in self._endpoints)
        self._tracker.pause(down)
        if isinstance(self._parts.benchmark, Pausable):
            self._parts.benchmark.pause(down)

    async def run(self, pending: Iterator[Planned]) -> None:
        """Run episodes until none is pending, a budget is used up, or `stop` is called.

        Episodes that infrastructure made fail are repeated. Raises InfrastructureError, RunAborted; EpisodeError if a
        server that was away came back as another one.
        """
        if self.stopped:
            return
        keeper = asyncio.create_task(self._keep())
        try:
            if self._state.away and self._run.counts.pending and not await self._reach():
                return
            with rare_collection():
                await self._try_out(pending)
                for left in reversed(range(ROUNDS)):
                    await self._scheduler.run(pending)
                    if self.stopped or not self._again or not left:
                        return
                    again, self._again = self._again, []
                    self._messages.notice(
                        f"{len(again)} failed for reasons that are not the agent's, and are played again"
                    )
                    pending = iter(again)
        finally:
            keeper.cancel()
            with suppress(asyncio.CancelledError):
                await keeper
            await self._proxies.close()

    async def _try_out(self, pending: Iterator[Planned]) -> None:
        """Run the rows of a rollout on a server one by one until one does not fail, or differently from the others.

        So a rollout that is broken costs as few model calls as possible. Raises as `run` does.
        """
        hosted = self._run.spec.benchmark.kind == HOSTED and self._parts.benchmark.info.kind == "rollout"
        while hosted and self._alike.all_failed and not self.stopped and (first := next(pending, None)) is not None:
            await self._scheduler.run(iter([first]))

    def stop(self, reason: str, grace: float = GRACE_S) -> None:
        """Start no new episodes; cancel the running ones after `grace` seconds."""
        self.stopped = self.stopped or reason
        if self._reaching is not None:
            self._reaching.cancel()
        self._scheduler.stop(grace)

    async def _play(self, planned: Planned) -> None:
        tracker, withdrawn = self._tracker, self._state.withdrawn
        tracker.running += 1
        try:
            await self._journal.room()
            if reason := self._budget.exhausted():
                self.stop(reason)
                return
            episode = await self._player.play(planned)
        except Withdrawn as error:
            self.stop(str(error))
            return
        finally:
            tracker.running -= 1
        if episode.status is EpisodeStatus.CANCELLED:
            self._again.append(planned)
            withdrawn[episode.key] = (planned.task, episode)
        elif withdrawn:
            withdrawn.pop(episode.key, None)
        try:
            reason = self._alike.seen(episode)
        except RunAborted:
            self._state.alike = True
            raise
        if reason:
            self._state.alike = True
            self.stop(reason)

    async def _reach(self) -> bool:
        """Wait as in an outage until model and judge answer; return False if the run is to stop.

        Raises EpisodeError, which leaves the run stopped, if they came back as different servers.
        """
        parts, callers = self._parts, self._callers

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
        if changed := self._state.other_server():
            raise EpisodeError(Cause.CANCELLED, changed)
        return True

    async def _keep(self) -> None:
        """Flush due events, and stop if a budget is used up or the store fails. Raises InfrastructureError.

        Short episodes, which end before their events are due, are written once, at their end.
        """
        try:
            while True:
                await asyncio.sleep(FLUSH_S / 2)
                await self._journal.room()
                if not self.stopped and (reason := self._budget.exhausted()):
                    self.stop(reason)
                due = time.time() - FLUSH_S / 2
                for recorder in list(self._player.active.values()):
                    if recorder.pending_since is not None and recorder.pending_since <= due:
                        recorder.flush()
        except InfrastructureError as error:
            self.stop(str(error), 0.0)
            raise


class SameFailures:
    """Detects that all first episodes fail for the same reason (ignoring numbers and ids) that is not the agent's.

    An agent whose code fails before it asks a model has not been measured, so that counts as not the agent's here.
    `all_failed` says whether all episodes so far did, also before the first one.
    """

    def __init__(self, *, nothing_yet: bool) -> None:
        self.all_failed = nothing_yet
        self._kind: tuple[str, str] | None = None
        self._keys: set[EpisodeKey] = set()

    def seen(self, episode: Episode) -> str:
        """Count an episode; return why the run should stop, or an empty string.

        Raises RunAborted if the agent's code cannot be loaded, or fails in each of the first episodes.
        """
        if not self.all_failed:
            return ""
        failed = _not_the_agents(episode)
        if failed is None:
            self.all_failed = False
            return ""
        cause, message = failed
        kind = (cause, _VARYING.sub("#", message))
        self.all_failed = self._kind in {None, kind}
        self._kind = kind
        self._keys.add(episode.key)
        count = len(self._keys)
        if (
            episode.failure is not None
            and episode.valid
            and self.all_failed
            and (count >= ALIKE or _not_loaded(episode))
        ):
            first = "the first episode failed" if count == 1 else f"the first {count} episodes all failed"
            # What went wrong comes first: lists and cards show only the beginning.
            said = f"{cause}: {message.strip().splitlines()[0][:300]}"
            lines = "".join(f"\n  | {line}" for line in episode.failure.detail.strip().splitlines()[-LINES:])
            raise RunAborted(f"{said}; {first} so before a model was asked, so every other one would{lines}")
        if not self.all_failed or count < ALIKE:
            return ""
        return f"the first {count} episodes all failed alike: {cause}: {message.splitlines()[0][:300]}"


def _not_the_agents(episode: Episode) -> tuple[str, str] | None:
    """Return cause and message of an episode without any value, None if it has one or if the agent failed."""
    if episode.failure is not None:
        if episode.valid and (episode.failure.cause not in OF_CODE or episode.usage.calls):
            return None
        return episode.failure.cause.value, episode.failure.message or "no reason is known"
    missing = [score for score in episode.scores if score.missing is not None]
    if not missing or len(missing) < len(episode.scores) or missing[0].missing is Cause.SKIPPED:
        return None
    return str(missing[0].missing), missing[0].explanation or "no reason is known"


def _not_loaded(episode: Episode) -> bool:
    """Return whether code failed because something could not be imported."""
    failure = episode.failure
    return failure is not None and any(_IMPORTING.search(text) for text in (failure.message, failure.detail))


_IMPORTING = re.compile(
    r"^(?:ModuleNotFoundError|ImportError|SyntaxError|IndentationError): |^No module named ", re.MULTILINE
)
_VARYING = re.compile(r"0x[0-9a-fA-F]+|[0-9a-fA-F-]{8,}|\d+")


def beyond_default(info: BenchmarkInfo, parallel: int) -> str:
    """Return a warning if `parallel` exceeds the parallelism in the environment's document, else an empty string."""
    named = info.parallel_default
    if named is None or parallel <= named:
        return ""
    return (
        f"{parallel} episodes at a time, as asked, although the manifest says parallel_episodes {named}, which "
        "scaffolds write by default; where the environment really takes no more, say so with max_parallel_episodes"
    )


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


class Scheduler(Generic[T]):
    """Runs `work` on every item, at most `parallel` at a time.

    The first exception raised by `work` stops everything and is raised by `run`. After `stop` no new item is started,
    and running ones are cancelled after the grace period; a second `stop` with grace 0 cancels at once.
    """

    def __init__(self, parallel: int, work: Callable[[T], Awaitable[None]]) -> None:
        self.parallel = max(parallel, 1)
        self.stopping = False
        self._work = work
        self._workers: set[asyncio.Task[None]] = set()
        self._error: BaseException | None = None

    async def run(self, items: Iterator[T]) -> None:
        """Return when all items are done or the stop is complete. Raises the first exception of `work`."""
        try:
            for _ in range(self.parallel):
                if self.stopping or self._error is not None:
                    break
                item = next(items, None)
                if item is None:
                    break
                worker = asyncio.create_task(self._worker(item, items))
                self._workers.add(worker)
                worker.add_done_callback(self._ended)
                if len(self._workers) % 64 == 0:
                    await asyncio.sleep(0)
            await self._settle()
        finally:
            for worker in self._workers:
                worker.cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)

    async def _settle(self) -> None:
        while self._workers and self._error is None:
            await asyncio.wait(self._workers, return_when=asyncio.FIRST_EXCEPTION)
        if self._error is not None:
            raise self._error

    def _ended(self, worker: asyncio.Task[None]) -> None:
        """Record how a worker ended: it may fail while others are still being started, before anything waits for it."""
        self._workers.discard(worker)
        if not worker.cancelled():
            error = worker.exception()  # always retrieved: asyncio logs exceptions that are never retrieved
            self._error = self._error or error

    async def _worker(self, item: T | None, items: Iterator[T]) -> None:
        while item is not None:
            await self._work(item)
            # Work in this process may never await anything; let other tasks of the loop run.
            await asyncio.sleep(0)
            if self.stopping:
                return
            item = next(items, None)

    def stop(self, grace: float) -> None:
        """Start no new items; cancel the running ones after `grace` seconds. Call it on the event loop."""
        self.stopping = True
        asyncio.get_running_loop().call_later(grace, self._cancel)

    def _cancel(self) -> None:
        for worker in self._workers:
            worker.cancel()
