"""Metrics of runs in progress, computed in a separate thread at a rate limited by their cost."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from mesocosm.core.failure import MesocosmError
from mesocosm.core.run import Run, RunStatus
from mesocosm.core.score import MetricResult
from mesocosm.engine.metrics import of_rows
from mesocosm.server.cache import Cache
from mesocosm.server.permissions.visible_runs import VisibleRun, VisibleRuns

SHARE = 0.05
"""Maximum share of time spent on computing them: with a million stored episodes, each computation takes seconds."""

FEW = 500
"""Number of stored episodes up to which metrics are fast enough to be computed during a request."""
AT_ONCE = 8
"""Maximum number of such runs computed for one list."""
MOST = 1_000
"""Maximum number of runs with cached metrics."""

GOING = frozenset({RunStatus.PENDING, RunStatus.RUNNING})

Metrics = tuple[MetricResult, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """The metrics of a run when `done` of its episodes were stored."""

    done: int
    metrics: Metrics


class LatestMetrics:
    """The last computed metrics of runs in progress, as shown in lists. Thread-safe."""

    def __init__(self) -> None:
        self._known = Cache[Measured](MOST)

    def keep(self, run: VisibleRun, metrics: Metrics) -> None:
        """Store the metrics of `run` for its current number of episodes."""
        self._known.keep(_key(run), Measured(run.record.counts.done, metrics))

    def get(self, run: VisibleRun) -> Measured | None:
        """Return the last metrics computed in this session of the run, None if there are none."""
        return self._known.find(_key(run))

    def shown(self, runs: VisibleRuns, page: Iterable[VisibleRun]) -> list[Run]:
        """Return runs, those in progress with their metrics so far: cached, or computed now for short runs."""
        page = list(page)
        going = {run.id: run for run in page if run.record.status in GOING}
        due = [run.id for run in going.values() if 0 < run.record.counts.done <= FEW and self._outdated(run)]
        if due:
            self._measure(runs, due[:AT_ONCE])
        return [self._with_metrics(run) if run.id in going else run.record for run in page]

    def _outdated(self, run: VisibleRun) -> bool:
        known = self.get(run)
        return known is None or known.done != run.record.counts.done

    def _with_metrics(self, run: VisibleRun) -> Run:
        known = self.get(run)
        return msgspec.structs.replace(run.record, metrics=() if known is None else known.metrics)

    def _measure(self, runs: VisibleRuns, run_ids: Sequence[str]) -> None:
        # Some may be deleted in the meantime, or the store busy.
        with suppress(MesocosmError):
            # A run in a list lacks the definitions of its metrics.
            for run in runs.several(run_ids).values():
                self.keep(run, of_rows(run.record, run.score_rows()))


def _key(run: VisibleRun) -> tuple[str, float]:
    """Include the session: a continued run may have had the same number of episodes before, with other scores."""
    return run.key, run.record.provenance.get("session_at") or 0.0


LATEST = LatestMetrics()


class RunningMetrics:
    """The last known metrics of each run in progress. Thread-safe."""

    def __init__(self, runs: VisibleRuns, clock: Callable[[], float] = time.monotonic) -> None:
        self._runs = runs
        self._clock = clock
        self._known: dict[str, Measured] = {}
        self._fresh: set[str] = set()
        self._work: Future[None] | None = None
        self._next = 0.0
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="metrics so far")

    def of(self, run: Run) -> Metrics:
        """Return the last computed metrics of `run`, and start computing newer ones when that is due."""
        with self._lock:
            known = self._known.get(run.id)
            outdated = run.counts.done and (known is None or known.done != run.counts.done)
            idle = self._work is None or self._work.done()
            if outdated and idle and self._clock() >= self._next:
                self._work = self._pool.submit(self._measure, run.id)
        return known.metrics if known else ()

    def fresh(self) -> set[str]:
        """Return the ids of runs measured since the last call."""
        with self._lock:
            found, self._fresh = self._fresh, set()
        return found

    def forget(self, run_id: str) -> None:
        """Drop the metrics of a run that is over."""
        with self._lock:
            self._known.pop(run_id, None)

    def close(self) -> None:
        """Accept no more work, without waiting for running work."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _measure(self, run_id: str) -> None:
        start = self._clock()
        try:
            run = self._runs.get(run_id)
            measured = Measured(run.record.counts.done, of_rows(run.record, run.score_rows()))
            LATEST.keep(run, measured.metrics)
        except MesocosmError:
            measured = None  # deleted in the meantime, or the store is busy: the next poll tries again
        now = self._clock()
        with self._lock:
            self._next = now + (now - start) * (1 / SHARE - 1)
            if measured is not None:
                self._known[run_id] = measured
                self._fresh.add(run_id)
