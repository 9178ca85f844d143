"""Documents of run comparisons."""

from typing import Literal

from pydantic import Field

from mesocosm.server.schemas.document import Document, Json
from mesocosm.server.schemas.metric import MetricDocument
from mesocosm.server.schemas.run import RunSummary


class DifferenceDocument(Document):
    """A setting in which the runs differ; `values` are in the order of the runs, null if a run has none."""

    field: str
    values: list[Json]


class TaskPairDocument(Document):
    """One task in both runs: mean values over its trials (null: not scored), and an example episode of each run."""

    task_id: str
    task_digest: str
    a: float | None
    b: float | None
    flipped: bool = Field(description="passed in one run, failed in the other")
    episode_a: str | None
    episode_b: str | None


class DensityCell(Document):
    """Number of tasks with approximately these values in both runs."""

    a: float
    b: float
    n: int


class TaskCountsDocument(Document):
    """Numbers of tasks by which run scored better, and of those that only one run has scored."""

    a_better: int
    b_better: int
    same: int
    flipped: int
    only_a: int
    only_b: int


class RunPairDocument(Document):
    """Run `b` against run `a` in one metric: `delta` = b − a with its interval.

    `winner` is `tie` unless the interval excludes 0 and the test agrees, Holm-adjusted for several pairs.
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
    """The runs of one benchmark. The first one is the baseline, compared with each of the others."""

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
