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
    cost_usd: float | None = Field(description="Cost of the run in US dollars; null if a price is unknown.")
    tokens: int = Field(description="Tokens of the run, prompts and completions together.")
    rank: int | None = Field(description="Best possible rank; null if it is not ranked.")
    rank_last: int | None = Field(description="Worst possible rank; null if it is not ranked.")
    runs: int = Field(description="Number of finished runs of this model with this agent.")
    sample: bool = Field(description="Whether the run covered only some of the benchmark's tasks.")
    reference: str = Field(description="`floor` for the random agent, `ceiling` for the oracle, otherwise empty.")
    unranked: str = Field(default="", description="Why the entry is not ranked; empty if it is, and for references.")
    uncompared: int = Field(
        default=0,
        description="Number of ranked runs that it cannot be compared with, because they were scored by other "
        "rules; it shares ranks with them.",
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
    weak: bool = Field(default=False, description="Whether the interval rests on few values.")
    n_scored: int
    n_planned: int
    sample: bool = Field(description="Whether the run covered only some of the benchmark's tasks.")


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
    versions: int = Field(description="Number of contents with stored runs.")
    runs: int = Field(description="Number of stored runs.")
    models: int = Field(description="Number of models with stored runs.")
    last_run_at: datetime | None
    metric: str | None = Field(description="Name of the primary metric; null if unknown.")
    higher_is_better: bool
    best: BenchmarkEntry | None = Field(description="Best run that may be ranked; null if there is none.")
    floor: float | None
    ceiling: float | None
    origin: str = Field(description="`built-in`, a distribution or a folder; empty if not in the catalogue.")
    source: str
    licence: str
    split: str
    unit: str
    coverage: Coverage
    lacking: list[str] | None = Field(
        description="What this machine lacks to run the benchmark; null while that is unknown."
    )
    command: str | None = Field(description="Command that runs the benchmark; null if not in the catalogue.")
    hosted: bool = Field(description="Whether workers of a server run it: others start a program of their own.")


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
    sampling: bool = Field(description="Whether `--max-examples` sets this parameter.")


class RequirementDocument(Document):
    """A requirement of a benchmark on the machine that runs it."""

    kind: str
    name: str
    why: str
    unless: list[str] = Field(description="Parameters that make it unnecessary.")
    lacking: str | None = Field(
        description="What is missing on this machine; empty if nothing is, null while that is unknown."
    )


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

    info: dict[str, Json] = Field(description="The benchmark's own description: binding vow, metrics, limits.")
    all_versions: list[BenchmarkVersion]
    leaderboard: list[BenchmarkEntry]
    history: list[HistoryPoint] = Field(description="The latest finished runs, at most 1,000, oldest first.")
    aliases: list[str]
    agent: str = Field(description="Default agent; empty if not in the catalogue.")
    parameters: list[ParameterDocument]
    requirements: list[RequirementDocument]
    references: list[ReferenceDocument]
