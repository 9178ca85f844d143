"""Results of a run by samples (trials of tasks), from one pass over its finished episodes.

A sample is `graded` if its score has a value, `skipped` if a grader left it out on purpose, and `failed` otherwise, so
`done = graded + failed + skipped`. A failure of the agent counts as the metric's worst value in `score` and
`pass_rate`; a failure of a grader or of infrastructure is missing there, with its cause. Statistics of rewards cover
graded samples only, as other tools do, so they are shown in addition to the score.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from mesocosm.core.failure import RULES, Boundary, Cause
from mesocosm.core.ports import ResultRow, ScoreRow
from mesocosm.core.run import Run
from mesocosm.core.score import Metric, MetricResult
from mesocosm.core.usage import Usage
from mesocosm.engine.metrics import expected, measure
from mesocosm.stats import Interval, Spread, pass_at_k, pass_hat_k, spread, usable

PASS_RATE = "pass_rate"  # noqa: S105 - no password
"""The name of the metric whose threshold defines a pass."""

TRIAL = "trial"
"""Episodes are grouped by it as by a label of their tasks; it counts from 1. A label of this name wins."""

NAMES, VALUES = 100, 100
"""Maximum labels to list, and maximum distinct values of a listed one: with more it tells tasks apart, not groups."""

UNEXPLAINED = "worst_score"
"""Cause of a sample without a failure that its grader scored as worst."""

_STAGES = {
    Boundary.AGENT: "workflow",
    Boundary.MODEL: "model",
    Boundary.GRADER: "grader",
    Boundary.SANDBOX: "rollout",
}
_TIMEOUTS = frozenset({Cause.WORKFLOW_TIMEOUT, Cause.GRADER_TIMEOUT, Cause.AGENT_TIMEOUT})

_labels = msgspec.json.Decoder(dict[str, str])


class Samples(Protocol):
    """What results need from the store."""

    def result_rows(self, run_id: str, primary: str) -> Iterator[ResultRow]:
        """Yield the finished episodes of a run in plan order."""
        ...


MOST_TRIALS = 64
"""The largest k to compute: each costs a pass over all tasks."""


@dataclass(frozen=True, slots=True)
class Chance:
    """pass@k or pass^k: `value [low, high]` over `tasks` tasks with k or more trials.

    `pessimistic` counts missing trials (a failure of their grader or of infrastructure) as not passed, None if none is
    missing. A bound is None if it is unknown; a `weak` interval rests on few
    tasks.
    """

    value: float
    low: float | None
    high: float | None
    tasks: int
    pessimistic: float | None = None
    weak: bool = False
    method: str = ""


@dataclass(frozen=True, slots=True)
class Passes:
    """The probability that at least one of k trials passes (`at`), and that all of them do (`hat`)."""

    k: int
    at: Chance
    hat: Chance


@dataclass(slots=True)
class Trials:
    """The results of the trials of each task; tasks and their items are numbered as they are first seen.

    A trial has a value or was failed by the agent. Trials missing for another cause say nothing about the agent and
    only count in the pessimistic reading; trials that a grader skipped never count.
    """

    places: dict[str, int] = field(default_factory=dict)
    items: dict[str, int] = field(default_factory=dict)
    clusters: "array[int]" = field(default_factory=lambda: array("q"))
    values: "array[float]" = field(default_factory=lambda: array("d"))
    tasks: "array[int]" = field(default_factory=lambda: array("q"))
    failed: "array[int]" = field(default_factory=lambda: array("q"))
    missing: "array[int]" = field(default_factory=lambda: array("q"))

    def place(self, task: str, cluster: str = "") -> int:
        """Return the number of a task, which may be a variant of the item `cluster`.

        A new task gets the next number.
        """
        if task not in self.places:
            self.places[task] = len(self.places)
            self.clusters.append(self.items.setdefault(cluster or task, len(self.items)))
        return self.places[task]

    def add(self, place: int, value: float) -> None:
        """Count a trial with a value."""
        self.values.append(value)
        self.tasks.append(place)

    def fail(self, place: int) -> None:
        """Count a trial that the agent failed."""
        self.failed.append(place)

    def miss(self, place: int) -> None:
        """Record a missing trial."""
        self.missing.append(place)

    def counts(self, bar: float, *, pessimistic: bool = False) -> list[tuple[int, int]]:
        """Return (trials, passes) of each task, including tasks without trials; a pass is a value above `bar`."""
        sizes, passed = array("q", bytes(8 * len(self.places))), array("q", bytes(8 * len(self.places)))
        for place, value in zip(self.tasks, self.values, strict=True):
            sizes[place] += 1
            passed[place] += value > bar
        for place in self.failed:
            sizes[place] += 1
        for place in self.missing if pessimistic else ():
            sizes[place] += 1
        return list(zip(sizes, passed, strict=True))


def passes(trials: Trials, bar: float) -> tuple[Passes, ...]:
    """Return pass@k and pass^k for k = 1 … n, where n is the largest number of trials of a task, at most 64.

    Each covers the tasks with at least k trials, not counting skipped and missing ones. Pending episodes count in
    neither reading. Source of both estimators: `stats.pass_at_k`.
    """
    counts = trials.counts(bar)
    worst = trials.counts(bar, pessimistic=True) if trials.missing else None
    most = max((size for size, _ in counts), default=0)
    items = trials.clusters if len(trials.items) < len(trials.places) else None
    return tuple(_passes(counts, worst, items, k) for k in range(1, min(most, MOST_TRIALS) + 1))


def _passes(
    counts: list[tuple[int, int]], worst: list[tuple[int, int]] | None, items: "array[int] | None", k: int
) -> Passes:
    at, hat = pass_at_k(counts, k, clusters=items), pass_hat_k(counts, k, clusters=items)
    if worst is None:
        return Passes(k, _chance(at.interval, None), _chance(hat.interval, None))
    low_at, low_hat = pass_at_k(worst, k), pass_hat_k(worst, k)
    return Passes(k, _chance(at.interval, low_at.interval.value), _chance(hat.interval, low_hat.interval.value))


def _chance(found: Interval, pessimistic: float | None) -> Chance:
    low, high = (found.low, found.high) if found.bounded else (None, None)
    return Chance(found.value, low, high, found.n, pessimistic, found.weak, found.method)


@dataclass(frozen=True, slots=True)
class SampleCounts:
    """Numbers of samples by result; `passed` is None if no pass is defined, `owed` is the number of pending samples."""

    planned: int
    done: int
    graded: int
    passed: int | None
    failed: int
    skipped: int
    owed: int


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds per sample, from start to grade; percentile p is the ⌈np/100⌉-th smallest of n."""

    n: int
    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class FailureCount:
    """Samples that failed for one cause; `valid` ones count as worst, the others as missing.

    `stage` is workflow, timeout, grader, model, rollout (its process or sandbox) or other.
    """

    stage: str
    cause: str
    count: int
    valid: bool


