"""Metrics of runs that are still going on, computed in a thread of its own at a pace that follows what they cost."""

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import msgspec

from mesocosm.core.failure import MesocosmError
from mesocosm.core.run import Run, RunStatus
from mesocosm.core.score import MetricResult
from mesocosm.engine.metrics import of_rows
from mesocosm.server.cache import Cache
from mesocosm.server.permissions.visible_runs import VisibleRun, VisibleRuns

SHARE = 0.05
"""The part of the time that is spent on them at most: a million stored episodes take seconds each time."""

FEW = 500
"""Stored episodes whose metrics take so little time that nobody needs to wait for another to compute them."""
AT_ONCE = 20
"""Runs of few episodes that are computed for one list at most."""
MOST = 1_000
"""Runs whose metrics are remembered."""

GOING = frozenset({RunStatus.PENDING, RunStatus.RUNNING})

Metrics = tuple[MetricResult, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """The metrics of a run when `done` of its episodes were stored."""

    done: int
    metrics: Metrics


class LatestMetrics:
    """The metrics of runs that go on as somebody computed them last: what lists show. May be used from any thread."""

    def __init__(self) -> None:
        self._known = Cache[Measured](MOST)

    def keep(self, run: VisibleRun, metrics: Metrics) -> None:
        """Remember the metrics of `run` as it was when they were computed."""
        self._known.keep(_key(run), Measured(run.record.counts.done, metrics))

    def get(self, run: VisibleRun) -> Measured | None:
        """Return what was computed last in this session of the run."""
        return self._known.find(_key(run))

    def shown(self, runs: VisibleRuns, page: Iterable[VisibleRun]) -> list[Run]:
        """Return runs with the metrics so far of those that go on: known ones, or at once where they are few."""
        found, left = [], AT_ONCE
        for run in page:
            record = run.record
            if record.status not in GOING:
                found.append(record)
                continue
            known = self.get(run)
            if left and 0 < record.counts.done <= FEW and (known is None or known.done != record.counts.done):
                known, left = self._measured(runs, run.id) or known, left - 1
            found.append(msgspec.structs.replace(record, metrics=() if known is None else known.metrics))
        return found

    def _measured(self, runs: VisibleRuns, run_id: str) -> Measured | None:
        try:
            run = runs.get(run_id)  # a run of a list lacks what its metrics are
            self.keep(run, of_rows(run.record, run.score_rows()))
        except MesocosmError:
            return None  # deleted meanwhile, or the store is busy
        return self.get(run)


def _key(run: VisibleRun) -> tuple[str, float]:
    """A run that is continued may have had the same number of episodes before, and other scores."""
    return run.key, run.record.provenance.get("session_at") or 0.0


LATEST = LatestMetrics()


class RunningMetrics:
    """The latest known metrics of each run that goes on. Its methods may be called from any thread."""

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
        """Return the metrics of `run` as they were when last computed; newer ones are asked for when it is time."""
        with self._lock:
            known = self._known.get(run.id)
            outdated = run.counts.done and (known is None or known.done != run.counts.done)
            idle = self._work is None or self._work.done()
            if outdated and idle and self._clock() >= self._next:
                self._work = self._pool.submit(self._measure, run.id)
        return known.metrics if known else ()

    def fresh(self) -> set[str]:
        """Return the runs that were measured since the last call."""
        with self._lock:
            found, self._fresh = self._fresh, set()
        return found

    def forget(self, run_id: str) -> None:
        """Drop what is known of a run that is over."""
        with self._lock:
            self._known.pop(run_id, None)

    def close(self) -> None:
        """Take no more work, without waiting for what is under way."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _measure(self, run_id: str) -> None:
        start = self._clock()
        try:
            run = self._runs.get(run_id)
            measured = Measured(run.record.counts.done, of_rows(run.record, run.score_rows()))
            LATEST.keep(run, measured.metrics)
        except MesocosmError:
            measured = None  # deleted meanwhile, or the store is busy: the next look tries again
        now = self._clock()
        with self._lock:
            self._next = now + (now - start) * (1 / SHARE - 1)
            if measured is not None:
                self._known[run_id] = measured
                self._fresh.add(run_id)
