"""Episode slots, shared fairly between the runs of one worker."""

import asyncio
from collections import deque


class EpisodeSlots:
    """A fixed number of slots; a free one goes to the waiting run that holds the fewest.

    The slots of a paused run are lent to the others. After its pause more slots than the limit may be taken for a
    while. Belongs to one event loop.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._runs: list[RunSlots] = []

    def join(self) -> "RunSlots":
        """Return the share of a new run; it has to `end` it."""
        run = RunSlots(self)
        self._runs.append(run)
        return run

    def remove(self, run: "RunSlots") -> None:
        """Take back everything that a run holds."""
        if run in self._runs:
            self._runs.remove(run)
            run.held = 0
            self.assign()

    def assign(self) -> None:
        """Give free slots to those that wait."""
        while sum(run.held for run in self._runs if not run.paused) < self._limit:
            waiting = [run for run in self._runs if run.waits]
            if not waiting:
                return
            chosen = min(waiting, key=lambda run: run.held)
            # The run served last goes behind those that hold as many.
            self._runs.remove(chosen)
            self._runs.append(chosen)
            chosen.waiting.popleft().set_result(None)
            chosen.held += 1


class RunSlots:
    """The share of one run; `held` is its number of slots."""

    def __init__(self, slots: EpisodeSlots) -> None:
        self.held = 0
        self.paused = False
        self.waiting: deque[asyncio.Future[None]] = deque()
        self._slots = slots

    @property
    def waits(self) -> bool:
        """Whether it waits for a slot."""
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
        """Give a slot back."""
        if self.held:
            self.held -= 1
            self._slots.assign()

    def pause(self, *, paused: bool) -> None:
        """Lend the slots to other runs while this one cannot play, or count them again."""
        self.paused = paused
        self._slots.assign()

    def end(self) -> None:
        """Give all slots back and ask for none."""
        self._slots.remove(self)
