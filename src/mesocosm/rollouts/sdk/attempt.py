"""One attempt to run an execution on a stage."""

import asyncio
import time
from collections.abc import Coroutine
from contextvars import Context
from typing import Any, Protocol

from mesocosm.rollouts.sdk.stage import Interrupted, Stage, acting

GIVE_UP_S = 0.25
"""So long after its deadline code may still clean up before it is given up; code that blocks its loop may not."""


class Piece(Protocol):
    """What is run on a stage, and told how that went. All but `play` may be called from any thread."""

    context: Context
    attempt: "Attempt | None"

    def play(self, attempt: "Attempt") -> Coroutine[Any, Any, Any]:
        """Run on the stage; what it returns is delivered."""
        ...

    def deliver(self, outcome: Any) -> None:
        """Take what came of it. Called at most once."""
        ...

    def given_up(self, attempt: "Attempt", where: str, *, blocking: bool) -> Any:
        """Return what to deliver for an attempt that outlived its deadline; `where` it is, if that is known."""
        ...

    def blocked(self, seconds: float, where: str) -> None:
        """Learn that this piece blocked its stage."""
        ...


class Attempt:
    """A piece on a stage. It may be moved to another stage until it has begun, and run again once when it is lost.

    `limit` is the time (of time.monotonic) at which it must have ended, later by what others took from it.
    """

    def __init__(self, piece: Piece, *, again: bool = False) -> None:
        self.piece = piece
        self.again = again
        self.stage: Stage | None = None
        self.limit: float | None = None
        self.where = ""  # where it blocked its stage
        self.cancelled = False
        self._task: asyncio.Task[Any] | None = None
        self._own_lost = 0.0
        self._lost_before = 0.0
        # Whoever takes the one token may begin, or end, the attempt: popping is atomic between threads.
        self._beginning = [True]
        self._end = [True]

    @property
    def over(self) -> bool:
        """Whether it has ended, or was lost or given up."""
        return not self._end

    @property
    def unbegun(self) -> bool:
        """Whether its code has not run yet."""
        return bool(self._beginning)

    def start(self, stage: Stage) -> None:
        """Have it begin on `stage`."""
        self.stage = stage
        stage.attempts.add(self)
        stage.crossing.post(self._begin, stage)

    def withdraw(self) -> bool:
        """Take it back from its stage; False when it has begun."""
        return self._took(self._beginning)

    def finish(self) -> bool:
        """Take the right to say what came of it; False when somebody else has."""
        return self._took(self._end)

    def abandon(self) -> bool:
        """Leave it to be cancelled when its stage comes back; False when it has ended already."""
        mine = self.finish()
        if mine and not self.withdraw() and self.stage is not None:
            self.stage.crossing.post(self._stop)
        return mine

    def cancel(self) -> None:
        """Cancel what runs; nothing is delivered any more."""
        self.cancelled = True
        self.finish()
        now = time.monotonic()
        self.limit = now if self.limit is None else min(self.limit, now)
        if self.stage is not None:
            self.stage.crossing.post(self._stop)

    def bound(self, seconds: float | None) -> None:
        """Say within how many seconds from now it must come to an end by itself; None is unbounded."""
        self.limit = None if seconds is None else time.monotonic() + seconds
        self._lost_before = self._stolen()

    def lost(self) -> float:
        """Return the seconds that others took from it since it was last bound."""
        return self._stolen() - self._lost_before

    def expired(self, now: float, *, blocking: bool) -> bool:
        """Whether it has outlived its limit; code that is `blocking` its loop gets no time to clean up."""
        if self.limit is None:
            return False
        return now > self.limit + self.lost() + (0.0 if blocking else GIVE_UP_S)

    def came_back(self, seconds: float) -> None:
        """Learn, on the stage, that its code let the loop go after so many seconds."""
        self._own_lost += seconds
        self.piece.blocked(seconds, self.where)

    def waits(self) -> Any:
        """Return the coroutine in which it is."""
        return None if self._task is None else self._task.get_coro()

    def _stolen(self) -> float:
        return (0.0 if self.stage is None else self.stage.lost) - self._own_lost

    def _begin(self, stage: Stage) -> None:
        if self.over:
            stage.attempts.discard(self)
        elif self.unbegun:
            context = self.piece.context.copy()
            context.run(acting.set, self)
            self._task = stage.loop.create_task(self._run(), context=context)
            self._task.add_done_callback(self._done)

    async def _run(self) -> None:
        if not self._took(self._beginning) or self.over:
            return
        outcome = await self._outcome()
        if self.finish():
            self.piece.deliver(outcome)

    def _done(self, task: asyncio.Task[Any]) -> None:
        if self.stage is not None:
            self.stage.attempts.discard(self)
        # Other code of users' may cancel whatever runs on its loop before it has begun.
        if self.finish():
            how = "cancelled it" if task.cancelled() else f"ended it ({type(task.exception()).__name__})"
            self.piece.deliver(RuntimeError(f"other code on its event loop {how}"))

    async def _outcome(self) -> Any:
        try:
            return await self.piece.play(self)
        except Interrupted as error:
            return error
        except Exception as error:  # noqa: BLE001 - whoever waits for the outcome gets it
            return error

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    @staticmethod
    def _took(token: list[bool]) -> bool:
        try:
            token.pop()
        except IndexError:
            return False
        return True
