"""A run that somebody attends: progress, Ctrl-C, the result, the exit code."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, cast

import click

from mesocosm.cli.main import Options, options
from mesocosm.cli.progress import watcher
from mesocosm.cli.render import print_result
from mesocosm.core.run import Run, RunSpec, RunStatus
from mesocosm.engine import session

if TYPE_CHECKING:
    from mesocosm.store import SqlStore

GRACE_S = 5.0

Start = Callable[[session.Control], Awaitable[Run]]


def open_results(chosen: Options, *, create: bool = True) -> "SqlStore":
    """Return the store that the options name. Raises UsageError when it must exist and does not."""
    from mesocosm.store import open_store

    if chosen.database():
        return open_store(chosen.database())
    place = chosen.results() / "orchestrator.sqlite"
    if not create and not place.exists():
        from mesocosm.core.failure import UsageError

        raise UsageError(
            f"there are no results in {chosen.results()} yet; run something first, for example `mesocosm demo`, "
            "or name the place with --results-dir"
        )
    return open_store(place)


def find_run(store: "SqlStore", name: str) -> Run:
    """Return the run called `name`: an id, a unique beginning of one, or `last`. Raises UnknownName."""
    if name == "last":
        newest = store.list_runs(limit=1).items
        if newest:
            return cast(Run, newest[0])
    return store.get_run(name)


def attend_new(spec: RunSpec, *, resume: bool = False) -> int:
    """Start a run, or with `resume` continue an unfinished one of the same experiment; return the exit code."""
    chosen = options()
    store = open_results(chosen)
    try:
        experiment = session.new_run(spec, session.open_parts(spec))
        unfinished = store.unfinished(experiment.signature)
        if unfinished and resume:
            return _attend(partial(_resume, unfinished[0].id, store, chosen, session.Settings()), chosen, store)
        for earlier in unfinished[:1]:
            click.echo(
                f"note: run {earlier.id} of the same experiment is unfinished ({earlier.counts.done} of "
                f"{earlier.counts.planned}); continue it with: mesocosm run resume {earlier.id}",
                err=True,
            )
        return _attend(partial(_run, spec, store, chosen), chosen, store)
    finally:
        store.close()


def attend_quietly(spec: RunSpec) -> tuple[Run, int]:
    """Start a run, show its progress, and return it with its exit code; the caller shows the result."""
    chosen = options()
    store = open_results(chosen)
    try:
        return _work(partial(_run, spec, store, chosen))
    finally:
        store.close()


def attend_resume(run_id: str, settings: session.Settings) -> int:
    """Continue a run and return the exit code."""
    chosen = options()
    store = open_results(chosen, create=False)
    try:
        return _attend(partial(_resume, run_id, store, chosen, settings), chosen, store)
    finally:
        store.close()


async def _run(spec: RunSpec, store: "SqlStore", chosen: Options, control: session.Control) -> Run:
    with watcher(chosen) as observer:
        return await session.run(spec, store, [observer], control=control)


async def _resume(
    run_id: str, store: "SqlStore", chosen: Options, settings: session.Settings, control: session.Control
) -> Run:
    with watcher(chosen) as observer:
        return await session.resume(run_id, store, [observer], control=control, settings=settings)


def _attend(start: Start, chosen: Options, store: "SqlStore") -> int:
    run, code = _work(start)
    print_result(run, store, chosen)
    return code


def _work(start: Start) -> tuple[Run, int]:
    interrupted = [0]
    run = _loop(_with_signals(start, interrupted))
    return run, exit_code(run, interrupted=interrupted[0] > 0)


def _loop(work: Awaitable[Run]) -> Run:
    try:
        import uvloop
    except ImportError:
        factory = None
    else:
        factory = uvloop.new_event_loop

    async def main() -> Run:
        return await work

    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main())


async def _with_signals(start: Start, interrupted: list[int]) -> Run:
    control = session.Control()
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        interrupted[0] += 1
        if interrupted[0] == 1:
            click.echo(
                f"\nstopping: running episodes have {GRACE_S:g} s to finish; interrupt again to end at once", err=True
            )
            control.stop("interrupted", GRACE_S)
        else:
            control.stop("interrupted", 0.0)

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, interrupt)
        except NotImplementedError:  # Windows has no handlers on its loop
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(interrupt))
    try:
        return await start(control)
    finally:
        if sys.platform != "win32":
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


def exit_code(run: Run, *, interrupted: bool = False) -> int:
    """Return the exit code of a run.

    0 all done and something scored, 1 nothing scored, 3 episodes owed, 4 broken off, 130 interrupted.
    """
    if run.status is RunStatus.FINISHED:
        return 0
    if run.status is RunStatus.FAILED:
        return 4 if run.counts.owed else 1
    return 130 if interrupted else 3
