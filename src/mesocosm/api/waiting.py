"""Wait for asynchronous work from any code: a script, a notebook, a web server."""

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from mesocosm.engine import session
from mesocosm.engine.executors.local import rare_collection

if TYPE_CHECKING:
    from mesocosm.api.results import Run

POLL_S = 0.2
"""Seconds between looks for Ctrl-C while another thread works."""

T = TypeVar("T")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C stopped a run; what finished is kept in `run`, of a sweep in `runs`, and the same call goes on.

    >>> issubclass(Interrupted, KeyboardInterrupt)
    True
    """

    def __init__(self, run: "Run | None" = None, runs: "Sequence[Run]" = ()) -> None:
        self.run = run
        self.runs: Sequence[Run] = runs or ([] if run is None else [run])
        super().__init__("stopped; the same call runs the rest" if self.runs else "stopped before the run began")


def waited(work: Callable[[session.Control], Awaitable[T]]) -> T:
    """Return the result of asynchronous work, also where a loop is running, as in a notebook.

    The work has a thread with a loop of its own; the caller waits for it and can be interrupted. Ctrl-C stops the run,
    keeps what is finished, and raises Interrupted with it; a second one does not wait.
    """
    ended = threading.Event()
    state = _State()
    control = session.Control()

    async def main() -> None:
        state.loop = asyncio.get_running_loop()
        state.result = await work(control)

    def run() -> None:
        try:
            # The first call imports the store and the client. What is imported stays, and looking for garbage among it
            # takes some 7 % of that call.
            with rare_collection(), asyncio.Runner() as runner:
                runner.run(main())
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            state.error = error
        finally:
            ended.set()

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name="mesocosm", daemon=True).start()
    interrupted = False
    # Not Thread.join: interrupted, Python 3.11 takes a running thread for an ended one.
    while not ended.is_set():
        try:
            ended.wait(POLL_S)
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
            _stop(state, control)
    if interrupted:
        found = state.result
        # Several runs have no status of their own.
        raise (Interrupted(found) if hasattr(found, "status") else Interrupted(runs=found or ())) from state.error
    if state.error is not None:
        raise state.error
    return state.result  # type: ignore[no-any-return]


@dataclass(slots=True)
class _State:
    loop: asyncio.AbstractEventLoop | None = None
    result: Any = None
    error: BaseException | None = field(default=None)


def _stop(state: _State, control: session.Control) -> None:
    loop = state.loop
    if loop is not None and not loop.is_closed():
        loop.call_soon_threadsafe(control.stop, "interrupted")
