"""A run from spec to metrics: the library's entry point. Open the parts, check, lease, execute, conclude, release."""

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
from mesocosm.engine.opening import new_run, opened, require_logprobs, same_experiment
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
    """Start a new run of `spec`, execute it, and return it with its metrics.

    Raises UsageError and RunAborted before anything is stored if the spec or the model cannot work, or the server does
    not answer (the address may be wrong); InfrastructureError if the store fails. A stopped run is returned with status
    `stopped`, an aborted one with `failed` and the reason; both can be passed to `resume`. If the task is cancelled,
    finished episodes are kept and the run is left `stopped`.
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
    """Resume a run: only episodes that are not finished are run.

    If the server does not answer, wait as in an outage; episodes stay pending. Raises UsageError if the content that
    the run was started with has changed, naming the changes; RunLeased if another process works on it; UnknownName.
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
    """Execute a new run with open parts; see `run`."""
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
    """Resume a run with open parts; see `resume`."""
    same_experiment(record, parts)
    return await _work(SessionState(record, parts, store, observers, control, settings), new=False)


async def _work(state: SessionState, *, new: bool) -> Run:
    """Check, lease, execute and release, in this order. Every started step is completed, even after an error."""
    store = state.store
    if not state.options.checked:
        await _check(state, waits=state.options.waits or not new)
    if not state.away and (changed := state.other_server()):
        raise UsageError(changed)
    await require_logprobs(state.parts)
    if new:
        # If this process is killed before it takes the lease, others must be able to detect that.
        state.record.holder, state.record.heartbeat_at = state.lease_owner, time.time()
        state.record = await in_thread(partial(store.runs.add, state.record, alone=state.options.alone))
    leased = False

    def lease() -> None:
        nonlocal leased
        store.leases.take(state.record.id, state.lease_owner)
        leased = True

    try:
        await in_thread(lease)
        await _play(state)
    finally:
        if leased:
            try:
                await in_thread(store.leases.release, state.record.id, state.lease_owner)
                state.record.holder = None
            finally:
                state.messages.send(lambda observer: observer.run_finished(state.record))
    return state.record


async def _check(state: SessionState, *, waits: bool) -> None:
    """Check that model and judge can answer. Raises RunAborted if they cannot.

    Without `waits`, that includes a server that does not answer: the address of a new run may be wrong.
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
        # Episodes stay pending: infrastructure is unavailable, or the run's server was replaced.
        stopped, error = (state.messages.redactor.text(str(caught)), None) if caught.rule.pending else ("", caught)
    except Exception as caught:  # noqa: BLE001 - the run's row must record how it ended, for any error
        error = caught
    finally:
        # A run that was taken over belongs to another process. A failed store may fail again; keep the first error.
        if not isinstance(error, RunLeased):
            with suppress(InfrastructureError) if isinstance(error, InfrastructureError) else nullcontext():
                await in_thread(conclude, state, stopped, error)
    if error is not None and not isinstance(error, EpisodeError | RunAborted):
        raise error
