"""Calls of functions that are passed in: none can stop, block or end the run that calls it."""

import asyncio
import contextvars
import functools
import inspect
import os
import queue
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, ClassVar

from mesocosm.api.code import is_async

STUCK_S = 1.0
"""Seconds after which an event loop that an abandoned call blocks is replaced."""


class Overdue(Exception):
    """A call did not return in time. It is abandoned: a thread goes on, a coroutine was cancelled."""


class Raised(Exception):
    """A call raised `error`, which may be of any type: an exit, an interrupt or a cancellation of its own too."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        super().__init__(str(error))


async def called(function: Callable[..., Any], *arguments: Any, seconds: float | None = None, **named: Any) -> Any:
    """Return what a function returns. `seconds` count from the start of its code, not while it waits for its turn.

    A plain function has a thread of its own, which does not keep the process alive. A coroutine runs on the event loop
    of agents and graders. Raises Raised for whatever it raises, Overdue.
    """
    call = functools.partial(function, *arguments, **named)
    if is_async(function):
        return await _on_loop(call, seconds)
    found = await _on_thread(call, seconds)
    return await _on_loop(lambda: found, seconds) if inspect.iscoroutine(found) else found


class _Call:
    """A call under way: `begun` and `ended` are set on the loop that waits, whichever thread reports."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()
        self.returned: Any = None
        self.error: BaseException | None = None

    def begin(self) -> None:
        self._tell(self.begun)

    def end(self, returned: Any, error: BaseException | None) -> None:
        self.returned, self.error = returned, error
        self._tell(self.ended)

    def result(self) -> Any:
        if self.error is not None:
            raise Raised(self.error) from self.error
        return self.returned

    def _tell(self, event: asyncio.Event) -> None:
        with suppress(RuntimeError):  # the run is over, and nobody waits for an abandoned call
            self._loop.call_soon_threadsafe(event.set)


async def _on_thread(call: Callable[[], Any], seconds: float | None) -> Any:
    # Not asyncio.to_thread: it has few threads, so calls wait for each other, and the end of the run for all of them.
    state = _Call()

    def run() -> None:
        try:
            state.end(call(), None)
        except BaseException as error:  # noqa: BLE001 -- raised again where it is waited for
            state.end(None, error)

    _Worker.do(functools.partial(contextvars.copy_context().run, run))
    if not await _set_within(state.ended, seconds):
        raise Overdue
    return state.result()


class _Worker:
    """A thread for one plain function after another. A new one is started whenever none is idle."""

    _idle: ClassVar[dict[int, list["_Worker"]]] = {}  # by process: a fork has no threads of its parent

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="mesocosm-call", daemon=True).start()

    @classmethod
    def do(cls, job: Callable[[], None]) -> None:
        """Run a job that raises nothing at once."""
        try:
            worker = cls._idle.setdefault(os.getpid(), []).pop()
        except IndexError:
            worker = cls()
        worker._jobs.put(job)

    def _serve(self) -> None:
        idle = self._idle[os.getpid()]
        while True:
            job = self._jobs.get()
            job()
            del job  # what it holds may be large, and the next one far
            idle.append(self)


async def _on_loop(call: Callable[[], Coroutine[Any, Any, Any]], seconds: float | None) -> Any:
    state = _Call()
    place = _CallLoop.start(call, state)
    try:
        await state.begun.wait()
        if not await _set_within(state.ended, seconds):
            raise Overdue
    finally:
        if not state.ended.is_set():
            place.abandon()
    return state.result()


async def _set_within(event: asyncio.Event, seconds: float | None) -> bool:
    """Return whether an event was set in time. Nothing is lost if it is set while this loop is busy elsewhere."""
    waiting = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({waiting}, timeout=seconds)
    finally:
        waiting.cancel()
    return event.is_set()


class _Place:
    """Where a call is on the loop of calls: waiting for its turn, or a task there."""

    def __init__(self, call: Callable[[], Coroutine[Any, Any, Any]], state: _Call) -> None:
        self._call = call
        self._state = state
        self._context = contextvars.copy_context()
        self._turns = [True]  # popped by who begins, so that it begins once
        self._home: _CallLoop | None = None
        self._task: asyncio.Task[None] | None = None

    def join(self, home: "_CallLoop") -> None:
        """Make a task for the call on this loop, the running one. It begins when the loop is free."""
        home.loop.create_task(self._run(home), context=self._context)

    def abandon(self) -> None:
        """Cancel the call; a loop that does not react is replaced."""
        if self._turn():
            return
        home, task = self._home, self._task
        if home is not None and task is not None:
            home.cancel(task)

    async def _run(self, home: "_CallLoop") -> None:
        if not self._turn():
            return  # it was abandoned, or it has begun on another loop
        self._home, self._task = home, asyncio.current_task()
        home.waiting.discard(self)
        self._state.begin()
        try:
            self._state.end(await self._call(), None)
        except BaseException as error:  # noqa: BLE001 -- raised again where it is waited for
            self._state.end(None, error)

    def _turn(self) -> bool:
        try:
            return self._turns.pop()
        except IndexError:
            return False


class _CallLoop:
    """The event loop of asynchronous agents and graders, on a thread of its own.

    Models answer on the loop of the run; who waits for one with a blocking client must not block it. All calls share
    one loop, so that they can share a client.
    """

    _lock = threading.Lock()
    _current: ClassVar[dict[int, "_CallLoop"]] = {}

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.waiting: set[_Place] = set()
        threading.Thread(target=self._serve, name="agents", daemon=True).start()

    @classmethod
    def start(cls, call: Callable[[], Coroutine[Any, Any, Any]], state: _Call) -> _Place:
        """Start a call on the loop of this process, which is made when it is first needed."""
        place = _Place(call, state)
        with cls._lock:
            home = cls._current.get(os.getpid())
            if home is None:
                home = cls._current[os.getpid()] = cls()
            home._begin(place)
        return place

    def cancel(self, task: asyncio.Task[None]) -> None:
        """Cancel a task, and replace this loop if it stays blocked; calls that have not begun move to the new one."""
        reacts = threading.Event()

        def end() -> None:
            reacts.set()
            task.cancel()

        def look() -> None:
            if not reacts.is_set():
                self._replace()

        self.loop.call_soon_threadsafe(end)
        watch = threading.Timer(STUCK_S, look)
        watch.daemon = True
        watch.start()

    def _begin(self, place: _Place) -> None:
        self.waiting.add(place)
        self.loop.call_soon_threadsafe(place.join, self)

    def _replace(self) -> None:
        with self._lock:
            if self._current.get(os.getpid()) is self:
                fresh = self._current[os.getpid()] = _CallLoop()
                for place in list(self.waiting):
                    fresh._begin(place)

    def _serve(self) -> None:
        while True:
            try:
                self.loop.run_forever()
            except BaseException:  # noqa: BLE001, S112 -- an exit in a task of a call ends that task, not all others
                continue
