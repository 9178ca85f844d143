"""Documents of stored comparisons of two models."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from mesocosm.core.group import OutcomeStatus
from mesocosm.server.schemas.document import Document
from mesocosm.server.schemas.metric import MetricDocument


class SideDocument(Document):
    """One model: its URL (empty if none was given), and the group of its runs."""

    name: Literal["a", "b"]
    provider: str
    model: str
    base_url: str
    group_id: str
    created_at: datetime


class SideResult(Document):
    """The outcome of a benchmark on one side; `reason` says why there is no score."""

    run_id: str | None
    status: OutcomeStatus | None = Field(description="Outcome; null if this side has not reached the benchmark.")
    reason: str
    score: MetricDocument | None


class ModelComparisonRow(Document):
    """One benchmark: both results, and their difference (b − a) with its statistics.

    `winner` is `tie` unless the interval excludes 0 and the test agrees; null if the sides cannot be compared.
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
    weak: bool = Field(default=False, description="Whether the interval rests on few values.")
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
    sides: list[SideDocument] = Field(description="Sides a and b; b is missing until it has started.")
    rows: list[ModelComparisonRow]
