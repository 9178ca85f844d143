"""Execution of the pending episodes of one session, many at a time, with updates to the store and the observers."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from mesocosm.core.abilities import HoldsSecrets, Pausable
from mesocosm.core.episode import Episode, EpisodeKey, EpisodeStatus
from mesocosm.core.failure import OF_CODE, Cause, EpisodeError, InfrastructureError, RunAborted
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import CallBudget, Journal, Observer, Planned
from mesocosm.core.run import HOSTED, Run, RunStatus
from mesocosm.engine.executors.local import KEEP_S, model_endpoints, rare_collection
from mesocosm.engine.limits import Budget
from mesocosm.engine.metrics import Collected
from mesocosm.engine.plan import pending_episodes
from mesocosm.engine.progress import Tracker
from mesocosm.engine.session_state import SessionState, in_thread

ROUNDS = 2
"""Number of times a session runs an episode that fails because of infrastructure before leaving it pending."""

ALIKE = 6
"""Stop a run if this many first episodes all failed for the same reason."""

LINES = 8
"""Number of last lines of a traceback to show."""

GRACE_S = 5.0
"""Seconds for running episodes to end when a budget is used up."""


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
            await execution.play(tracker.follow(todo))
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
    """Runs the episodes of one session. Implements core.ports.ExecutorSession."""

    worker = ""

    def __init__(self, state: SessionState, tracker: Tracker, journal: Journal) -> None:
        self.stopped = ""
        self.run = run = msgspec.structs.replace(state.record, spec=state.spec())
        self.parts = state.parts
        self.journal = journal
        self.backoff = state.options.backoff
        self.redactor = state.messages.redactor
        share = state.options.share
        self.budget: CallBudget = (Budget if share is None else share.budget)(run.spec.limits, run.usage)
        tracker.budget = self.budget
        self.served = state.served = _served(run, "served")
        self.judge_served = state.judge_served = _served(run, "judge_served")
        self._state = state
        self._messages = state.messages
        self._tracker = tracker
        self._alike = SameFailures(nothing_yet=not run.counts.done)
        self._again: list[Planned] = []
        self._reaching: asyncio.Task[None] | None = None
        self._executor = state.open_executor(self)
        if warning := beyond_default(self.parts.benchmark.info, self._executor.parallel):
            self.warn(warning)

    @property
    def running(self) -> int:
        """Episodes in progress."""
        return self._tracker.running

    @running.setter
    def running(self, number: int) -> None:
        self._tracker.running = number

    @property
    def left(self) -> int:
        """Episodes that are not finished."""
        return max(self._tracker.planned - self._tracker.done, 0)

    def notice(self, message: str) -> None:
        """Send a notice."""
        self._messages.notice(message)

    def outage(self, message: str) -> None:
        """Send a notice with the progress of the run."""
        self.notice(f"{message} ({self._tracker.done} of {self._tracker.planned} finished)")

    def warn(self, message: str) -> None:
        """Add a warning to the run."""
        self._messages.warn(message)

    def pause(self, down: bool) -> None:
        """Tell the progress and the benchmark, which can lend its resources, whether the run waits for an endpoint."""
        self._tracker.pause(down)
        if isinstance(self.parts.benchmark, Pausable):
            self.parts.benchmark.pause(down)

    async def play(self, pending: Iterator[Planned]) -> None:
        """Play episodes until none is pending, a budget is used up, or `stop` is called.

        Episodes that infrastructure made fail are repeated. Raises InfrastructureError, RunAborted; EpisodeError if a
        server that was away came back as another one.
        """
        if self.stopped:
            return
        keeper = asyncio.create_task(self._keep())
        try:
            if self._state.away and self.run.counts.pending and not await self._reach():
                return
            with rare_collection():
                await self._try_out(pending)
                for left in reversed(range(ROUNDS)):
                    await self._executor.run(pending)
                    if self.stopped or not self._again or not left:
                        return
                    again, self._again = self._again, []
                    self.notice(f"{len(again)} failed for reasons that are not the agent's, and are played again")
                    pending = iter(again)
        finally:
            keeper.cancel()
            with suppress(asyncio.CancelledError):
                await keeper
            await self._executor.close()
            self._state.places = self._executor.places

    async def _try_out(self, pending: Iterator[Planned]) -> None:
        """Run the rows of a rollout on a server one by one until one does not fail, or differently from the others.

        So a rollout that is broken costs as few model calls as possible. Raises as `play` does.
        """
        hosted = self.run.spec.benchmark.kind == HOSTED and self.parts.benchmark.info.kind == "rollout"
        while hosted and self._alike.all_failed and not self.stopped and (first := next(pending, None)) is not None:
            await self._executor.run(iter([first]))

    def stop(self, reason: str, grace: float = GRACE_S) -> None:
        """Start no new episodes; cancel the running ones after `grace` seconds."""
        self.stopped = self.stopped or reason
        if self._reaching is not None:
            self._reaching.cancel()
        self._executor.stop(grace)

    def ended(self, planned: Planned, episode: Episode) -> None:
        """Take the result of a played episode. Raises RunAborted if the run must end."""
        withdrawn = self._state.withdrawn
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
        model, judge = endpoints = model_endpoints(self, lambda: self.pause(any(one.down for one in endpoints)))

        async def reach() -> None:
            await model.reach(self.parts.model.check)
            if self.parts.judge is not None:
                await judge.reach(self.parts.judge.check)

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
        """Let the executor do what is due, and stop if a budget is used up or the store fails.

        Raises InfrastructureError.
        """
        try:
            while True:
                await asyncio.sleep(KEEP_S)
                await self.journal.room()
                if not self.stopped and (reason := self.budget.exhausted()):
                    self.stop(reason)
                self._executor.keep()
        except InfrastructureError as error:
            self.stop(str(error), 0.0)
            raise


def _served(run: Run, key: str) -> dict[str, None]:
    """Return the names with which a server of the run answered in earlier sessions."""
    earlier = run.provenance.get("server", {}).get(key, "")
    return dict.fromkeys(filter(None, earlier.split(", ")))


class SameFailures:
    """Detects that all first episodes fail for the same reason (ignoring numbers and ids) that is not the agent's.

    An agent whose code fails before it asks a model has not been measured, so that counts as not the agent's here.
    Episodes that lose their environment together, as when one of them crashes it, count once.
    `all_failed` says whether all episodes so far did, also before the first one.
    """

    def __init__(self, *, nothing_yet: bool) -> None:
        self.all_failed = nothing_yet
        self._kind: tuple[str, str] | None = None
        self._keys: set[EpisodeKey] = set()
        self._lost_at = 0.0

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
        if cause == Cause.ENVIRONMENT_UNREACHABLE:
            if episode.started_at < self._lost_at:
                return ""
            self._lost_at = episode.ended_at or episode.started_at
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