@dataclass(frozen=True, slots=True)
class Label:
    """A label to group samples by, and its number of values."""

    name: str
    values: int


@dataclass(frozen=True, slots=True)
class RunResults:
    """All data of a results page.

    `score` and `pass_rate` are metrics with both readings, None if the run has none; `metrics` are all others.
    `seed_pass_rate` is passed / (done - skipped), so every failure counts as not passed. A value above
    `pass_threshold`, or equal to it if `pass_inclusive`, is a pass.
    """

    counts: SampleCounts
    pass_threshold: float | None
    pass_inclusive: bool
    reward: Spread | None
    score: MetricResult | None
    pass_rate: MetricResult | None
    seed_pass_rate: float | None
    passes: tuple[Passes, ...]
    latency: Latency | None
    usage: Usage
    tokens_per_sample: float | None
    failures: tuple[FailureCount, ...]
    metrics: tuple[MetricResult, ...]
    labels: tuple[Label, ...]


@dataclass(slots=True)
class _Seen:
    """The data collected in one pass over the samples: eight bytes per value."""

    done: int = 0
    skipped: int = 0
    trial: int = 0
    rewards: "array[float]" = field(default_factory=lambda: array("d"))
    durations: "array[float]" = field(default_factory=lambda: array("d"))
    trials: Trials = field(default_factory=Trials)
    causes: Counter[tuple[str, bool]] = field(default_factory=Counter)
    labels: dict[str, set[str]] = field(default_factory=dict)


def results(run: Run, episodes: Samples, metrics: Sequence[MetricResult]) -> RunResults:
    """Return the results of a run as stored so far; `metrics` are its current metrics.

    Time and memory grow with the number of samples: 200,000 take about a second.
    """
    declared = declared_metrics(run)
    primary = next((metric for metric in declared if metric.primary), None)
    shown = next((result for result in metrics if result.primary), None)
    seen = _read(episodes.result_rows(run.id, primary.score if primary else shown.name if shown else ""))
    bar = pass_metric(run, seen.rewards)
    passed = None if bar is None else sum(value > bar.bar for value in seen.rewards)
    rate = next((result for result in metrics if bar is not None and result.name == bar.name), None)
    if rate is None and bar is not None and shown is not None and shown.worst_value in (None, 0.0):
        # If all values, including those of failures, are 0 or 1, the mean is the rate.
        rate = msgspec.structs.replace(shown, name=PASS_RATE, primary=False)
    elif rate is None and bar is not None and shown is not None:
        rate = _rate(episodes.result_rows(run.id, bar.score), bar, expected(run))
    counted = seen.done - seen.skipped
    return RunResults(
        counts=_tally(run, seen, passed),
        pass_threshold=None if bar is None else bar.threshold,
        pass_inclusive=bar is not None and bar.inclusive,
        reward=spread(seen.rewards) if seen.rewards else None,
        score=shown,
        pass_rate=rate,
        seed_pass_rate=None if passed is None or not counted else passed / counted,
        passes=() if bar is None else passes(seen.trials, bar.bar),
        latency=_latency(seen.durations),
        usage=run.usage,
        tokens_per_sample=run.usage.total / seen.done if seen.done else None,
        failures=_failures(seen.causes),
        metrics=tuple(result for result in metrics if result is not shown and result.name != PASS_RATE),
        labels=_labels_of(seen),
    )


