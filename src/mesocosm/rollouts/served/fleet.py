"""The processes of a rollout: one for all tries, or, once one was seen to harm others, one for each try at a time."""

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from mesocosm.core.failure import Cause, EpisodeError, RunAborted
from mesocosm.http.errors import HttpError
from mesocosm.rollouts.served.process import Held, RolloutProcess

LANES = 4 * (os.cpu_count() or 1)
"""More processes than this hinder each other more than they help."""

STARTS = 3
"""So many starts in a row that fail: the next one would too."""

ABANDONED = 3
"""A process that works on more tries that nobody waits for any more is replaced; a small one sooner."""

_CANCEL_S = 1.0
_GRACE_S = 1.0

UNLIMITED = 1_000_000
LOOK_S = 0.25
BLOCKED_S, WINDOW_S = 1.0, 2.0
"""Tries that hold the event loop for so many seconds of so many make all others wait, and would do so again."""

MOVED = 0.25
"""A try moves to another process when the one beside it has taken this share of its time. Moving throws away what it
has done, so that a short wait is better."""

Starter = Callable[[], Awaitable[RolloutProcess]]


@dataclass(frozen=True, slots=True)
class Seat:
    """A process for one try; `lane`: for this try alone."""

    process: RolloutProcess
    lane: bool


