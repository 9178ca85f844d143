"""The time that a workflow or a grader has."""

import asyncio
import time
from typing import Any, Self

from mesocosm.rollouts.sdk.attempt import Attempt


class Clock:
    """Cancels a task when its time is over, not counting what others took by blocking its stage."""

    def __init__(self, attempt: Attempt, seconds: float | None) -> None:
        self.fired = False
        self._attempt = attempt
        self._seconds = seconds
        self._handle: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[Any] | None = None
        self._started = 0.0

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        self._attempt.bound(self._seconds)
        if self._seconds is not None:
            self._task = asyncio.current_task()
            self._handle = asyncio.get_running_loop().call_later(self._seconds, self._due)
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            self._handle.cancel()
        if self.fired and self._task is not None:
            self._task.uncancel()

    @property
    def over(self) -> bool:
        """Whether the time is over, also where code came back too late to be cancelled."""
        return self.fired or (self._seconds is not None and self._left() < 0)

    def _left(self) -> float:
        assert self._seconds is not None
        return self._seconds - (time.monotonic() - self._started) + self._attempt.lost()

    def _due(self) -> None:
        assert self._task is not None
        left = self._left()
        if left > 0:
            self._handle = self._task.get_loop().call_later(left, self._due)
            return
        self.fired = True
        self._task.cancel()
