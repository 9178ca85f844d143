"""Whether the event loop of this process still turns, asked from another thread."""

import asyncio
import sys
import threading
import time
import traceback


class Standstill:
    """Measures for how long an event loop has not turned. Make it on the thread of that loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread = threading.get_ident()
        self._asked: float | None = None
        self._longest = 0.0

    def longest(self) -> float:
        """Return the longest that it took to answer since the last call of this, in seconds."""
        found, self._longest = max(self._longest, self.seconds()), 0.0
        return found

    def seconds(self) -> float:
        """Return for how long the loop has owed an answer, 0.0 when it gave the last one; asks it the next time."""
        asked = self._asked
        if asked is not None:
            return time.monotonic() - asked
        self._asked = time.monotonic()
        try:
            self._loop.call_soon_threadsafe(self._answer)
        except RuntimeError:  # the loop is closed: nothing stands still
            self._asked = None
        return 0.0

    def where(self) -> str:
        """Return the stack of the loop's thread: what it is busy with."""
        frame = sys._current_frames().get(self._thread)  # noqa: SLF001 -- documented, in spite of its name
        return "".join(traceback.format_stack(frame, limit=20)) if frame is not None else ""

    def _answer(self) -> None:
        if self._asked is not None:
            self._longest = max(self._longest, time.monotonic() - self._asked)
        self._asked = None
