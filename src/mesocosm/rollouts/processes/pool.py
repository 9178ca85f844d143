"""The processes of a rollout: shared by all rows until a row blocks one; from then on, one process per running row."""

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress

from mesocosm.core.failure import Cause, EpisodeError, RunAborted
from mesocosm.rollouts.processes.process import Launch, ProcessSlot, WorkerProcess

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

LANES = 4 * CORES
"""Maximum number of processes with one row each. More would slow each other down."""

CROWDED = 4
"""Number of rows per shared process at which another process is started."""

STARTS = 3
"""Number of consecutive failed starts after which no more are tried."""

UNLIMITED = 1_000_000
LOOK_S = 0.25
BLOCKED_S, WINDOW_S = 1.0, 2.0
"""If rows hold the event loop for BLOCKED_S of WINDOW_S seconds, all others wait, and it would happen again."""

MOVED = 0.25
"""A row moves to another process once a neighbour has held the event loop for this share of its time. Moving discards
the row's progress, so short waits are better."""

_GRACE_S = 1.0


class WorkerPool:
    """Starts processes by `launch`, assigns them to rows, and ends those that are no longer usable.

    Rows share at most `workers` processes; after a row
    has blocked one (`isolated`), at most `most` rows run, each in its own process.
    """

    def __init__(self, launch: Launch, workers: int, most: int | None, notice: Callable[[str], None]) -> None:
        self._launch = launch
        self._workers = workers
        self._most = most
        self._notice = notice
        self.isolated = False
        self.capacity: int | None = None
        self._shared: list[WorkerProcess] = []
        self._idle: list[WorkerProcess] = []
        self._alive: set[WorkerProcess] = set()
        self._failed = 0
        self._growing = False
        self._starting = asyncio.Lock()
        self._starts = asyncio.Semaphore(CORES)
        self._slots = asyncio.Semaphore(UNLIMITED)
        self._lanes = asyncio.Semaphore(LANES)
        self._tasks: set[asyncio.Task[None]] = set()
        self._watch: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Start the first process. Raises RunAborted."""
        first = await self._begin()
        self._shared.append(first)
        self.capacity = first.transport.capacity
        if not first.transport.shareable:
            self._workers = 1
        self._slots = asyncio.Semaphore(self.capacity or UNLIMITED)
        self._watch = asyncio.create_task(self._look())

    async def take(self) -> ProcessSlot:
        """Return a process for one row, for `give_back` afterwards. Raises EpisodeError (rollout_failed), RunAborted.

        Rows wait here rather than in the process, because there the wait would count against the row's time.
        """
        if not self.isolated:
            await self._slots.acquire()
            try:
                process = await self._together()
            except BaseException:
                self._slots.release()
                raise
            if process is not None:
                return ProcessSlot(process, alone=False)
            self._slots.release()
        return ProcessSlot(await self._alone(), alone=True)

    async def _together(self) -> WorkerProcess | None:
        """Return the shared process with the fewest rows, or None once rows are isolated."""
        while not self.isolated:
            usable = [process for process in self._shared if process.usable]
            if usable:
                chosen = min(usable, key=lambda process: len(process.attempts))
                if len(chosen.attempts) >= CROWDED and len(usable) < self._workers and not self._growing:
                    self._growing = True
                    self._do(self._grow())
                return chosen
            async with self._starting:
                if not self.isolated and not any(process.usable for process in self._shared):
                    self._share(await self._restarted())
        return None

    async def _grow(self) -> None:
        """Start one more shared process. If that fails, rows continue without it."""
        try:
            with suppress(EpisodeError, RunAborted):
                self._share(await self._begin())
        finally:
            self._growing = False

    async def _alone(self) -> WorkerProcess:
        """Return a process without other rows."""
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

    def give_back(self, slot: ProcessSlot) -> None:
        """Return a process to the pool after its row, and end it if it cannot be used again."""
        process = slot.process
        (self._lanes if slot.alone else self._slots).release()
        if slot.alone:
            if process.usable:
                self._idle.append(process)
            else:
                self.end(process)
        elif process.lost.done() or (not process.attempts and (process.retired or process not in self._shared)):
            self.end(process)

    def isolate(self, why: str) -> None:
        """Run each row in its own process from now on."""
        if self.isolated:
            return
        self.isolated = True
        sizes = [size for size in (self._most, self.capacity) if size is not None]
        lanes = min([*sizes, max(LANES, self._workers)])
        self._lanes = asyncio.Semaphore(lanes)
        self._notice(f"rollout: {why}; from now on each row in flight has a process of its own (at most {lanes})")
        shared, self._shared = self._shared, []
        for process in shared:
            if process.usable and not process.attempts:
                self._idle.append(process)
            elif process.lost.done() or not process.attempts:
                self.end(process)

    def abandon(self, slot: ProcessSlot, name: str) -> None:
        """Cancel an abandoned row in its process. A process that cannot cancel it is replaced."""
        if slot.alone:
            slot.process.retired = True
        elif not slot.process.lost.done():
            self._do(self._cancel(slot.process, name))

    def end(self, process: WorkerProcess) -> None:
        """End a process in the background."""
        process.retired = True
        if process in self._alive:
            self._alive.discard(process)
            self._do(process.stop())

    async def close(self) -> None:
        """End all processes and wait for them."""
        if self._watch is not None:
            self._watch.cancel()
        alive, self._alive = self._alive, set()
        await asyncio.gather(*(process.stop(_GRACE_S) for process in alive), *self._tasks, return_exceptions=True)

    async def _look(self) -> None:
        """Isolate rows once one blocks a shared event loop for long, and move others away if that costs them much time.

        The row that blocks the loop stays in its process, alone.
        """
        busy: dict[WorkerProcess, deque[float]] = {}
        while not self.isolated:
            await asyncio.sleep(LOOK_S)
            for process in self._shared:
                seen = busy.setdefault(process, deque(maxlen=round(WINDOW_S / LOOK_S) + 1))
                if len(process.attempts) < 2 or process.lost.done():
                    seen.clear()
                    continue
                seen.append(sum(held.seconds for held in process.held().values()))
                holder = process.holder()
                if seen[-1] - seen[0] >= BLOCKED_S or holder.seconds >= BLOCKED_S:
                    at = f" at {holder.where}" if holder.where else ""
                    self.isolate(f"a row blocks the event loop for others{at}")
                    self._do(self._move(process))
                    break

    async def _move(self, process: WorkerProcess) -> None:
        """Move rows away from a process while one of them holds its event loop."""
        while len(process.attempts) > 1 and not process.lost.done():
            holder = process.holder()
            for name, attempt in list(process.attempts.items()):
                share = MOVED * (attempt.seconds or 0.0) if attempt.accepted else 0.0
                if name != holder.name and holder.seconds >= max(BLOCKED_S, share):
                    attempt.move(f"a row blocks the event loop for others at {holder.where}")
            await asyncio.sleep(LOOK_S)

    async def _cancel(self, process: WorkerProcess, name: str) -> None:
        if await process.transport.cancel(name):
            return
        process.wear()
        # Such a row occupies its slot in the server forever.
        process.retired = process.retired or process.abandoned * 4 >= (process.transport.capacity or 1000)
        if process.retired and not process.attempts:
            self.end(process)

    def _share(self, process: WorkerProcess) -> None:
        (self._idle if self.isolated else self._shared).append(process)

    async def _restarted(self) -> WorkerProcess:
        try:
            return await self._begin()
        except RunAborted as error:
            self._failed += 1
            if self._failed >= STARTS:
                raise
            raise EpisodeError(Cause.ROLLOUT_FAILED, str(error)) from error

    async def _begin(self) -> WorkerProcess:
        process = await self._launch.start()
        self._failed = 0
        self._alive.add(process)
        self._shared = [other for other in self._shared if other.usable or other.attempts]
        return process

    def _do(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
