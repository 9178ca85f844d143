"""Execution of the pending episodes of one session, with updates to the store and the observers."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from mesocosm.core.episode import Episode, EpisodeKey
from mesocosm.core.failure import Cause, EpisodeError, InfrastructureError
from mesocosm.core.ports import Journal, Observer
from mesocosm.core.run import RunStatus
from mesocosm.engine.executor import EpisodeExecutor
from mesocosm.engine.metrics import Collected
from mesocosm.engine.plan import pending_episodes
from mesocosm.engine.progress import Tracker
from mesocosm.engine.session_state import Executed, SessionState, in_thread


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
    store.runs.save(record, state.holder)
    if state.options.retry_failed:
        store.episodes.drop_failed(record.id)
    if state.options.retry_unscored:
        store.episodes.drop_unscored(record.id, state.options.retry_unscored)
    state.record = store.runs.get(record.id)


async def execute(state: SessionState) -> str:
    """Run the pending episodes; return why execution stopped early, or an empty string."""
    store, record, parts, messages = state.store, state.record, state.parts, state.messages
    await parts.benchmark.open(messages.notice)
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
    await in_thread(store.runs.save, record, state.holder)
    if before != (record.spec, record.info):
        await in_thread(store.runs.save_terms, record)
    finished = await asyncio.to_thread(store.episodes.finished_keys, record.id)
    tracker = Tracker(record, parts.benchmark.info)

    def reached() -> None:
        """Reject servers that came back as different ones. Raises EpisodeError, which leaves the run stopped."""
        if changed := state.other_server():
            raise EpisodeError(Cause.CANCELLED, changed)

    waits = reached if state.away and record.counts.pending else None
    executor = EpisodeExecutor(tracker, messages.redactor, messages.warn, messages.notice, state.options.backoff, waits)
    earlier = asyncio.create_task(_count_earlier(state, tracker, finished)) if finished else None
    try:
        async with _journal(state, tracker) as journal:
            state.control.executor = executor
            if state.control.reason:
                executor.stop(state.control.reason)
            messages.send(lambda observer: observer.run_started(tracker))
            working = msgspec.structs.replace(record, spec=state.spec())
            todo = pending_episodes(parts.benchmark, record.spec.selection, finished, state.repeats)
            await executor.execute(working, tracker.follow(todo), parts, journal)
    finally:
        state.control.executor = None
        state.executed = Executed(
            tuple(executor.withdrawn.values()), executor.alike, tuple(executor.served), tuple(executor.judge_served)
        )
        if earlier is not None:
            await earlier
    await asyncio.sleep(0)
    return executor.stopped


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
        state.holder,
        lambda episodes: soon(committed, episodes),
        lambda: soon(state.control.stop, "somebody asked to stop it"),
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
