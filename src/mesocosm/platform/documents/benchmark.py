"""Benchmarks as documents."""

from datetime import datetime

from pydantic import Field

from mesocosm.platform.documents.document import Document, Json
from mesocosm.platform.documents.metric import MetricDocument


class Entry(Document):
    """One run on a leaderboard: the latest finished run of a model with an agent.

    `rank`…`rank_last` are the places it may have: entries whose difference could be chance share places.
    """

    run_id: str
    model: str
    agent: str
    created_at: datetime
    metric: MetricDocument
    cost_usd: float | None
    tokens: int
    rank: int
    rank_last: int
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
