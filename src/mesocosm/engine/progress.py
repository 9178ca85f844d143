"""Where a run stands, kept up to date as episodes become durable."""

import math
import time
from collections.abc import Iterable, Iterator, Sequence

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Planned, ScoreRow
from mesocosm.core.run import Counts, Run
from mesocosm.core.score import Metric, MetricResult
from mesocosm.core.usage import Usage
from mesocosm.engine.metrics import declared_worst
from mesocosm.engine.scheduler import Scheduler
from mesocosm.stats import wilson

Z95 = 1.959963984540054


class Tracker:
    """Implements core.ports.Progress in constant memory.

    The score is a running one: pass rates and means alone, from sums, without clusters, and without failures of the
    agent where no declared bound says what they count as; the final numbers come from engine.metrics.
    """

    def __init__(self, run: Run, info: BenchmarkInfo) -> None:
        counts = run.counts
        self.run = run
        self.planned = counts.planned
        self.resumed = counts.done
        self.done = counts.done
        self.failed = counts.failed
        self.usage: Usage = run.usage
        self.retries = 0
        self._metric = next((metric for metric in info.metrics if metric.primary), None)
        self._worst = declared_worst(self._metric) if self._metric else None
        self._sums = Sums()
        self._started = time.monotonic()
        self._scheduler: Scheduler[Planned] | None = None

    def follow(self, owed: Iterator[Planned]) -> Iterator[Planned]:
        """Yield what is owed; a plan that grows while it is worked on is known as far as it has been taken."""
        for taken, planned in enumerate(owed, self.resumed + 1):
            self.planned = max(self.planned, taken)
            yield planned

    def watch(self, scheduler: "Scheduler[Planned]") -> None:
        """Take the scheduler that knows how much is running."""
        self._scheduler = scheduler

    def add(self, episodes: Sequence[Episode]) -> None:
        """Count episodes that have become durable."""
        for episode in episodes:
            self.done += 1
            self.failed += episode.status is EpisodeStatus.FAILED
            self.usage = self.usage + episode.usage
            self.retries += episode.retries
            for score in episode.scores:
                self._take(self._sums, score.name, score.value, worst=score.worst)

    def earlier(self, rows: Iterable[ScoreRow]) -> "Sums":
        """Return the sums over scores of earlier sessions. May run in another thread; give the result to `merge`."""
        sums = Sums()
        for row in rows:
            self._take(sums, row.name, row.value, worst=row.worst)
        return sums

    def merge(self, sums: "Sums") -> None:
        """Take sums computed elsewhere into the running score."""
        self._sums.merge(sums)

    def _take(self, sums: "Sums", name: str, value: float | None, *, worst: bool) -> None:
        metric = self._metric
        if metric is None or name != metric.score:
            return
        if value is None and worst:
            value = self._worst
        if value is not None:
            sums.add(value, passes=value > metric.bar)

    @property
    def running(self) -> int:
        """Episodes in progress."""
        return self._scheduler.running if self._scheduler else 0

    @property
    def rate(self) -> float:
        """Episodes per second since this process started working."""
        seconds = time.monotonic() - self._started
        return (self.done - self.resumed) / seconds if seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Expected time until nothing is owed; None while unknown."""
        return (self.planned - self.done) / self.rate if self.done > self.resumed else None

    @property
    def counts(self) -> Counts:
        """Planned and done, as far as this process knows."""
        return Counts(planned=self.planned, completed=self.done - self.failed, failed=self.failed)

    def score(self) -> MetricResult | None:
        """Return the primary metric over the episodes stored so far; None for medians and extremes."""
        metric, sums = self._metric, self._sums
        if metric is None or not sums.n or metric.aggregation not in {"mean", "pass_rate"}:
            return None
        value, low, high = sums.interval(metric)
        return MetricResult(
            name=metric.name,
            aggregation=metric.aggregation,
            value=value,
            low=low,
            high=high,
            method="running",
            n_planned=self.planned,
            n_scored=sums.n,
            n_tasks=sums.n,
            higher_is_better=metric.higher_is_better,
            directed=metric.directed,
            primary=True,
        )


class Sums:
    """Count, mean and sum of squared deviations of values (Welford 1962), and how many pass."""

    def __init__(self) -> None:
        self.n = 0
        self.passed = 0
        self.mean = 0.0
        self.squares = 0.0

    def add(self, value: float, *, passes: bool) -> None:
        """Take one value."""
        self.n += 1
        self.passed += passes
        before = value - self.mean
        self.mean += before / self.n
        self.squares += before * (value - self.mean)

    def merge(self, other: "Sums") -> None:
        """Take all values of `other` (Chan, Golub, LeVeque 1979)."""
        n = self.n + other.n
        if not other.n:
            return
        apart = other.mean - self.mean
        self.squares += other.squares + apart * apart * self.n * other.n / n
        self.mean += apart * other.n / n
        self.n = n
        self.passed += other.passed

    def interval(self, metric: Metric) -> tuple[float, float | None, float | None]:
        """Return value, low and high at 95 %; bounds are None with one value."""
        if metric.aggregation == "pass_rate":
            found = wilson(self.passed, self.n)
            return found.value, found.low, found.high
        if self.n < 2:
            return self.mean, None, None
        half = Z95 * math.sqrt(self.squares / (self.n - 1) / self.n)
        return self.mean, self.mean - half, self.mean + half
