"""Signals during a run: Ctrl-C, `kill` and a closed terminal stop it gracefully.

The first signal gives running episodes some seconds to finish and writes everything; the second one ends at once.
Neither loses a finished episode. A run that is still starting is aborted by the first signal.
"""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar, cast

import click

from mesocosm.core.ports import Observer, Progress
from mesocosm.core.run import Run
from mesocosm.engine.session import Control

GRACE_S = 5.0
"""Seconds that running episodes have after the first interrupt."""
HURRY_S = 0.3
"""Seconds that cancelled episodes have after the second signal to close their environment."""

NOTHING_STORED = "interrupted before a run began: no run is stored, and the same command starts it"

T = TypeVar("T")
Start = Callable[[Control, Observer], Awaitable[Run]]


def run_with_signals(start: Callable[[Control, Observer], Awaitable[T]]) -> tuple[T, bool]:
    """Run `start` (which executes a run); return its result, and whether it was interrupted.

    Raises KeyboardInterrupt, which says so, if it was interrupted before there was a result.
    """
    handling = _SignalHandling[T]()
    found = asyncio.run(handling.play(start))
    if found is None:
        raise KeyboardInterrupt(NOTHING_STORED)
    return found, handling.interrupts > 0


class _SignalHandling(Observer, Generic[T]):
    def __init__(self) -> None:
        self.interrupts = 0
        self._control = Control()
        self._task: asyncio.Task[T] | None = None
        self._started = False
        self._ended: Run | None = None

    async def play(self, start: Callable[[Control, Observer], Awaitable[T]]) -> T | None:
        """Return the result of the work (a run as it ended), or None if it never began."""

        async def work() -> T:
            return await start(self._control, self)

        numbers = self._listen()
        self._task = asyncio.create_task(work())
        try:
            return await self._task
        except asyncio.CancelledError:
            if not self.interrupts:
                raise
            # Only commands that execute a single run pass its end to this observer.
            return cast("T | None", self._ended)
        finally:
            if sys.platform != "win32":
                for number in numbers:
                    asyncio.get_running_loop().remove_signal_handler(number)

    def run_started(self, progress: Progress) -> None:
        """Record that there are episodes, which should be allowed to finish."""
        self._started = True

    def run_finished(self, run: Run) -> None:
        """Record the end of the run; everything is written, so do not wait for the adapter to stop."""
        self._ended = run
        if self.interrupts > 1:
            asyncio.get_running_loop().call_soon(self._cancel)

    def _listen(self) -> list[signal.Signals]:
        numbers = [signal.SIGINT, signal.SIGTERM]
        if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            numbers.append(signal.SIGHUP)  # the terminal was closed; ignored under nohup
        loop = asyncio.get_running_loop()
        for number in numbers:
            try:
                loop.add_signal_handler(number, self._interrupt)
            except NotImplementedError:  # Windows event loops have no signal handlers
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(self._interrupt))
        return numbers

    def _interrupt(self) -> None:
        self.interrupts += 1
        if not self._started:
            self._cancel()
        elif self.interrupts == 1:
            hint = f"running episodes have {GRACE_S:g} s to finish; interrupt again to end at once"
            click.echo(f"\nstopping: {hint}", err=True)
            self._control.stop("interrupted", GRACE_S)
        else:
            self._hurry()

    def _hurry(self) -> None:
        """End the episodes, then their clean-up, and finally the wait for the adapter."""
        self._control.stop("interrupted", 0.0)
        asyncio.get_running_loop().call_later(HURRY_S, self._control.stop, "interrupted", 0.0)
        if self._ended is not None:
            self._cancel()

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
