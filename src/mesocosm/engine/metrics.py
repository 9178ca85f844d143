"""Metrics of a run, computed from the scores of its episodes."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from mesocosm.core.episode import FINISHED, Episode
from mesocosm.core.failure import Cause
from mesocosm.core.ports import EngineStore, ScoreRow
from mesocosm.core.run import RESCORING, Run, RunStatus
from mesocosm.core.score import COUNT, MALFORMED, STDERR, WHOLE, Metric, MetricResult, WholeNumber
from mesocosm.stats import aggregate, usable
from mesocosm.stats.interval import Interval, critical_value, wilson
from mesocosm.stats.mean import mean_interval

NOT_RUN = "not_run"
"""Key in `missing` for planned episodes that have not been run."""


MEASURED = frozenset({RunStatus.FINISHED, RunStatus.PARTIAL})
"""Statuses of a run that was executed to its end, so that its metrics match its episodes."""

_WHOLE = 1e-3
"""A number of passed items differs from a whole one by rounding of the share, at most by so much."""

AGENT_FAILURE = "agent_failure"
"""Key in `missing` for failures of the agent if no worst value is known."""


@dataclass(slots=True)
class Collected:
    """The scores of one name: values with their clusters, worst ones, and missing ones by cause."""

    values: "array[float]" = field(default_factory=lambda: array("d"))
    clusters: "array[int]" = field(default_factory=lambda: array("q"))
    worst_clusters: "array[int]" = field(default_factory=lambda: array("q"))
    missing_clusters: "array[int]" = field(default_factory=lambda: array("q"))
    missing: Counter[str] = field(default_factory=Counter)
    skipped: int = 0
    malformed: "array[int]" = field(default_factory=lambda: array("q"))
    """Indexes in `values` of episodes in which a malformed reply was passed to the environment."""

    def take(self, cluster: int, value: float | None, missing: str | None, *, worst: bool) -> None:
        """Add the score of one episode."""
        if value is not None and usable(value):
            self.values.append(value)
            self.clusters.append(cluster)
        elif worst:
            self.worst_clusters.append(cluster)
        elif missing == Cause.SKIPPED:
            self.skipped += 1
        else:
            self.missing_clusters.append(cluster)
            self.missing[missing or Cause.VALUE_UNUSABLE] += 1

    def merge(self, other: "Collected") -> None:
        """Add everything that another one has collected."""
        self.malformed.extend(place + len(self.values) for place in other.malformed)
        self.values.extend(other.values)
        self.clusters.extend(other.clusters)
        self.worst_clusters.extend(other.worst_clusters)
        self.missing_clusters.extend(other.missing_clusters)
        self.missing.update(other.missing)
        self.skipped += other.skipped


def collect(rows: Iterable[ScoreRow]) -> dict[str, Collected]:
    """Group streamed scores by name. Values take eight bytes each, so a million of them fit."""
    found: dict[str, Collected] = {}
    numbers: dict[str, int] = {}
    episode: tuple[str, int] | None = None
    marked, valued = False, list[Collected]()
    for row in rows:
        if (row.task, row.trial) != episode:
            # The rows of an episode are adjacent.
            if marked:
                _mark(valued)
            episode, marked = (row.task, row.trial), False
            valued.clear()
        if row.name == MALFORMED:
            marked = True
            continue
        kept = found.get(row.name)
        if kept is None:
            kept = found[row.name] = Collected()
        cluster = numbers.setdefault(row.cluster or row.task, len(numbers))
        before = len(kept.values)
        kept.take(cluster, row.value, row.missing, worst=row.worst)
        if len(kept.values) > before:
            valued.append(kept)
    if marked:
        _mark(valued)
    return found


def _mark(valued: Iterable[Collected]) -> None:
    """Mark the newest values as belonging to an episode in which a malformed reply was passed on."""
    for kept in valued:
        kept.malformed.append(len(kept.values) - 1)


PARTS = "parts"
"""Key in the info of a run: the number of planned episodes of each metric that covers a part (`where`), by name."""


def measure(
    metrics: Sequence[Metric],
    rows: Iterable[ScoreRow],
    planned: int,
    *,
    parts: Mapping[str, int] | None = None,
    discover: bool = False,
) -> tuple[MetricResult, ...]:
    """Return every metric of a run with its interval, its pessimistic and strict readings, and what is missing.

    `planned` is the number of episodes that should have a score, `parts` the same for metrics of a part, by name; for a
    part not listed there, the number of episodes seen is used.

    A failure of the agent counts as the metric's worst value: a failed pass, the declared bound, or else the worst
    value seen in this run. Episodes missing for other causes are left out of `value` and counted as worst in
    `pessimistic`. Those that a grader skipped (cause `skipped`) are not counted at all. With `discover`, scores without
    a metric become undirected means.
    """
    collected = collect(rows)
    if discover:
        known = {metric.score for metric in metrics}
        found = [Metric(name, name, directed=False) for name in sorted(collected) if name not in known]
    else:
        found = []
    declared = [
        measure_one(metric, collected.get(metric.score) or Collected(), (parts or {}).get(metric.name))
        if metric.where
        else measure_one(metric, collected.get(metric.score) or Collected(), planned)
        for metric in metrics
    ]
    declared = [
        _of_programs(metric, one, collected) if metric.lone else one
        for metric, one in zip(metrics, declared, strict=True)
    ]
    ranking = next((metric for metric in metrics if metric.primary), None)
    base = None if ranking is None else collected.get(ranking.score) or Collected()
    return (*declared, *(_discovered(metric, collected[metric.score], base, planned) for metric in found))


def _of_programs(metric: Metric, found: MetricResult, collected: Mapping[str, Collected]) -> MetricResult:
    """Return a metric of totals with the interval that programs give, or that of several runs, or none."""
    values = collected[metric.score].values if metric.score in collected else ()
    if found.value is None or found.n_worst or len(values) != found.n_scored:
        return found
    interval = mean_interval(values) if len(values) > 1 else _handed_in(metric.score, found.value, collected)
    if interval is None or not interval.bounded or interval.low == interval.high:
        # Equal totals of a program that always does the same say nothing of other items.
        return msgspec.structs.replace(found, low=None, high=None, method="none")
    bounds = (-math.inf if metric.low is None else metric.low, math.inf if metric.high is None else metric.high)
    low, high = max(interval.low, bounds[0]), min(interval.high, bounds[1])
    return msgspec.structs.replace(found, low=low, high=high, method=interval.method, weak=interval.weak)


def _handed_in(name: str, value: float, collected: Mapping[str, Collected]) -> Interval | None:
    """Return the interval of a total by its program's standard error, or by its number of items if all pass or fail."""
    error, count = (
        next(iter(collected[other].values), None) if other in collected else None
        for other in (f"{name}{STDERR}", f"{name}{COUNT}")
    )
    if error is not None:
        margin = critical_value(0.95, count - 1 if count is not None and count > 1 else math.inf) * error
        return Interval(value, value - margin, value + margin, int(count or 1), "program's stderr")
    if count is None or not 0 <= value <= 1 or abs(value * count - round(value * count)) > _WHOLE:
        return None
    return wilson(round(value * count), int(count))


