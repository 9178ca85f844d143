"""Threads for the blocking calls that users' code gives away with `asyncio.to_thread` or `run_in_executor`."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MOST = 256
"""So many calls run at once; Python's own default of a few per core would make rollouts wait for each other."""


class DaemonExecutor(ThreadPoolExecutor):
    """Runs calls on daemon threads: one that never returns does not keep the process from ending.

    Of ThreadPoolExecutor it is only in name, for an event loop takes nothing else as its default.
    """

    def __init__(self, most: int = MOST) -> None:
        super().__init__(max_workers=1)
        self._most = most
        self._running = 0
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._guard = threading.Lock()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Have `fn` called, and return the future of what it returns."""
        future: Future[T] = Future()
        with self._guard:
            self._waiting.append((future, lambda: fn(*args, **kwargs)))
            begin = self._running < self._most
            self._running += begin
        if begin:
            threading.Thread(target=self._work, name="rollout helper", daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for nothing; calls that have not begun are cancelled where that is asked for."""
        del wait
        with self._guard:
            waiting = list(self._waiting) if cancel_futures else []
        for future, _ in waiting:
            future.cancel()
        super().shutdown(wait=False)

    def _work(self) -> None:
        while True:
            with self._guard:
                if not self._waiting:
                    self._running -= 1
                    return
                future, call = self._waiting.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = call()
            except BaseException as error:  # noqa: BLE001 - it belongs to whoever awaits the call
                future.set_exception(error)
            else:
                future.set_result(result)
