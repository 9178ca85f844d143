"""Comparisons of runs as documents."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from pydantic import Field

from mesocosm.core.score import Metric
from mesocosm.engine.comparison import runs as comparison
from mesocosm.engine.comparison.pair import PairedContrast
from mesocosm.server.runs.documents import run_summary
from mesocosm.server.schemas.document import Document, Json, shortened
from mesocosm.server.schemas.metric import MetricDocument, metric_document
from mesocosm.server.schemas.run import RunSummary
from mesocosm.store.episodes import PlayedTask

Lookup = Callable[[str, Sequence[str]], Mapping[str, PlayedTask]]
"""Returns what a run has played of some tasks, by task digest."""


class DifferenceDocument(Document):
    """A setting in which the runs differ; `values` in the order of the runs, null where a run has none."""

    field: str
    values: list[Json]


class TaskPairDocument(Document):
    """One task in both runs: mean values over its trials (null: not scored), and an episode of each to look at."""

    task_id: str
    task_digest: str
    a: float | None
    b: float | None
    flipped: bool = Field(description="passed in one run, failed in the other")
    episode_a: str | None
    episode_b: str | None


class DensityCell(Document):
    """How many tasks have about these values in both runs."""

    a: float
    b: float
    n: int


class TaskCountsDocument(Document):
    """Tasks by which run did better, and those that only one run has scored."""

    a_better: int
    b_better: int
    same: int
    flipped: int
    only_a: int
    only_b: int


class RunPairDocument(Document):
    """Run `b` against run `a` in one metric: `delta` = b − a with its interval.

    `winner` is `tie` unless the interval excludes 0 and the test agrees, Holm-adjusted when there are several pairs.
    """

    a: str
    b: str
    paired: bool = Field(description="compared task by task; else the runs share no tasks")
    mean_a: float
    mean_b: float
    delta: float
    low: float | None
    high: float | None
    level: float
    p_value: float
    p_adjusted: float
    test: str
    method: str
    n_a: int
    n_b: int
    smallest_difference: float | None = Field(description="what this number of tasks could have shown at 80 % power")
    winner: Literal["a", "b", "tie"]
    counts: TaskCountsDocument
    tasks: list[TaskPairDocument] = Field(description="at most 2,000, flipped ones and largest differences first")
    density: list[DensityCell] = Field(description="all tasks, in 20 × 20 cells at most")


class BenchmarkComparison(Document):
    """The runs of one benchmark. The first one is the baseline; there is a pair for each other one."""

    benchmark: str
    benchmark_title: str
    metric: str
    metrics: list[str] = Field(description="names that can be asked for")
    higher_is_better: bool | None = Field(description="null where nobody said; then the winner is the higher one")
    runs: list[str]
    scores: list[MetricDocument | None]
    same_content: bool = Field(description="whether all runs used the same content of the benchmark")
    pairs: list[RunPairDocument]
    note: str = Field(description="why there are no pairs, or what to keep in mind; empty otherwise")


class ComparisonDocument(Document):
    """Two or more runs side by side."""

    runs: list[RunSummary]
    differences: list[DifferenceDocument]
    benchmarks: list[BenchmarkComparison]


def comparison_document(found: comparison.RunComparison, played: Lookup) -> ComparisonDocument:
    """Return a comparison as a document."""
    return ComparisonDocument(
        runs=[run_summary(run) for run in found.runs],
        differences=[
            DifferenceDocument(field=item.field, values=list(map(shortened, item.values))) for item in found.differences
        ],
        benchmarks=[_benchmark(group, played) for group in found.groups],
    )


def _direction(metric: Metric | None) -> bool | None:
    if metric is None:
        return True
    return metric.higher_is_better if metric.directed else None


def _benchmark(group: comparison.ComparedRuns, played: Lookup) -> BenchmarkComparison:
    return BenchmarkComparison(
        benchmark=group.runs[0].benchmark,
        benchmark_title=group.runs[0].benchmark_title,
        metric="" if group.metric is None else group.metric.name,
        metrics=list(group.names),
        higher_is_better=_direction(group.metric),
        runs=[run.id for run in group.runs],
        scores=[None if score is None else metric_document(score) for score in group.scores],
        same_content=group.same_content,
        pairs=[_pair(pair, played) for pair in group.pairs],
        note=group.note,
    )


def _pair(pair: comparison.RunPair, played: Lookup) -> RunPairDocument:
    found = pair.contrast
    delta = found.delta
    return RunPairDocument(
        a=pair.a,
        b=pair.b,
        paired=found.paired,
        mean_a=found.mean_a,
        mean_b=found.mean_b,
        delta=delta.value,
        low=_finite(delta.low),
        high=_finite(delta.high),
        level=delta.level,
        p_value=found.found.p_value,
        p_adjusted=pair.p_adjusted,
        test=found.found.test,
        method=delta.method,
        n_a=found.n_a,
        n_b=found.n_b,
        smallest_difference=None if found.smallest is None else _finite(found.smallest),
        winner=pair.winner,
        counts=TaskCountsDocument(
            a_better=found.counts.a_better,
            b_better=found.counts.b_better,
            same=found.counts.same,
            flipped=found.counts.flipped,
            only_a=found.counts.only_a,
            only_b=found.counts.only_b,
        ),
        tasks=_tasks(pair, found, played),
        density=[DensityCell(a=cell.a, b=cell.b, n=cell.n) for cell in found.density],
    )


def _tasks(pair: comparison.RunPair, found: PairedContrast, played: Lookup) -> list[TaskPairDocument]:
    digests = [task.digest for task in found.tasks]
    in_a, in_b = played(pair.a, digests), played(pair.b, digests)
    listed = []
    for task in found.tasks:
        a, b = in_a.get(task.digest), in_b.get(task.digest)
        either = a or b
        listed.append(
            TaskPairDocument(
                task_id=task.digest if either is None else either.task_id,
                task_digest=task.digest,
                a=task.a,
                b=task.b,
                flipped=task.flipped,
                episode_a=None if a is None else a.episode_id,
                episode_b=None if b is None else b.episode_id,
            )
        )
    return listed


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
