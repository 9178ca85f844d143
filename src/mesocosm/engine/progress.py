"""Progress of a run, updated as episodes become durable."""

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import CallBudget, Planned, ScoreRow
from mesocosm.core.run import Counts, Run
from mesocosm.core.score import MetricResult
from mesocosm.core.usage import Usage
from mesocosm.engine.metrics import PARTS, Collected, measure_one

SHARE = 0.05
"""Maximum share of time to spend on the running score: for a million episodes it takes seconds."""


class Tracker:
    """Implements core.ports.Progress. Reading is thread-safe; everything else belongs to the event loop.

    The score is that of engine.metrics over the episodes stored so far, using 16 bytes per episode. With many episodes
    it is recomputed less often, and may be some seconds old. `budget`, once set, is what every call is charged to;
    `running` is the number of episodes in progress.
    """

    def __init__(self, run: Run, info: BenchmarkInfo) -> None:
        counts = run.counts
        self.run = run
        self.planned = counts.planned
        self.resumed = counts.done
        self.done = counts.done
        self.failed = counts.failed
        self._usage = run.usage
        self.budget: CallBudget | None = None
        self.retries = 0
        self.running = 0
        self._metric = next((metric for metric in info.metrics if metric.primary), None)
        self._unscored = info.unscored
        parts: Mapping[str, int] = run.info.get(PARTS) or {}
        self._part = None if self._metric is None else parts.get(self._metric.name)
        self._kept = Collected()
        self._lock = threading.Lock()
        self._score: MetricResult | None = None
        self._taken, self._of = 0, (-1, -1)
        self._due = 0.0
        self._started = time.monotonic()
        self._paused_at: float | None = None

    def follow(self, pending: Iterator[Planned]) -> Iterator[Planned]:
        """Yield pending episodes; `planned` follows a plan that grows during the run."""
        for taken, planned in enumerate(pending, self.resumed + 1):
            self.planned = max(self.planned, taken)
            yield planned

    def pause(self, paused: bool) -> None:
        """Leave the time until `pause(False)` out of the rate: a server does not answer, so nothing goes on."""
        now = time.monotonic()
        if self._paused_at is not None:
            self._started += now - self._paused_at
        self._paused_at = now if paused else None

    def add(self, episodes: Sequence[Episode]) -> None:
        """Count episodes that have become durable."""
        for episode in episodes:
            self.done += 1
            self.failed += episode.status is EpisodeStatus.FAILED
            self._usage = self._usage + episode.usage
            self.retries += episode.retries
            self._taken += 1
            for score in episode.scores:
                row = (episode.task_digest, episode.cluster, episode.trial, score.name)
                with self._lock:
                    self._take(self._kept, ScoreRow(*row, score.value, score.missing, score.worst))

    def earlier(self, rows: Iterable[ScoreRow]) -> Collected:
        """Return the scores of earlier sessions. May be called in another thread; pass the result to `merge`."""
        kept = Collected()
        for row in rows:
            self._take(kept, row)
        return kept

    def merge(self, kept: Collected) -> None:
        """Add scores collected elsewhere to the running score."""
        with self._lock:
            self._kept.merge(kept)
        self._taken += 1

    def _take(self, kept: Collected, row: ScoreRow) -> None:
        if self._metric is not None and row.name == self._metric.score:
            # A hash instead of a number for each task, so that only eight bytes are kept.
            kept.take(abs(hash(row.cluster or row.task)), row.value, row.missing, worst=row.worst)

    @property
    def usage(self) -> Usage:
        """Usage of finished and running episodes, as far as known."""
        spent = self._usage if self.budget is None else self.budget.spent
        # A program may report usage at its end that no call reported.
        return spent if spent.total >= self._usage.total else self._usage

    @property
    def rate(self) -> float:
        """Episodes per second since this process started working, without pauses."""
        seconds = (self._paused_at or time.monotonic()) - self._started
        return (self.done - self.resumed) / seconds if seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Expected seconds until nothing is pending; None while unknown, as during a pause."""
        known = self.done > self.resumed and self._paused_at is None
        return (self.planned - self.done) / self.rate if known else None

    @property
    def counts(self) -> Counts:
        """Planned and finished episodes, as far as this process knows."""
        return Counts(planned=self.planned, completed=self.done - self.failed, failed=self.failed)

    def score(self) -> MetricResult | None:
        """Return the primary metric over the episodes stored so far; None before the first value."""
        metric, now = self._metric, time.monotonic()
        state = (self._taken, self.planned)
        if metric is None or state == self._of or now < self._due:
            return self._score
        with self._lock:
            kept = Collected()
            kept.merge(self._kept)
        found = measure_one(metric, kept, self._part if metric.where else max(self.planned - self._unscored, 0))
        self._score, self._of = found if found.n_scored else None, state
        # Measured from the end of this computation: the longer it takes, the less often it is repeated.
        end = time.monotonic()
        self._due = end + (end - now) * (1 / SHARE - 1) if end - now > SHARE else 0.0
        return self._score
