"""Taking turns at signing in: hashing takes long, and shall never take the threads that other routes run in."""

from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

from mesocosm.server.auth.passwords import AT_ONCE
from mesocosm.server.refusal import Refusal

MOST_WAITING = 24
"""Requests that wait for their turn, less than 100 ms each; more are asked to come again, before clients give up."""

Result = TypeVar("Result")


class Turns:
    """Runs what hashes passwords in threads of its own, few at once; who waits holds no thread."""

    def __init__(self) -> None:
        self._limiter: CapacityLimiter | None = None

    async def take(self, work: Callable[[], Result]) -> Result:
        """Return what `work` returns when it is its turn. Raises Refusal 503 when many are waiting already."""
        limiter = self._limiter = self._limiter or CapacityLimiter(AT_ONCE)
        if limiter.statistics().tasks_waiting >= MOST_WAITING:
            raise Refusal(503, "too many are signing in at this moment; try again", headers={"Retry-After": "2"})
        return await to_thread.run_sync(work, limiter=limiter)
