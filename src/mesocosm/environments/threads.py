"""Threads for foreign calls that may never return.

The pool of the standard library waits for its threads when the process ends, so that one stuck call would keep a server
alive after Ctrl-C. These threads are daemons: they end with the process.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any


class Threads:
    """Runs calls in at most `most` threads; one is started when all others are busy, further calls wait."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._started = 0
        self._busy = 0
        self._jobs: SimpleQueue[tuple[Callable[[], Any], asyncio.AbstractEventLoop, asyncio.Future[Any]]] = (
            SimpleQueue()
        )

    async def run(self, call: Callable[[], Any]) -> Any:
        """Return what `call` returns, without blocking the running loop. `call` must not raise."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._busy += 1
        if self._busy > self._started < self._most:
            self._started += 1
            threading.Thread(target=self._work, name=f"episode-{self._started}", daemon=True).start()
        self._jobs.put((call, loop, future))
        return await future

    def _work(self) -> None:
        while True:
            call, loop, future = self._jobs.get()
            result = call()
            with suppress(RuntimeError):  # the loop is closed, so nobody waits for the result
                loop.call_soon_threadsafe(self._finish, future, result)
            del call, loop, future, result  # while this thread waits it must not keep an episode alive

    def _finish(self, future: asyncio.Future[Any], result: Any) -> None:
        self._busy -= 1
        if not future.cancelled():
            future.set_result(result)
