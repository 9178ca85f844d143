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
    flipped: bool = Field(description="Whether the task passed in one run and failed in the other.")
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
    paired: bool = Field(description="Whether the runs were compared task by task; false if they share no tasks.")
    mean_a: float
    mean_b: float
    delta: float
    low: float | None
    high: float | None
    weak: bool = Field(default=False, description="Whether the interval rests on few values.")
    level: float
    p_value: float
    p_adjusted: float
    test: str
    method: str
    n_a: int
    n_b: int
    smallest_difference: float | None = Field(
        description="Smallest difference that this number of tasks detects with 80 % power; null if there is none."
    )
    winner: Literal["a", "b", "tie"]
    counts: TaskCountsDocument
    tasks: list[TaskPairDocument] = Field(
        description="At most 2,000 tasks, flipped ones and largest differences first."
    )
    density: list[DensityCell] = Field(description="All tasks, in at most 20 × 20 cells.")


class BenchmarkComparison(Document):
    """The runs of one benchmark. The first one is the baseline, compared with each of the others."""

    benchmark: str
    benchmark_title: str
    metric: str
    metrics: list[str] = Field(description="Names of the metrics that can be requested.")
    higher_is_better: bool | None = Field(description="Null if not declared; the winner is then the higher value.")
    runs: list[str]
    scores: list[MetricDocument | None]
    same_content: bool = Field(description="Whether all runs used the same content of the benchmark.")
    pairs: list[RunPairDocument]
    note: str = Field(description="Why there are no pairs, or a caveat; otherwise empty.")


class ComparisonDocument(Document):
    """Two or more runs side by side."""

    runs: list[RunSummary]
    differences: list[DifferenceDocument]
    benchmarks: list[BenchmarkComparison]


class MoveDocument(Document):
    """A step of an episode: what was done, and which events it has. Number 0 is what was there at first."""

    number: int
    step: int
    first_event: int
    events: int
    action: str = Field(description="Abridged action; empty for a step without one.")
    reward: float | None
    failure: str = Field(description="Cause of a failure in it; else empty.")


class AlignedStepDocument(Document):
    """A step of both episodes, or of one of them if the other has no counterpart.

    `effect`: the same action, and something else came of it.
    """

    a: MoveDocument | None
    b: MoveDocument | None
    change: Literal["same", "effect", "action", "only_a", "only_b"]


class EpisodeSideDocument(Document):
    """One of two compared episodes: its steps, repeated actions, and actions that changed nothing to be seen."""

    episode_id: str
    steps: int
    repeated: int
    in_vain: int


class EpisodePairDocument(Document):
    """Two episodes of a task, aligned: their common beginning, then the alignment with the fewest changes.

    `finding` says what sets them apart first: another `action`, the `environment` after the same action, a `failure`,
    or that one `ended`. Episodes of an `other_task` are not aligned. `first` is the number of the first step that
    differs.
    """

    finding: Literal["same", "action", "environment", "failure", "ended", "other_task"]
    words: str = Field(description="The finding as a sentence.")
    first: int | None
    by: Literal["step", "call"] = Field(
        description="What a step is: one of the environment, or a call of the model by a program that took no action."
    )
    whole: bool = Field(description="False if only the first 5,000 steps of an episode were compared.")
    steps: list[AlignedStepDocument]
    a: EpisodeSideDocument
    b: EpisodeSideDocument
