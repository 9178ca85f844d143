"""Benchmarks as documents."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from pydantic import Field

from mesocosm.core.run import Run
from mesocosm.core.score import Metric
from mesocosm.engine.comparison import metrics_of
from mesocosm.engine.leaderboard import Standing
from mesocosm.platform.documents.document import Document, Json, instant, shown
from mesocosm.platform.documents.metric import MetricDocument, metric_document
from mesocosm.platform.standings import Benchmark
from mesocosm.store.standings import Measured


class Entry(Document):
    """One run on a leaderboard: the latest finished run of a model with an agent.

    `rank`…`rank_last` are the places it may have: entries whose difference could be chance share places. References
    (the random agent, the oracle) are shown by their value and have no place.
    """

    run_id: str
    model: str
    agent: str
    created_at: datetime
    metric: MetricDocument
    cost_usd: float | None
    tokens: int
    rank: int | None
    rank_last: int | None
    runs: int = Field(description="how many finished runs this model has with this agent")
    reference: str = Field(description="`floor` for the random agent, `ceiling` for the oracle, else empty")


class Reading(Document):
    """The score of one finished run in the history of a benchmark."""

    run_id: str
    model: str
    agent: str
    created_at: datetime
    benchmark_digest: str
    value: float | None
    low: float | None
    high: float | None
    n_scored: int
    n_planned: int


class BenchmarkSummary(Document):
    """A benchmark that runs were made of, by its latest content."""

    id: str
    title: str
    version: str
    digest: str
    kind: str
    description: str
    versions: int
    runs: int
    models: int
    last_run_at: datetime | None
    metric: str | None = Field(description="name of the primary metric")
    higher_is_better: bool
    best: Entry | None
    floor: float | None
    ceiling: float | None


class BenchmarkPage(Document):
    """A page of benchmarks."""

    items: list[BenchmarkSummary]
    cursor: str | None


class BenchmarkVersion(Document):
    """One content of a benchmark."""

    digest: str
    version: str
    first_run_at: datetime
    runs: int


class BenchmarkDetail(BenchmarkSummary):
    """Everything known of a benchmark."""

    info: dict[str, Json] = Field(description="its own description: binding vow, metrics, limits")
    all_versions: list[BenchmarkVersion]
    leaderboard: list[Entry]
    history: list[Reading] = Field(description="finished runs, oldest first, at most the 1,000 latest")


def benchmark_summary(found: Benchmark) -> BenchmarkSummary:
    """Return a benchmark as a row of a list."""
    return BenchmarkSummary(**_summary(found))


def benchmark_detail(
    found: Benchmark, board: Iterable[tuple[Standing, int]], history: Iterable[Measured]
) -> BenchmarkDetail:
    """Return everything known of a benchmark; `board` tells for each run how many its model has with its agent."""
    return BenchmarkDetail(
        **_summary(found),
        info={name: shown(value) for name, value in found.latest.info.items()},
        all_versions=[
            BenchmarkVersion(
                digest=version.content.digest,
                version=version.content.version,
                first_run_at=instant(version.content.first_run_at),
                runs=version.runs,
            )
            for version in found.versions
        ],
        leaderboard=[entry(standing, number) for standing, number in board],
        history=[reading(run) for run in history],
    )


def entry(standing: Standing, number: int) -> Entry:
    """Return a place of a leaderboard; `number` is how many finished runs the model has with its agent."""
    run = standing.run
    return Entry(
        run_id=run.id,
        model=run.model,
        agent=run.agent,
        created_at=instant(run.created_at),
        metric=metric_document(standing.metric),
        cost_usd=run.usage.cost_usd,
        tokens=run.usage.total,
        rank=standing.rank,
        rank_last=standing.rank_last,
        runs=number,
        reference=standing.reference,
    )


def reading(run: Measured) -> Reading:
    """Return the score of a run as a point of a history."""
    metric = run.metric
    return Reading(
        run_id=run.run_id,
        model=run.model,
        agent=run.agent,
        created_at=instant(run.created_at),
        benchmark_digest=run.digest,
        value=None if metric is None else metric.value,
        low=None if metric is None else metric.low,
        high=None if metric is None else metric.high,
        n_scored=0 if metric is None else metric.n_scored,
        n_planned=run.planned if metric is None else metric.n_planned,
    )


def _summary(found: Benchmark) -> dict[str, Any]:
    content, metric = found.versions[0].content, _primary(found.latest)
    description = found.latest.info.get("description", "")
    return {
        "id": content.id,
        "title": content.title,
        "version": content.version,
        "digest": content.digest,
        "kind": content.kind,
        "description": description if isinstance(description, str) else "",
        "versions": len(found.versions),
        "runs": found.runs,
        "models": found.models,
        "last_run_at": instant(found.last_run_at),
        "metric": None if metric is None else metric.name,
        "higher_is_better": metric is None or metric.higher_is_better,
        "best": None if found.best is None else entry(*found.best),
        "floor": found.floor,
        "ceiling": found.ceiling,
    }


def _primary(run: Run) -> Metric | None:
    return next((metric for metric in metrics_of(run).values() if metric.primary), None)