def _rate(rows: Iterable[ResultRow], bar: Metric, planned: int) -> MetricResult:
    """Return the pass rate, for runs in which the mean differs because a failure counts as a value other than 0."""
    scored = (
        ScoreRow(
            task, cluster, 0, bar.score, score, None if outcome == "worst" else missing or failure, outcome == "worst"
        )
        for task, cluster, score, outcome, failure, missing, _, _, _ in rows
    )
    return measure([bar], scored, planned)[0]


def declared_metrics(run: Run) -> tuple[Metric, ...]:
    """Return the metrics declared by the benchmark of a run."""
    return msgspec.convert(run.info.get("metrics", []), tuple[Metric, ...])


def pass_metric(run: Run, rewards: Sequence[float]) -> Metric | None:
    """Return the metric that defines which of these `rewards` are passes, None if there is none.

    It is the metric `pass_rate`, or another pass rate of the primary score. Without one, rewards that are all 0 or 1
    define passes themselves.
    """
    declared = declared_metrics(run)
    primary = next((metric for metric in declared if metric.primary), None)
    if primary is None:
        return None
    rates = [metric for metric in declared if metric.aggregation == "pass_rate" and metric.score == primary.score]
    named = next((metric for metric in rates if metric.name == PASS_RATE), next(iter(rates), None))
    if named is not None:
        return named
    directed = primary.directed and primary.higher_is_better and primary.aggregation == "mean"
    if directed and len(rewards) and all(value in (0.0, 1.0) for value in rewards):
        return Metric(PASS_RATE, primary.score, "pass_rate", threshold=1.0, inclusive=True)
    return None


def stage_of(cause: str) -> str:
    """Return the stage of a failure cause."""
    if cause in _TIMEOUTS:
        return "timeout"
    try:
        return _STAGES.get(RULES[Cause(cause)].boundary, "other")
    except ValueError:
        return "grader" if cause == UNEXPLAINED else "other"


def _read(rows: Iterable[ResultRow]) -> _Seen:
    seen = _Seen()
    place_of = seen.trials.place
    for task, cluster, score, outcome, failure, missing, duration, labels, trial in rows:
        seen.done += 1
        seen.trial = max(seen.trial, trial)
        if duration is not None:
            seen.durations.append(duration)
        if labels:
            _note(seen.labels, _labels.decode(labels))
        if score is not None and usable(score):
            seen.rewards.append(score)
            seen.trials.add(place_of(task, cluster), score)
        elif outcome == "worst":
            seen.causes[failure or UNEXPLAINED, True] += 1
            seen.trials.fail(place_of(task, cluster))
        elif outcome == "skipped":
            seen.skipped += 1
        else:
            seen.causes[missing or failure or Cause.VALUE_MISSING.value, False] += 1
            seen.trials.miss(place_of(task, cluster))
    return seen


def _note(known: dict[str, set[str]], labels: dict[str, str]) -> None:
    for name, value in labels.items():
        values = known.get(name)
        if values is None:
            if len(known) >= NAMES:
                continue
            values = known[name] = set()
        if len(values) <= VALUES:
            values.add(value)


def _labels_of(seen: _Seen) -> tuple[Label, ...]:
    """Return what the samples can be grouped by: labels with few values, and the trial if there are several."""
    found = [Label(name, len(values)) for name, values in sorted(seen.labels.items()) if len(values) <= VALUES]
    if seen.trial and TRIAL not in seen.labels:
        found.append(Label(TRIAL, seen.trial + 1))
    return tuple(found)


def _tally(run: Run, seen: _Seen, passed: int | None) -> SampleCounts:
    graded = len(seen.rewards)
    return SampleCounts(
        planned=run.counts.planned,
        done=seen.done,
        graded=graded,
        passed=passed,
        failed=seen.done - graded - seen.skipped,
        skipped=seen.skipped,
        owed=max(run.counts.planned - seen.done, 0),
    )


def _latency(durations: "array[float]") -> Latency | None:
    ordered = sorted(filter(math.isfinite, durations))
    n = len(ordered)
    if not n:
        return None
    p50, p90, p95, p99 = (ordered[max(math.ceil(n * share / 100) - 1, 0)] for share in (50, 90, 95, 99))
    return Latency(n, math.fsum(ordered) / n, p50, p90, p95, p99, ordered[-1])


def _failures(causes: Counter[tuple[str, bool]]) -> tuple[FailureCount, ...]:
    found = (FailureCount(stage_of(cause), cause, count, valid) for (cause, valid), count in causes.items())
    return tuple(sorted(found, key=lambda one: (-one.count, one.stage, one.cause)))
