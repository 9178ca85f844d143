"""The workers that a server starts: processes of its own, watched, started again, and ended with it.

A worker knows that its server is gone, however that ended, by the end of its standard input.
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
"""The flag by which a worker knows that it belongs to a server."""
LOOK_S = 0.5
CALM_S = 30.0
"""A worker that lived so long is started again at once."""
LONGEST_S = 30.0
END_S = 20.0
"""Seconds that workers have to give back what they have when the server ends."""

_log = logging.getLogger(__name__)


class Children:
    """So many worker processes, for as long as this process lives."""

    def __init__(self, count: int, words: Sequence[str] = (), variables: Mapping[str, str] | None = None) -> None:
        self._command = [sys.executable, "-m", "mesocosm", "worker", ATTACHED, *words]
        self._environment = {**os.environ, **(variables or {})}
        self._places = [_Place() for _ in range(count)]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watch over workers", daemon=True)

    def start(self) -> None:
        """Start them all, and watch over them."""
        for place in self._places:
            self._begin(place)
        self._thread.start()

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that live."""
        listed = (place.process for place in self._places)
        return tuple(process.pid for process in listed if process is not None and process.poll() is None)

    def ask(self) -> None:
        """Ask all of them to end, and wait for none; may be called from a handler of signals."""
        self._over.set()
        for place in self._places:
            if place.process is not None:
                with suppress(OSError):
                    place.process.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """Ask all of them to end, and end those that do not."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        self.ask()
        living = [place.process for place in self._places if place.process is not None]
        deadline = time.monotonic() + END_S
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
        while not self._over.wait(LOOK_S):
            for place in self._places:
                process = place.process
                if process is not None and process.poll() is not None:
                    place.ended()
                    _log.warning(
                        "worker process %d ended with code %s; another one is started in %g s",
                        *(process.pid, process.returncode, place.pause),
                    )
                    if process.stdin is not None:
                        process.stdin.close()
                    place.process = None
                if place.process is None and time.monotonic() >= place.due:
                    self._begin(place)

    def _begin(self, place: "_Place") -> None:
        place.started = time.monotonic()
        try:
            place.process = subprocess.Popen(  # noqa: S603 - our own program, and no shell
                self._command, stdin=subprocess.PIPE, env=self._environment, start_new_session=True
            )
        except OSError as error:
            place.ended()
            _log.error("no worker could be started (%s); tried again in %g s", error.strerror, place.pause)


class _Place:
    """The place of one worker, and how long to wait before the next one takes it."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.started = 0.0
        self.pause = 0.0
        self.due = 0.0

    def ended(self) -> None:
        """Note that its worker is gone; one that never lived for long is waited for longer each time."""
        calm = time.monotonic() - self.started > CALM_S
        self.pause = 0.0 if calm else min(max(self.pause * 2, 1.0), LONGEST_S)
        self.due = time.monotonic() + self.pause
