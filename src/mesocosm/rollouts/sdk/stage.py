"""Stages: threads with event loops of their own, on which users' code runs.

Users' code may block, so it never runs on the loop of whoever wants it executed. At first all executions share one
stage. When one of them blocks it, each later one gets a stage of its own, and those that had not begun move to one. A
stage whose code outlives its deadline is given up; the thread is interrupted where Python can do that.
"""

import asyncio
import contextlib
import ctypes
import threading
import time
from contextvars import Context, ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mesocosm.rollouts.sdk import whereabouts
from mesocosm.rollouts.sdk.crossing import Crossing
from mesocosm.rollouts.sdk.executor import DaemonExecutor

if TYPE_CHECKING:
    from mesocosm.rollouts.sdk.attempt import Attempt

LATE_S = 0.1
"""A stage that answers so late has lost the time to somebody."""

LEAVE_S = 0.2
"""So long the tasks of a stage that ends may take to see that they were cancelled."""

acting: ContextVar["Attempt | None"] = ContextVar("acting", default=None)
"""The attempt that this code belongs to."""


class Interrupted(BaseException):
    """The stage that this code runs on was given up."""


class Acting(asyncio.Task[Any]):
    """A task that knows for which attempt it works, so that a watcher sees who blocks a stage."""

    attempt: "Attempt | None" = None

    def cancel(self, msg: Any = None) -> bool:
        """Cancel it, unless code of another rollout asks for that: cleaning up after oneself harms no neighbour."""
        asking = acting.get()
        if asking is not None and self.attempt not in (None, asking) and not self.attempt.over:
            return False
        return super().cancel(msg)


@dataclass(frozen=True, slots=True)
class Held:
    """Who holds a loop, where in his code, and for how long he has been seen to."""

    attempt: "Attempt"
    where: str
    seconds: float


class Stage:
    """A daemon thread with an event loop. `lost` are the seconds during which somebody blocked it."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_task_factory(_task)
        self.loop.set_exception_handler(self._reported)
        self.loop.set_default_executor(DaemonExecutor())
        self.crossing = Crossing(self.loop)
        self.attempts: set[Attempt] = set()
        self.lost = 0.0
        self.asked: float | None = None
        self.gone = False
        self._suspect: Acting | None = None
        self._since = 0.0
        self._leaving = False
        self._thread = threading.Thread(target=self._run, name="rollout stage", daemon=True)
        self._thread.start()

    @property
    def ident(self) -> int | None:
        """The identity of its thread."""
        return self._thread.ident

    @property
    def suspect(self) -> "Attempt | None":
        """Who was last seen to hold the loop since it owes an answer."""
        return None if self._suspect is None else self._suspect.attempt

    @property
    def alive(self) -> bool:
        """Whether its thread still runs."""
        return self._thread.is_alive()

    def ask(self, now: float) -> float:
        """Ask the loop to answer unless it was asked already; return for how many seconds it owes the answer."""
        asked = self.asked
        if asked is not None:
            return now - asked
        self.asked = now
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._answer)
        return 0.0

    def look(self, now: float) -> Held | None:
        """Return who holds the loop since an earlier look; None when nobody does for so long."""
        task = asyncio.current_task(self.loop)
        held = task if isinstance(task, Acting) else None
        if held is None or held.attempt is None:
            return None
        if held is not self._suspect:
            self._suspect, self._since = held, now
            return None
        where = whereabouts.of_thread(self._thread.ident)
        return Held(held.attempt, where, now - self._since) if where else None

    def stop(self) -> None:
        """End the loop once what holds it returns. What runs there is cancelled."""
        self.gone = True
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.loop.stop)

    def interrupt(self) -> None:
        """Raise Interrupted in the thread: it ends loops of Python code, not calls that wait in C."""
        if self._leaving or not self.alive or self._thread.ident is None:
            return
        ident = ctypes.c_ulong(self._thread.ident)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(Interrupted))

    def _answer(self) -> None:
        if self.asked is None:
            return
        late, self.asked = time.monotonic() - self.asked, None
        suspect, self._suspect = self.suspect, None
        if late <= LATE_S:
            return
        self.lost += late
        if suspect is not None:
            suspect.came_back(late)

    def _reported(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        # Whatever a loop complains of that was stopped in the midst of something is our doing. So is a client that
        # nobody closed: collected here, it wants to close connections on the stage of another row, which has ended.
        error = context.get("exception")
        foreign = isinstance(error, RuntimeError) and str(error) == "Event loop is closed"
        if not self.gone and not foreign:
            loop.default_exception_handler(context)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        # Whatever users' code raises out of a loop (SystemExit in a task of its own) must not end the others' stage.
        with contextlib.suppress(Interrupted):
            while not self.gone:
                with contextlib.suppress(BaseException):
                    self.loop.run_forever()
            self._leaving = True
        self._leaving = True
        with contextlib.suppress(BaseException):
            self._leave()

    def _leave(self) -> None:
        try:
            tasks = asyncio.all_tasks(self.loop)
            for task in tasks:
                task.cancel()
            if tasks:
                self.loop.run_until_complete(asyncio.wait(tasks, timeout=LEAVE_S))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        finally:
            self.loop.close()


def _task(loop: asyncio.AbstractEventLoop, coroutine: Any, **how: Any) -> Acting:
    context: Context | None = how.get("context")
    task = Acting(coroutine, loop=loop, **how)
    task.attempt = acting.get() if context is None else context.get(acting)
    return task