def _discovered(metric: Metric, kept: Collected, base: Collected | None, planned: int) -> MetricResult:
    """Return an undeclared metric, given the scores `base` of the primary metric.

    It is unknown how many episodes should have it. Episodes that have not run may all have it. If every episode with a
    primary score has it, the others lack it for the same reason as the primary score.
    """
    if base is None:
        return measure_one(metric, kept, None)
    seen = len(kept.values) + len(kept.worst_clusters) + kept.missing.total()
    scored, failed = len(base.values), len(base.worst_clusters)
    unrun = max(planned - base.skipped - scored - failed - base.missing.total(), 0)
    if seen == scored:
        kept.missing.update(base.missing)
        if failed:
            kept.missing[AGENT_FAILURE] += failed
        seen += failed + base.missing.total()
    return measure_one(metric, kept, seen + unrun + kept.skipped)


def so_far(run: Run, store: EngineStore) -> tuple[MetricResult, ...]:
    """Return the metrics of a run over the episodes stored so far.

    Planned episodes that have not run count as missing.
    """
    return of_rows(run, store.episodes.score_rows(run.id))


def of_episodes(run: Run, episodes: Iterable[Episode]) -> tuple[MetricResult, ...]:
    """Return the metrics of a run over episodes that are not stored yet, given in plan order."""
    rows = (
        ScoreRow(one.task_digest, one.cluster, one.trial, score.name, score.value, score.missing, score.worst)
        for one in episodes
        if one.status in FINISHED
        for score in {score.name: score for score in one.scores}.values()
    )
    return of_rows(run, rows)


def of_rows(run: Run, rows: Iterable[ScoreRow]) -> tuple[MetricResult, ...]:
    """Return the metrics of a run over the scores of its finished episodes."""
    terms = run.terms
    return measure(terms.metrics, rows, expected(run), parts=terms.parts, discover=terms.discovers)


