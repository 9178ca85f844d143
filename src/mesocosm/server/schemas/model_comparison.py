"""A stored comparison of two models as a document."""

import math
from datetime import datetime
from typing import Literal

from pydantic import Field

from mesocosm.core.group import OutcomeStatus
from mesocosm.server.runs.model_comparison import ModelComparison, Row, Side
from mesocosm.server.schemas.document import Document, discreet, instant
from mesocosm.server.schemas.metric import MetricDocument, metric_document


class SideDocument(Document):
    """One model: where it is served (empty where nobody said), and the group of its runs."""

    name: Literal["a", "b"]
    provider: str
    model: str
    base_url: str
    group_id: str
    created_at: datetime


class SideResult(Document):
    """What came of a benchmark on one side; `reason` says why there is no score."""

    run_id: str | None
    status: OutcomeStatus | None = Field(description="null where this side never came to it")
    reason: str
    score: MetricDocument | None


class ModelComparisonRow(Document):
    """One benchmark: both results, and what the difference (b − a) is worth.

    `winner` is `tie` unless the interval excludes 0 and the test agrees; null where the sides cannot be compared.
    """

    benchmark: str
    title: str
    unit: str | None
    higher_is_better: bool | None
    a: SideResult
    b: SideResult
    delta: float | None
    low: float | None
    high: float | None
    level: float | None
    p_value: float | None
    n_a: int | None
    n_b: int | None
    paired: bool | None
    winner: Literal["a", "b", "tie"] | None
    note: str


class ModelComparisonDocument(Document):
    """Two models on the same benchmarks."""

    id: str
    sides: list[SideDocument] = Field(description="a, then b; the second one is missing until it has begun")
    rows: list[ModelComparisonRow]


def model_comparison_document(found: ModelComparison) -> ModelComparisonDocument:
    """Return a comparison as a document."""
    return ModelComparisonDocument(
        id=found.comparison_id,
        sides=[_side("a" if place == 0 else "b", side) for place, side in enumerate(found.sides)],
        rows=[_row(found, row) for row in found.rows],
    )


def _side(name: Literal["a", "b"], side: Side) -> SideDocument:
    request = side.group.request
    return SideDocument(
        name=name,
        provider=str(request.get("provider") or ""),
        model=discreet(str(request.get("model") or "")),
        base_url=discreet(side.base_url),
        group_id=side.group.id,
        created_at=instant(side.group.created_at),
    )


def _result(found: ModelComparison, place: int, benchmark: str) -> SideResult:
    outcome = found.sides[place].outcome(benchmark) if place < len(found.sides) else None
    if outcome is None:
        return SideResult(run_id=None, status=None, reason="", score=None)
    run = found.sides[place].runs.get(outcome.run_id)
    reason = "" if outcome.status is OutcomeStatus.SKIPPED else discreet(outcome.reason)
    score = None if run is None or run.primary is None else metric_document(run.primary)
    return SideResult(run_id=outcome.run_id or None, status=outcome.status, reason=reason, score=score)


def _row(found: ModelComparison, row: Row) -> ModelComparisonRow:
    pair = row.pair
    contrast = None if pair is None else pair.contrast
    run = row.a or row.b
    return ModelComparisonRow(
        benchmark=row.benchmark,
        title="" if run is None else run.benchmark_title,
        unit=row.unit,
        higher_is_better=row.higher_is_better,
        a=_result(found, 0, row.benchmark),
        b=_result(found, 1, row.benchmark),
        delta=row.delta,
        low=None if contrast is None else _finite(contrast.delta.low),
        high=None if contrast is None else _finite(contrast.delta.high),
        level=None if contrast is None else contrast.delta.level,
        p_value=None if pair is None else pair.p_adjusted,
        n_a=None if contrast is None else contrast.n_a,
        n_b=None if contrast is None else contrast.n_b,
        paired=None if contrast is None else contrast.paired,
        winner=pair.winner if pair is not None and None not in row.scores else None,
        note="" if row.group is None else row.group.note,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
