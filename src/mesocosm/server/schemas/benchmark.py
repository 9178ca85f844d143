"""Documents of benchmarks."""

from datetime import date, datetime
from typing import Literal

from pydantic import Field

from mesocosm.server.schemas.document import Document, Json
from mesocosm.server.schemas.metric import MetricDocument


class BenchmarkEntry(Document):
    """One run on a leaderboard: the latest finished run of a model with an agent.

    `rank`…`rank_last` are its possible ranks: entries whose difference could be chance share ranks. References (the
    random agent, the oracle) are listed by their value without a rank.
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
    sample: bool = Field(description="whether the run took only some of the benchmark's tasks")
    reference: str = Field(description="`floor` for the random agent, `ceiling` for the oracle, else empty")
    unranked: str = Field(default="", description="why it takes no place; empty where it does, and for references")
    uncompared: int = Field(
        default=0,
        description="runs with a place that it cannot be compared with, since they were scored by other rules; it "
        "shares places with them",
    )


class HistoryPoint(Document):
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
    sample: bool = Field(description="whether the run took only some of the benchmark's tasks")


class Coverage(Document):
    """How much of a benchmark's newest content was run.

    `endless` benchmarks generate tasks from seeds, so they have no total. `tasks` is the greatest number of tasks that
    a run has scored; `total` is the number of all tasks, null until a run has covered all of them.
    """

    state: Literal["never", "partly", "whole", "endless"]
    tasks: int
    total: int | None


class BenchmarkSummary(Document):
    """A benchmark with stored runs (described by its latest content), one of the catalogue, or both."""

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
    best: BenchmarkEntry | None
    floor: float | None
    ceiling: float | None
    origin: str = Field(description="`built-in`, a distribution or a folder; empty outside of the catalogue")
    source: str
    licence: str
    split: str
    unit: str
    coverage: Coverage
    lacking: list[str] | None = Field(description="what this machine lacks to run it; null while that is not known")
    command: str | None = Field(description="what runs it; null outside of the catalogue")


class ParameterDocument(Document):
    """A parameter of a benchmark, as accepted by `--extra`."""

    name: str
    type: str
    help: str
    default: Json
    choices: list[Json]
    minimum: float | None
    maximum: float | None
    aliases: list[str]
    sampling: bool = Field(description="whether it is what `--max-examples` sets")


class RequirementDocument(Document):
    """A requirement of a benchmark on the machine that runs it."""

    kind: str
    name: str
    why: str
    unless: list[str] = Field(description="parameters that make it unnecessary")
    lacking: str | None = Field(description="what is missing here, empty when all is well, null while not known")


class ReferenceDocument(Document):
    """A published score; `comparable` if its unit and split are those of the benchmark."""

    label: str
    value: float
    unit: str
    split: str
    source: str
    published: date | None
    comparable: bool


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
    """A benchmark in full."""

    info: dict[str, Json] = Field(description="its own description: binding vow, metrics, limits")
    all_versions: list[BenchmarkVersion]
    leaderboard: list[BenchmarkEntry]
    history: list[HistoryPoint] = Field(description="finished runs, oldest first, at most the 1,000 latest")
    aliases: list[str]
    agent: str = Field(description="what drives the model where nobody says otherwise; empty outside of the catalogue")
    parameters: list[ParameterDocument]
    requirements: list[RequirementDocument]
    references: list[ReferenceDocument]