class Fleet:
    """Gives processes to tries, and ends those that are of no use any more.

    `start` returns a healthy process or raises RunAborted. At most `most` processes run side by side, once tries are
    isolated from each other (`isolated`).
    """

    def __init__(self, start: Starter, most: int | None, notice: Callable[[str], None]) -> None:
        self._start = start
        self._most = most
        self._notice = notice
        self.isolated = False
        self.capacity: int | None = None
        self._shared: RolloutProcess | None = None
        self._idle: list[RolloutProcess] = []
        self._alive: set[RolloutProcess] = set()
        self._failed = 0
        self._starting = asyncio.Lock()
        self._starts = asyncio.Semaphore(os.cpu_count() or 1)
        self._seats = asyncio.Semaphore(UNLIMITED)
        self._lanes = asyncio.Semaphore(LANES)
        self._tasks: set[asyncio.Task[None]] = set()
        self._watch: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Start the first process. Raises RunAborted."""
        self._shared = await self._begin()
        self.capacity = self._shared.capacity
        self._seats = asyncio.Semaphore(self.capacity or UNLIMITED)
        self._watch = asyncio.create_task(self._look())

    async def take(self) -> Seat:
        """Return a seat for one try; give it back. Raises EpisodeError (rollout_failed), RunAborted.

        What would wait in the server waits here, because there it would count against the time of the try.
        """
        if not self.isolated:
            await self._seats.acquire()
            try:
                process = await self._together()
            except BaseException:
                self._seats.release()
                raise
            if process is not None:
                return Seat(process, lane=False)
            self._seats.release()
        return Seat(await self._alone(), lane=True)

    async def _together(self) -> RolloutProcess | None:
        """Return the process for all tries; None once tries are isolated."""
        while not self.isolated:
            if self._shared is not None and self._shared.usable:
                return self._shared
            async with self._starting:
                if not self.isolated and (self._shared is None or not self._shared.usable):
                    self._share(await self._restarted())
        return None

    async def _alone(self) -> RolloutProcess:
        """Return a process that has no other try."""
        await self._lanes.acquire()
        try:
            while self._idle:
                process = self._idle.pop()
                if process.usable:
                    return process
                self.end(process)
            async with self._starts:
                return await self._restarted()
        except BaseException:
            self._lanes.release()
            raise

    def give_back(self, seat: Seat) -> None:
        """Take back a process whose try is over, and end it when nobody can use it any more."""
        process = seat.process
        (self._lanes if seat.lane else self._seats).release()
        if seat.lane:
            if process.usable:
                self._idle.append(process)
            else:
                self.end(process)
        elif process.lost.done() or (not process.tries and (process.retired or process is not self._shared)):
            self.end(process)

    def isolate(self, why: str) -> None:
        """Give each try a process of its own from now on."""
        if self.isolated:
            return
        self.isolated = True
        sizes = [size for size in (self._most, self.capacity) if size is not None]
        lanes = min([*sizes, LANES])
        self._lanes = asyncio.Semaphore(lanes)
        self._notice(f"rollout: {why}; from now on each row in flight has a process of its own (at most {lanes})")
        shared, self._shared = self._shared, None
        if shared is not None and (shared.lost.done() or not shared.tries):
            self.end(shared)

    def abandon(self, seat: Seat, name: str) -> None:
        """Have a process drop a try that nobody waits for any more. One that cannot is replaced."""
        if seat.lane:
            seat.process.retired = True
        elif not seat.process.lost.done():
            self._do(self._cancel(seat.process, name))

    def wear(self, process: RolloutProcess) -> None:
        """Count a try that the process goes on with although nobody waits for it."""
        process.abandoned += 1
        process.retired = process.retired or process.abandoned > ABANDONED

    def end(self, process: RolloutProcess) -> None:
        """End a process, without waiting for that."""
        process.retired = True
        if process in self._alive:
            self._alive.discard(process)
            self._do(process.stop())

    async def close(self) -> None:
        """End all processes and wait for that."""
        if self._watch is not None:
            self._watch.cancel()
        alive, self._alive = self._alive, set()
        await asyncio.gather(*(process.stop(_GRACE_S) for process in alive), *self._tasks, return_exceptions=True)

    async def _look(self) -> None:
        """Isolate tries as soon as some hold the event loop for long; those beside move when that costs them much.

        One that holds it at that moment goes on where it is, alone.
        """
        while not self.isolated:
            await asyncio.sleep(LOOK_S)
            process = self._shared
            busy: deque[float] = deque(maxlen=round(WINDOW_S / LOOK_S) + 1)
            while process is not None and len(process.tries) > 1 and not process.lost.done():
                busy.append(sum(held.seconds for held in process.held().values()))
                holder = process.holder()
                if busy[-1] - busy[0] >= BLOCKED_S or holder.seconds >= BLOCKED_S:
                    at = f" at {holder.where}" if holder.where else ""
                    self.isolate(f"a row blocks the event loop for others{at}")
                _move(process, holder)
                await asyncio.sleep(LOOK_S)

    async def _cancel(self, process: RolloutProcess, name: str) -> None:
        with suppress(HttpError, AttributeError):
            response = await process.post("/rollout/cancel", {"ids": [name]}, _CANCEL_S)
            told = response.json().get("dispositions") or {}
            if str(told.get(name)).startswith("cancelled"):
                return
        self.wear(process)
        # Such a try keeps its place in the server for ever.
        process.retired = process.retired or process.abandoned * 4 >= (process.capacity or 1000)
        if process.retired and not process.tries:
            self.end(process)

    def _share(self, process: RolloutProcess) -> None:
        if self.isolated:
            self._idle.append(process)
        else:
            self._shared = process

    async def _restarted(self) -> RolloutProcess:
        try:
            return await self._begin()
        except RunAborted as error:
            self._failed += 1
            if self._failed >= STARTS:
                raise
            raise EpisodeError(Cause.ROLLOUT_FAILED, str(error)) from error

    async def _begin(self) -> RolloutProcess:
        process = await self._start()
        self._failed = 0
        self._alive.add(process)
        return process

    def _do(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _move(process: RolloutProcess, holder: Held) -> None:
    for name, passenger in process.tries.items():
        share = MOVED * (passenger.seconds or 0.0) if passenger.accepted else 0.0
        patience = max(BLOCKED_S, share)
        if name != holder.name and holder.seconds >= patience and not passenger.moved.done():
            passenger.moved.set_result(f"a row blocks the event loop for others at {holder.where}")