def disagreements(run: Run, found: Sequence[MetricResult]) -> list[str]:
    """Return messages about stored metrics of a run that differ from those `found` in its episodes.

    Only the metrics of a run that was executed to its end must match, not those of a run that is in progress, was cut
    off, or is being rescored, nor imported ones. Intervals are not compared: earlier versions computed some of them
    differently.
    """
    if run.status not in MEASURED or run.provenance.get(RESCORING) or not run.info.get("metrics"):
        return []
    known = {metric.name: metric for metric in found}
    # Earlier versions did not count episodes that were not run for undeclared metrics.
    declared = {metric["name"] for metric in run.info.get("metrics", [])}
    problems = []
    for stored in run.metrics:
        if stored.aggregation == WHOLE:
            # Only the benchmark can compute it.
            continue
        here = known.get(stored.name)
        if here is None:
            problems.append(f"{stored.name} is stored as {stored.value}, and nothing says what it was measured of")
        elif not _equal(stored.value, here.value):
            problems.append(f"its {stored.name} is stored as {stored.value}, its episodes give {here.value}")
        elif stored.n_scored != here.n_scored or (stored.n_planned != here.n_planned and stored.name in declared):
            problems.append(
                f"its {stored.name} is stored as that of {stored.n_scored:,} of {stored.n_planned:,} episodes; "
                f"{here.n_scored:,} of {here.n_planned:,} have a value"
            )
    return problems


def _equal(a: float | None, b: float | None) -> bool:
    return a == b if a is None or b is None else math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def of_whole(numbers: Iterable[WholeNumber], planned: int, parts: Mapping[str, int]) -> tuple[MetricResult, ...]:
    """Return numbers of a whole run as its metrics. They have no interval: nothing is known of their spread.

    `planned` episodes should have a part in them, for those of a part as many as `parts` says by name.
    """
    found = []
    for one in numbers:
        expected_here = max(parts.get(one.name, one.count) if one.where else planned, one.count)
        lacking = {Cause.VALUE_MISSING.value: expected_here - one.count} if expected_here > one.count else {}
        usable_value = one.value if one.value is not None and usable(one.value) else None
        found.append(
            MetricResult(
                one.name,
                WHOLE,
                usable_value,
                None,
                None,
                "without interval",
                expected_here,
                one.count,
                one.count,
                lacking,
                higher_is_better=one.higher_is_better,
                directed=one.directed,
            )
        )
    return tuple(found)


def expected(run: Run) -> int:
    """Return how many episodes of a run should have a score: all planned ones except those without one by design."""
    return max(run.counts.planned - int(run.info.get("unscored", 0)), 0)


def outcome(metrics: Sequence[MetricResult], max_missing: float) -> tuple[RunStatus, str]:
    """Return status and error of a run after all its episodes were executed.

    It is failed if it has no score at all, and partial if more than the share `max_missing` of its planned episodes has
    no value for reasons other than the agent. This is about the primary metric; without one, about the metric that
    lacks most.
    """
    if not any(metric.n_scored for metric in metrics):
        return RunStatus.FAILED, "no episode could be scored"
    lacking = [
        (sum(count for cause, count in metric.missing.items() if cause != AGENT_FAILURE), metric.n_planned)
        for metric in [metric for metric in metrics if metric.primary] or metrics
    ]
    missing, planned = max(lacking, key=lambda count: count[0] / max(count[1], 1))
    if missing <= max_missing * planned:
        return RunStatus.FINISHED, ""
    verb = "has" if missing == 1 else "have"
    return (
        RunStatus.PARTIAL,
        f"{missing:,} of {planned:,} planned episodes {verb} no value, more than {100 * max_missing:.4g} %",
    )


