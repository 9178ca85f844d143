"""Outages of an endpoint: the run pauses, retries from time to time, and gives up in the end."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

from mesocosm.core.backoff import Backoff
from mesocosm.core.failure import Boundary, Cause, EpisodeError

MOST_IN_A_ROW = 5
"""Consecutive failed calls that count as an outage."""

SOON_S = 5.0
"""Seconds without an answer after which two calls that found no server count as an outage.

A few callers wait ever longer between their tries, so that five failures in a row can take a minute.
"""

MOST_WORDS = 160
"""Maximum characters of an error in a notice; the full text is in the trace."""


def retried(error: EpisodeError) -> bool:
    """Return whether a failed model call suggests a problem of its server."""
    return error.rule.retried


class Endpoint:
    """The service that all episodes call. While it is `down`, one call at a time is let through, with growing waits.

    It is `silent` until it has answered once. `patience` is in seconds; after that time `given_up` is called with the
    reason, and waiting calls wait until they are cancelled. `counts` says which failures count against the endpoint,
    `changed` is called when `down` changes.
    """

    def __init__(
        self,
        name: str,
        patience: float,
        waits: Backoff,
        most: int = MOST_IN_A_ROW,
        *,
        notice: Callable[[str], None] = lambda message: None,
        given_up: Callable[[str], None] = lambda reason: None,
        counts: Callable[[EpisodeError], bool] = retried,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.down = False
        self.silent = True
        self._name = name
        self._patience = patience
        self._waits = waits
        self._most = max(most, 1)
        self._notice = notice
        self._given_up = given_up
        self._counts = counts
        self._changed = changed
        self._in_a_row = 0
        self._since = 0.0
        self._began = 0.0
        self._probes = 0
        self._free = False
        self._reported = False
        self._over = False
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self) -> None:
        """Wait until this call may be made while the endpoint is down."""
        if not self.down:
            return
        if self._free:
            self._free = False
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.left()
            raise

    def answered(self) -> None:
        """Record that a call was answered, with any answer: all waiting calls continue."""
        self._in_a_row, self.silent = 0, False
        if not self.down:
            return
        self.down = self._free = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._changed()
        if self._reported:
            self._reported = False
            self._notice(f"{self._name} answers again after {time.monotonic() - self._began:.0f} s; the run goes on")
        waiting, self._waiting = self._waiting, deque()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def reach(self, check: Callable[[], Awaitable[None]]) -> None:
        """Return once `check` succeeds; its first failure starts an outage.

        Raises failures that do not count against the endpoint. It stays `silent`: it may answer a check but no call.
        """
        silent = self.silent
        while True:
            await self.enter()
            try:
                await check()
            except EpisodeError as error:
                if not self._counts(error):
                    raise
                self.failed(error, at_once=True)
            else:
                self.answered()
                self.silent = silent
                return

    def failed(self, error: EpisodeError, *, at_once: bool = False) -> bool:
        """Record a failed call; return whether it may be repeated without limit, because the endpoint is down.

        A failure that the request itself may have caused is not repeated without limit, since another request may be
        answered. With `at_once`, the first failure starts an outage, and its notice is sent immediately.
        """
        if not self._counts(error):
            self.answered()
            return False
        if not self._in_a_row:
            self._began, self._since = time.monotonic(), time.time()
        self._in_a_row += 1
        long = self._in_a_row > 1 and time.monotonic() - self._began >= SOON_S and _is_of_the_server(error)
        if not self.down and (at_once or self._in_a_row >= self._most or (long and not error.overload)):
            self.down, self._probes = True, 0
            self._changed()
        if self.down and self._timer is None and not self._free:
            self._next(error, at_once=at_once)
        return self.down and _is_of_the_server(error)

    def left(self) -> None:
        """Record that a call ended without saying anything about the endpoint, such as a cancelled one."""
        if self.down and self._timer is None and not self._free:
            self._wake()

    def _next(self, error: EpisodeError, *, at_once: bool) -> None:
        """Schedule the next call, or give up. The first one sends no notice, unless `at_once` or after SOON_S."""
        self._probes += 1
        wait = self._waits.wait(self._probes, error.retry_after)
        gone = time.monotonic() - self._began
        since = time.strftime("%H:%M:%S", time.localtime(self._since))
        words = _first_words(error)
        if gone >= self._patience:
            if not self._over:
                self._over = True
                self._given_up(f"{self._name} has not answered since {since}, for {gone:.0f} s: {_first_line(error)}")
            return
        wait = min(wait, max(self._patience - gone, 0.0) + 0.05)
        if self._probes > 1 or at_once or gone >= SOON_S:
            what = "still does not answer" if self._reported else f"has not answered since {since}: {words}"
            self._reported = True
            self._notice(f"{self._name} {what}; next try in {wait:.1f} s")
        self._timer = asyncio.get_running_loop().call_later(wait, self._wake)

    def _wake(self) -> None:
        """Let one call through."""
        self._timer = None
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
                return
        self._free = True


def _first_words(error: EpisodeError) -> str:
    """Return the first line of a failure's message, truncated to fit a terminal line."""
    line = _first_line(error)
    return line if len(line) <= MOST_WORDS else f"{line[: MOST_WORDS - 1]}…"


def _first_line(error: EpisodeError) -> str:
    """Return the first line of a failure's message, which ends with the remedy."""
    return next(iter(str(error).splitlines()), "") or error.cause.value


def _is_of_the_server(error: EpisodeError) -> bool:
    """Return whether the request itself cannot have caused the failure."""
    if error.rule.boundary is not Boundary.MODEL:
        return True
    return error.overload or (error.cause is Cause.MODEL_UNAVAILABLE and error.status != 500)
