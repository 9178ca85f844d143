"""The way from other threads into an event loop."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import Any


class Crossing:
    """Calls functions on a loop from other threads.

    Waking a loop costs a system call, so all that is posted before it wakes crosses together.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._posted: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self._called = False

    def post(self, function: Callable[..., object], *arguments: Any) -> None:
        """Have `function` called on the loop. After the loop was closed nothing happens."""
        self._posted.append((function, arguments))
        if not self._called:
            self._called = True
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._arrive)

    def _arrive(self) -> None:
        # First: what is posted from here on may come too late for this round, and must call again.
        self._called = False
        posted = self._posted
        while posted:
            function, arguments = posted.popleft()
            function(*arguments)