def measure_one(metric: Metric, kept: Collected, planned: int | None) -> MetricResult:
    """Return one metric as `measure` does; if `planned` is None, only the collected episodes are expected.

    For a metric of a part, more episodes than `planned` may be found while a run is in progress.
    """
    worst = _worst(metric, kept.values)
    values, clusters = array("d", kept.values), array("q", kept.clusters)
    missing = Counter(kept.missing)
    n_worst = len(kept.worst_clusters)
    if worst is None:
        missing[AGENT_FAILURE] += n_worst
    else:
        values.extend([worst] * n_worst)
        clusters.extend(kept.worst_clusters)
    seen = len(kept.values) + n_worst + kept.missing.total()
    planned = seen if planned is None else max(planned - kept.skipped, seen if metric.where else 0)
    unrun = max(planned - seen, 0)
    if unrun:
        missing[NOT_RUN] += unrun
    value, low, high, method, weak = _interval(metric, values, clusters)
    result = MetricResult(
        name=metric.name,
        aggregation=metric.aggregation,
        value=value,
        low=low,
        high=high,
        method=method,
        weak=weak,
        n_planned=planned,
        n_scored=len(values),
        n_tasks=len(set(clusters)),
        missing={cause: count for cause, count in sorted(missing.items()) if count},
        n_worst=n_worst if worst is not None else 0,
        worst_value=worst if n_worst or missing.total() else None,
        higher_is_better=metric.higher_is_better,
        directed=metric.directed,
        primary=metric.primary,
    )
    if kept.malformed:
        result = _strict(result, metric, kept, values, clusters, worst)
    if worst is None or not missing.total():
        return result
    return _pessimistic(result, metric, kept, values, clusters, worst, unrun)


def _strict(
    result: MetricResult,
    metric: Metric,
    kept: Collected,
    values: "array[float]",
    clusters: "array[int]",
    worst: float | None,
) -> MetricResult:
    """Add the strict reading: episodes with a malformed reply count as worst, however the environment handled it."""
    result = msgspec.structs.replace(result, n_malformed=len(kept.malformed))
    if worst is None:
        return result
    strictly = array("d", values)
    for place in kept.malformed:
        strictly[place] = worst
    value, low, high, *_ = _interval(metric, strictly, clusters)
    return msgspec.structs.replace(result, strict=value, strict_low=low, strict_high=high, worst_value=worst)


def _pessimistic(
    result: MetricResult,
    metric: Metric,
    kept: Collected,
    values: "array[float]",
    clusters: "array[int]",
    worst: float,
    unrun: int,
) -> MetricResult:
    values.extend([worst] * (len(kept.missing_clusters) + unrun))
    clusters.extend(kept.missing_clusters)
    # The tasks of episodes that never ran are unknown here, so each is a cluster of its own.
    clusters.extend(range(-unrun, 0))
    value, low, high, *_ = _interval(metric, values, clusters)
    return msgspec.structs.replace(result, pessimistic=value, pessimistic_low=low, pessimistic_high=high)


def declared_worst(metric: Metric) -> float | None:
    """Return the value that an agent's failure counts as, None if it depends on the values seen."""
    declared = metric.low if metric.higher_is_better else metric.high
    if metric.aggregation != "pass_rate":
        return declared
    # Regardless of the bounds, a failure must be on the worse side of the threshold.
    if metric.higher_is_better:
        return metric.bar if declared is None else min(declared, metric.bar)
    return metric.threshold + 1.0 if declared is None else max(declared, metric.threshold + 1.0)


def _worst(metric: Metric, values: "array[float]") -> float | None:
    if not metric.directed:
        return None
    worst = declared_worst(metric)
    if metric.aggregation == "pass_rate":
        return worst
    # A declared bound may be per step, so the sum of an episode can exceed it.
    seen = values if worst is None else [worst, *values]
    if not seen:
        return None
    return min(seen) if metric.higher_is_better else max(seen)


def _interval(
    metric: Metric, values: "array[float]", clusters: "array[int]"
) -> tuple[float | None, float | None, float | None, str, bool]:
    if not values:
        return None, None, None, "nothing scored", False
    # If all values are 1, that is certain for a rate but says little about a count: the declared bounds decide.
    bounds = None if metric.low is None or metric.high is None else (metric.low, metric.high)
    found = aggregate(metric.aggregation, values, clusters, threshold=metric.bar, bounds=bounds)
    low, high = _finite(found.low), _finite(found.high)
    if metric.aggregation == "pass_rate":
        # The declared bounds are those of the values, not of the rate.
        return found.value, low, high, found.method, found.weak
    times = len(values) if metric.aggregation == "sum" else 1
    least = -math.inf if metric.low is None else metric.low
    most = math.inf if metric.high is None else metric.high
    # A value beyond one of the bounds says that the other may be wrong, too.
    if low is not None and high is not None and least <= min(values) and max(values) <= most:
        low, high = max(low, least * times), min(high, most * times)
    return found.value, low, high, found.method, found.weak


def _finite(bound: float | None) -> float | None:
    """Return None for an infinite bound, such as that from a single value."""
    return bound if bound is not None and math.isfinite(bound) else None
