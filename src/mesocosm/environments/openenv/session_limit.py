"""How many sessions a server has for us: it refuses more than it takes, and nothing says beforehand how many."""

import asyncio
from collections import deque
from collections.abc import Callable


class SessionLimit:
    """Lets so many episodes have a session at a time as the server has taken; the others wait for one.

    `limit` is None until the server refuses a session. It rises by one with each session that ends, up to the maximum
    that the server reported, because others may have left. `notice` is called with the first refusal.
    """

    def __init__(self, notice: Callable[[str], None]) -> None:
        self.limit: int | None = None
        self.open = 0
        self._most: int | None = None
        self._notice = notice
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Wait until another session may be opened. Call `leave` once it has ended."""
        while self.limit is not None and self.open >= self.limit:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._wake()
                raise
        self.open += 1

    def leave(self) -> None:
        """Report that a session has ended."""
        self.open -= 1
        if self.limit is not None and (self._most is None or self.limit < self._most):
            self.limit += 1
        self._wake()

    def refused(self, most: int | None) -> None:
        """Report that the server refused the session that was just entered; `most` is what it says that it takes."""
        self.open -= 1
        if self.limit is None:
            takes = "no more episodes" if most is None else f"at most {most} episode{'s' * (most != 1)}"
            self._notice(f"the OpenEnv server takes {takes} at a time; further ones wait for their turn")
        self._most = most
        self.limit = max(min(self.open, self.limit or self.open), 1)
        self._wake()

    def _wake(self) -> None:
        """Let as many wait no longer as there is room for."""
        room = len(self._waiting) if self.limit is None else self.limit - self.open
        while room > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                room -= 1
