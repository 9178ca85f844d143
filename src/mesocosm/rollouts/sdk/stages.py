"""All stages of a backend, and the watcher that finds out who blocks one."""

import logging
import sys
import threading
import time
import weakref

from mesocosm.rollouts.sdk import whereabouts
from mesocosm.rollouts.sdk.attempt import Attempt, Piece
from mesocosm.rollouts.sdk.stage import Held, Stage

TICK_S = 0.05
"""So often the watcher looks."""

BLOCKED_S = 0.25
"""Who holds a loop for so long blocks it. Many who each hold it shorter do not: threads would not make them faster."""

MOST = 256
"""So many stages there are at most; further executions share them."""

SWITCH_S = 0.001
"""So often threads take turns once code blocks: with Python's 5 ms a few endless loops would starve all the others."""

log = logging.getLogger(__name__)


class Stages:
    """Puts pieces on stages and watches them.

    They share one stage until somebody blocks it (`isolated`). A stage on which a deadline passes unheeded is given up:
    that piece is told so, and the others that were on it are run again from their beginning, each with its time anew.
    """

    def __init__(self) -> None:
        self.isolated = False
        self._shared: Stage | None = None
        self._own: list[Stage] = []
        self._deserted: list[Stage] = []
        self._leaving: list[Stage] = []
        self._found_at: set[str] = set()
        self._lock = threading.RLock()
        self._watcher: threading.Thread | None = None
        self._closed = threading.Event()

    def submit(self, piece: Piece) -> Attempt:
        """Have `piece` run, and return the attempt at it. Raises RuntimeError after `close`."""
        if self._closed.is_set():
            raise RuntimeError("this backend was closed; make a new one")
        if self._watcher is None:
            self._watch()
        return self._start(Attempt(piece))

    def close(self) -> None:
        """Stop all stages; what still runs there is cancelled, or left alone where it cannot be."""
        self._closed.set()
        with self._lock:
            for stage in self._all():
                stage.stop()
            self._shared, self._own, self._deserted = None, [], []

    def look(self, now: float) -> None:
        """Look at every stage once: who blocks it, who has outlived his deadline."""
        with self._lock:
            for stage in self._all():
                self._inspect(stage, now)
            for stage in [stage for stage in self._deserted if not stage.attempts]:
                self._deserted.remove(stage)
                self._end(stage)
            self._leaving = [stage for stage in self._leaving if stage.alive]
            for stage in self._leaving:
                stage.interrupt()

    def _all(self) -> list[Stage]:
        shared = [] if self._shared is None else [self._shared]
        return [*shared, *self._own, *self._deserted]

    def _start(self, attempt: Attempt) -> Attempt:
        with self._lock:
            attempt.piece.attempt = attempt
            attempt.start(self._free())
        return attempt

    def _free(self) -> Stage:
        """Return a stage for one more attempt."""
        if not self.isolated:
            if self._shared is None:
                self._shared = Stage()
            return self._shared
        for stage in self._own:
            if not stage.attempts:
                return stage
        if len(self._own) >= MOST:
            return min(self._own, key=lambda stage: len(stage.attempts))
        stage = Stage()
        self._own.append(stage)
        return stage

    def _inspect(self, stage: Stage, now: float) -> None:
        if not stage.attempts:
            return
        owed = stage.ask(now)
        held = stage.look(now) if owed >= TICK_S else None
        if held is not None and held.seconds > BLOCKED_S:
            self._found(stage, held)
        for attempt in tuple(stage.attempts):
            blocking = held is not None and held.attempt is attempt
            overdue = attempt in stage.attempts and attempt.expired(now, blocking=blocking)
            if overdue and not self._excused(attempt, stage, held):
                self._expire(stage, attempt, late=blocking or owed > BLOCKED_S)

    def _found(self, stage: Stage, held: Held) -> None:
        """Remember who blocks a stage; what has not begun there moves to stages of its own."""
        where = held.where
        if where not in self._found_at:
            self._found_at.add(where)
            log.warning("a rollout blocks its event loop at %s; each rollout gets a thread of its own now", where)
        held.attempt.where = where
        if not self.isolated:
            self.isolated = True
            self._desert(stage)
            sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_S))
        for attempt in tuple(stage.attempts):
            if attempt.unbegun and attempt.withdraw():
                # Its task may wait on the loop already; what comes of that is nothing any more.
                attempt.finish()
                stage.attempts.discard(attempt)
                self._start(Attempt(attempt.piece, again=attempt.again))

    def _excused(self, attempt: Attempt, stage: Stage, held: Held | None) -> bool:
        """Whether another one holds the stage; it waits for its end, or moves when that one may hold on forever."""
        if stage.suspect is None or stage.suspect is attempt:
            return False
        if held is not None and held.attempt.limit is None and held.seconds > BLOCKED_S:
            self._again(stage, attempt)
        return True

    def _expire(self, stage: Stage, attempt: Attempt, *, late: bool) -> None:
        """Give up an attempt, and its stage: no other code is to run where it may still be running."""
        where = whereabouts.of_thread(stage.ident) if late else whereabouts.of_coroutine(attempt.waits())
        stage.attempts.discard(attempt)
        self._desert(stage)
        if late:
            for other in tuple(stage.attempts):
                self._again(stage, other)
        if attempt.finish():
            attempt.piece.deliver(attempt.piece.given_up(attempt, where, blocking=late))

    def _again(self, stage: Stage, attempt: Attempt) -> None:
        """Run what a stage took down with it once more."""
        stage.attempts.discard(attempt)
        if attempt.abandon():
            self._start(Attempt(attempt.piece, again=True))

    def _desert(self, stage: Stage) -> None:
        """Put nothing on this stage any more; it ends once all there have ended."""
        if stage is self._shared:
            self._shared = None
        if stage in self._own:
            self._own.remove(stage)
        if stage not in self._deserted:
            self._deserted.append(stage)

    def _end(self, stage: Stage) -> None:
        stage.stop()
        self._leaving.append(stage)

    def _watch(self) -> None:
        with self._lock:
            if self._watcher is None:
                # Only a weak reference: a backend that nobody needs any more ends its threads.
                own = weakref.ref(self, lambda _: closed.set())
                closed = self._closed
                self._watcher = threading.Thread(target=_watch, args=(own, closed), name="rollout watcher", daemon=True)
                self._watcher.start()

    def __del__(self) -> None:
        for stage in self._all():
            stage.stop()


def _watch(reference: "weakref.ref[Stages]", closed: threading.Event) -> None:
    while not closed.wait(TICK_S):
        stages = reference()
        if stages is None:
            return
        try:
            stages.look(time.monotonic())
        except Exception:
            log.exception("the watcher of the rollouts' threads failed once")
        del stages
