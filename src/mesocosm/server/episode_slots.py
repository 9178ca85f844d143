"""Slots for the episodes of a worker, which all of its runs share fairly."""

import asyncio
from collections import deque


class EpisodeSlots:
    """A fixed number of slots for episodes; a free slot goes to the waiting run that holds the fewest.

    Slots of a paused run do not count, so others can use them. After its pause more slots than the limit may be in use
    for a while. Belongs to one event loop.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._runs: list[RunSlots] = []

    @property
    def busy(self) -> int:
        """Number of slots in use by runs that are not paused."""
        return sum(run.held for run in self._runs if not run.paused)

    def join(self) -> "RunSlots":
        """Return the slots of a new run. The caller must `end` them."""
        run = RunSlots(self)
        self._runs.append(run)
        return run

    def remove(self, run: "RunSlots") -> None:
        """Remove a run and release its slots."""
        if run in self._runs:
            self._runs.remove(run)
            run.held = 0
            self.assign()

    def assign(self) -> None:
        """Assign free slots to waiting runs."""
        while self.busy < self._limit:
            waiting = [run for run in self._runs if run.waits]
            if not waiting:
                return
            chosen = min(waiting, key=lambda run: run.held)
            # Move the run to the end, so that runs with equally many slots take turns.
            self._runs.remove(chosen)
            self._runs.append(chosen)
            chosen.waiting.popleft().set_result(None)
            chosen.held += 1


class RunSlots:
    """The slots of one run; `held` is their number."""

    def __init__(self, slots: EpisodeSlots) -> None:
        self.held = 0
        self.paused = False
        self.waiting: deque[asyncio.Future[None]] = deque()
        self._slots = slots

    @property
    def waits(self) -> bool:
        """Whether an episode of the run waits for a slot."""
        while self.waiting and self.waiting[0].done():
            self.waiting.popleft()
        return bool(self.waiting)

    async def acquire(self) -> None:
        """Wait for a slot."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append(turn)
        self._slots.assign()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Release one slot."""
        if self.held:
            self.held -= 1
            self._slots.assign()

    def pause(self, *, paused: bool) -> None:
        """Stop counting the slots while this run is paused, so that other runs can use them; or count them again."""
        self.paused = paused
        self._slots.assign()

    def end(self) -> None:
        """Release all slots and leave the pool."""
        self._slots.remove(self)
