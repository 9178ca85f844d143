"""Worker processes that answer a line with a line, are kept for the next, and die where one takes too long."""

import atexit
import contextlib
import os
import subprocess
import threading
import weakref
from collections.abc import Sequence
from typing import Any


class LineWorkers:
    """Processes of one command, as many as there are processors and two.

    A worker limits its own CPU time. `wall_seconds` is for systems that cannot, and should be many times as much.
    """

    def __init__(self, command: Sequence[str], wall_seconds: float) -> None:
        self._command = list(command)
        self._wall_seconds = wall_seconds
        self._idle: list[subprocess.Popen[bytes]] = []
        self._turns = threading.BoundedSemaphore(2 + (os.cpu_count() or 1))
        _all.add(self)

    def ask(self, line: bytes) -> bytes | None:
        """Return a worker's reply to a line, or None if it died of it."""
        with self._turns:
            worker = self._take()
            reply = self._reply(worker, line)
            if reply is not None:
                self._idle.append(worker)
        return reply

    def end(self) -> None:
        """End all idle workers."""
        while self._idle:
            _end(self._idle.pop())

    def forget(self) -> None:
        """Forget all workers: a child process must not use the pipes of its parent's."""
        self._idle.clear()

    def _take(self) -> "subprocess.Popen[bytes]":
        """Return an idle worker, or a new one."""
        with contextlib.suppress(IndexError):
            while True:
                worker = self._idle.pop()
                if worker.poll() is None:
                    return worker
                _end(worker)
        environment = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
        pipe: Any = subprocess.PIPE
        return subprocess.Popen(  # noqa: S603 -- our own words
            self._command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment
        )

    def _reply(self, worker: "subprocess.Popen[bytes]", line: bytes) -> bytes | None:
        assert worker.stdin is not None
        assert worker.stdout is not None
        watch = threading.Timer(self._wall_seconds, worker.kill)
        watch.daemon = True
        watch.start()
        reply = b""
        try:
            with contextlib.suppress(OSError):
                worker.stdin.write(line)
                worker.stdin.flush()
                reply = worker.stdout.readline()
        finally:
            watch.cancel()
            watch.join()
            if not reply.endswith(b"\n") or worker.poll() is not None:
                _end(worker)
        return reply if reply.endswith(b"\n") else None


_all: "weakref.WeakSet[LineWorkers]" = weakref.WeakSet()


def _end(worker: "subprocess.Popen[bytes]") -> None:
    worker.kill()
    for stream in (worker.stdin, worker.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    worker.wait()


@atexit.register
def _end_all() -> None:
    for workers in list(_all):
        workers.end()


def _forget_all() -> None:
    for workers in list(_all):
        workers.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
