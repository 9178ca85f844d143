"""Start a server of an environment again after it has exited, unless it keeps exiting."""

import time
from collections import deque
from collections.abc import Awaitable, Callable

from mesocosm.core.failure import Cause, EpisodeError, RunAborted
from mesocosm.environments.launch import Launched, quoted

MOST = 30
WINDOW_S = 60.0
"""A server that exits more than MOST times in WINDOW_S seconds is broken and is not started again."""


class Restarts:
    """Restarts of one server, called `what` in messages."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._times: deque[float] = deque()

    async def again(
        self, ended: Launched, start: Callable[[], Awaitable[Launched]], notice: Callable[[str], None]
    ) -> Launched:
        """Stop what is left of a server, and return it as `start` starts it.

        Raises RunAborted if it exits too often; EpisodeError (environment_unreachable) if it does not start.
        """
        how = await ended.exited()
        now = time.monotonic()
        while self._times and self._times[0] < now - WINDOW_S:
            self._times.popleft()
        if len(self._times) >= MOST:
            raise RunAborted(
                f"{how}, {MOST + 1} times within {WINDOW_S:g} s, so it is not started again{quoted(ended.stderr())}"
            )
        self._times.append(now)
        notice(f"{how}; starting it again")
        await ended.process.stop()
        try:
            return await start()
        except RunAborted as error:
            # It started before, so the problem may be temporary.
            reason = f"the {self._what} does not start again: {error}"
            raise EpisodeError(Cause.ENVIRONMENT_UNREACHABLE, reason) from error
