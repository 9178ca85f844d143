"""Figures of a run that are computed from all its episodes, and cached."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from mesocosm.core.episode import Episode
from mesocosm.core.run import Run, RunStatus
from mesocosm.core.score import MetricResult
from mesocosm.engine.metrics import of_rows
from mesocosm.server.cache import Cache
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.runs.running_metrics import GOING, LATEST
from mesocosm.store.rows import primary_score

MOST = 200
"""Maximum number of runs with cached figures."""

_PATIENCE = 20.0
"""Figures of a run in progress are cached for this many times their computation time, to use a twentieth of it."""


@dataclass(frozen=True, slots=True)
class UngradedCause:
    """Why a metric lacks values, with the first episode whose `score` is missing for it."""

    metric: str
    score: str
    cause: str
    first: Episode


@dataclass(frozen=True, slots=True)
class Figures:
    """Metrics, failures by cause with the first episode of each, mean reward and mean steps.

    `ungraded` holds the first episode of each cause of a missing score without a failed episode.
    """

    metrics: tuple[MetricResult, ...]
    failures: tuple[tuple[str, int, Episode], ...]
    means: tuple[float | None, float | None]
    ungraded: tuple["UngradedCause", ...]


T = TypeVar("T")

_figures = Cache[Figures](MOST)


def figures_of(run: VisibleRun) -> Figures:
    """Return the figures of a run; those of a long run in progress may be some seconds old."""
    return kept(_figures, run, partial(_measured, run))


def kept(cache: Cache[T], run: VisibleRun, compute: Callable[[], T], name: str = "") -> T:
    """Return a cached value about a run, computed again if the run has changed.

    For a run in progress, it is also kept for a time proportional to its cost. Raises what `compute` raises.
    """
    going = run.record.status in GOING
    return cache.get(
        (run.view, f"{name} so far" if going else name),
        compute,
        version=_state(run.record),
        lasts=lambda cost: _PATIENCE * cost if going else 0.0,
    )


def _state(run: Run) -> tuple[Any, ...]:
    return (run.status, run.counts, run.ended_at, run.metrics, run.provenance.get("rescored_at"))


def _measured(run: VisibleRun) -> Figures:
    if run.record.status is RunStatus.PENDING and not run.record.counts.done:
        # A submit answers with the run, of which nothing is stored yet that would have to be read.
        return Figures(of_rows(run.record, ()), (), (None, None), ())
    metrics = (
        _so_far(run) if run.record.status in GOING else run.record.metrics or of_rows(run.record, run.score_rows())
    )
    failures = run.failures()
    return Figures(metrics, failures, run.episode_means(), tuple(_ungraded(run, metrics, failures)))


def _ungraded(
    run: VisibleRun, metrics: Sequence[MetricResult], failures: Sequence[tuple[str, int, Episode]]
) -> Iterator[UngradedCause]:
    """Yield the causes of the primary metric, then those that only other metrics have, as of another grader."""
    scores = {metric.name: metric.score for metric in run.record.terms.metrics}
    seen = {cause for cause, _, _ in failures}
    for metric in sorted(metrics, key=lambda one: not one.primary):
        score = primary_score(run.record.info, metrics) if metric.primary else scores.get(metric.name, metric.name)
        for cause in metric.missing:
            first = None if cause in seen else run.first_missing(score, cause)
            if first is not None:
                yield UngradedCause(metric.name, score, cause, first)
        seen |= set(metric.missing) if metric.primary else set()


def _so_far(run: VisibleRun) -> tuple[MetricResult, ...]:
    """Return the metrics of a run in progress; the row of a resumed one still has those from before its stop."""
    known = LATEST.get(run)
    if known is not None and known.done == run.record.counts.done:
        return known.metrics
    metrics = of_rows(run.record, run.score_rows())
    LATEST.keep(run, metrics)
    return metrics
