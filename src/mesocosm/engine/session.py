"""A run from spec to numbers: the library's entry point. Open the parts, check, lease, execute, conclude, release."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from functools import partial

from mesocosm.core.failure import EpisodeError, InfrastructureError, RunAborted, RunLeased, UsageError
from mesocosm.core.ports import EngineStore, Observer, Parts
from mesocosm.core.redact import Redactor
from mesocosm.core.run import Run, RunSpec
from mesocosm.engine.conclusion import conclude
from mesocosm.engine.episode_context import is_foreign
from mesocosm.engine.execution import begin, execute
from mesocosm.engine.opening import new_run, opened, same_experiment
from mesocosm.engine.outage import retried
from mesocosm.engine.session_state import Control, SessionOptions, SessionState, in_thread

__all__ = ["Control", "SessionOptions", "play", "play_on", "resume", "run"]


async def run(
    spec: RunSpec,
    store: EngineStore,
    observers: Sequence[Observer] = (),
    *,
    control: Control | None = None,
    settings: SessionOptions | None = None,
) -> Run:
    """Start a new run of `spec`, play it, and return it with its numbers.

    Raises UsageError and RunAborted before anything is stored when the spec or the model cannot work, also when the
    server does not answer (the address may be wrong); InfrastructureError when the store fails. A run that was stopped
    is returned with status `stopped`, one that broke off with `failed` and the reason; both can be given to `resume`.
    When the task is cancelled, what is finished is kept and the run is left `stopped`.
    """
    async with opened(spec) as parts:
        record = new_run(spec, parts, Redactor((settings or SessionOptions()).secrets))
        return await play(record, parts, store, observers, control=control, settings=settings)


async def resume(
    run_id: str,
    store: EngineStore,
    observers: Sequence[Observer] = (),
    *,
    control: Control | None = None,
    settings: SessionOptions | None = None,
) -> Run:
    """Continue a run: only episodes that are not finished are played.

    A server that does not answer is waited for as in an outage; episodes stay pending. Raises UsageError when what the
    run was started with has changed since, naming it; RunLeased when another process works on it.
    """
    record = await asyncio.to_thread(store.runs.get, run_id)
    async with opened(record.spec) as parts:
        return await play_on(record, parts, store, observers, control=control, settings=settings)


async def play(
    record: Run,
    parts: Parts,
    store: EngineStore,
    observers: Sequence[Observer] = (),
    *,
    control: Control | None = None,
    settings: SessionOptions | None = None,
) -> Run:
    """Play a new run whose parts are open; as `run`."""
    return await _work(SessionState(record, parts, store, observers, control, settings), new=True)


async def play_on(
    record: Run,
    parts: Parts,
    store: EngineStore,
    observers: Sequence[Observer] = (),
    *,
    control: Control | None = None,
    settings: SessionOptions | None = None,
) -> Run:
    """Continue a run whose parts are open; as `resume`."""
    same_experiment(record, parts)
    return await _work(SessionState(record, parts, store, observers, control, settings), new=False)


async def _work(state: SessionState, *, new: bool) -> Run:
    """Check, lease, play, release: in this order. What was begun is ended whatever happens."""
    store = state.store
    if not state.options.checked:
        await _check(state, waits=state.options.waits or not new)
    if not state.away and (changed := state.other_server()):
        raise UsageError(changed)
    if new:
        # If this process is killed before it takes the lease, others must see that it is gone.
        state.record.holder, state.record.heartbeat_at = state.holder, time.time()
        state.record = await in_thread(partial(store.runs.add, state.record, alone=state.options.alone))
    leased = False

    def lease() -> None:
        nonlocal leased
        store.leases.take(state.record.id, state.holder)
        leased = True

    try:
        await in_thread(lease)
        await _play(state)
    finally:
        if leased:
            try:
                await in_thread(store.leases.release, state.record.id, state.holder)
                state.record.holder = None
            finally:
                state.messages.send(lambda observer: observer.run_finished(state.record))
    return state.record


async def _check(state: SessionState, *, waits: bool) -> None:
    """Ask model and judge whether they can answer. Raises RunAborted when they cannot.

    Without `waits` that includes a server that does not answer: the address of a new run may be wrong.
    """
    try:
        await state.parts.model.check()
        if state.parts.judge is not None:
            await state.parts.judge.check()
    except EpisodeError as error:
        if not waits or not retried(error):
            raise RunAborted(state.messages.redactor.text(str(error))) from error
        state.away = True


async def _play(state: SessionState) -> None:
    error: Exception | None = None
    stopped = ""
    try:
        await in_thread(begin, state)
        stopped = await execute(state)
    except asyncio.CancelledError as caught:
        if not is_foreign(caught):
            stopped = "interrupted"
            raise
        error = RuntimeError("the benchmark raised CancelledError, though it was not cancelled")
    except EpisodeError as caught:
        # Episodes stay pending: infrastructure is away, or what the run was begun with is no longer there.
        stopped, error = (state.messages.redactor.text(str(caught)), None) if caught.rule.pending else ("", caught)
    except Exception as caught:  # noqa: BLE001 - the run's row must say how it ended, whatever it was
        error = caught
    finally:
        # A run that was taken over is another process's. A store that failed may fail again; the first says why.
        if not isinstance(error, RunLeased):
            with suppress(InfrastructureError) if isinstance(error, InfrastructureError) else nullcontext():
                await in_thread(conclude, state, stopped, error)
    if error is not None and not isinstance(error, EpisodeError | RunAborted):
        raise error
