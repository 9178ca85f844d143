"""Start, watch, restart and stop the worker processes of a server.

A worker detects that its server is gone by the end of its standard input, even after a crash.
"""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

ATTACHED = "--attached"
"""The flag of workers that belong to a server."""
POLL_S = 0.5
STABLE_S = 30.0
"""Seconds after which a worker counts as stable and is restarted without a pause."""
LONGEST_PAUSE_S = 30.0
STOP_S = 20.0
"""Seconds that workers have to return their work to the queue when the server stops, before they are killed."""

_log = logging.getLogger(__name__)


class WorkerSupervisor:
    """Keeps `count` worker processes running until it is stopped."""

    def __init__(self, count: int, words: Sequence[str] = (), variables: Mapping[str, str] | None = None) -> None:
        self._command = [sys.executable, "-m", "mesocosm", "worker", ATTACHED, *words]
        self._environment = {**os.environ, **(variables or {})}
        self._slots = [_WorkerSlot() for _ in range(count)]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="worker supervisor", daemon=True)

    def start(self) -> None:
        """Start all workers and the thread that restarts them."""
        for slot in self._slots:
            self._begin(slot)
        self._thread.start()

    @property
    def pids(self) -> tuple[int, ...]:
        """The ids of the living processes."""
        listed = (slot.process for slot in self._slots)
        return tuple(process.pid for process in listed if process is not None and process.poll() is None)

    def request_stop(self) -> None:
        """Send SIGTERM to all workers without waiting. Safe to call from a signal handler."""
        self._over.set()
        for slot in self._slots:
            if slot.process is not None:
                with suppress(OSError):
                    slot.process.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """Stop all workers, and kill any that has not ended after `STOP_S`."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        self.request_stop()
        living = [slot.process for slot in self._slots if slot.process is not None]
        deadline = time.monotonic() + STOP_S
        for process in living:
            try:
                process.wait(max(deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                _log.warning("worker process %d does not end, so it is killed", process.pid)
                process.kill()
                process.wait()
            if process.stdin is not None:
                process.stdin.close()

    def _watch(self) -> None:
        while not self._over.wait(POLL_S):
            for slot in self._slots:
                process = slot.process
                if process is not None and process.poll() is not None:
                    slot.ended()
                    _log.warning(
                        "worker process %d ended with code %s; another one is started in %g s",
                        *(process.pid, process.returncode, slot.pause),
                    )
                    if process.stdin is not None:
                        process.stdin.close()
                    slot.process = None
                if slot.process is None and time.monotonic() >= slot.due:
                    self._begin(slot)

    def _begin(self, slot: "_WorkerSlot") -> None:
        slot.started = time.monotonic()
        try:
            slot.process = subprocess.Popen(  # noqa: S603 - our own program, and no shell
                self._command, stdin=subprocess.PIPE, env=self._environment, start_new_session=True
            )
        except OSError as error:
            slot.ended()
            _log.error("no worker could be started (%s); tried again in %g s", error.strerror, slot.pause)


class _WorkerSlot:
    """One worker process, and the pause before it is replaced."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.started = 0.0
        self.pause = 0.0
        self.due = 0.0

    def ended(self) -> None:
        """Record that its process has ended; the pause doubles each time a process ends early."""
        stable = time.monotonic() - self.started > STABLE_S
        self.pause = 0.0 if stable else min(max(self.pause * 2, 1.0), LONGEST_PAUSE_S)
        self.due = time.monotonic() + self.pause
