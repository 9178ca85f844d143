"""Documents of a run's results and slices."""

from typing import Literal

from pydantic import Field

from mesocosm.server.schemas.document import Document
from mesocosm.server.schemas.metric import MetricDocument

Stage = Literal["workflow", "timeout", "grader", "model", "rollout", "other"]


class ResultCounts(Document):
    """Samples by outcome: `done = graded + failed + skipped`, `planned = done + owed`.

    `graded` have a reward; `failed` have none, for any cause; `skipped` were left out by their grader. `passed` counts
    the graded ones that reached the threshold, null if there is none.
    """

    planned: int
    done: int
    graded: int
    passed: int | None
    failed: int
    skipped: int
    owed: int


class SpreadDocument(Document):
    """Statistics over the rewards of graded samples only; `std` is the population standard deviation."""

    n: int
    mean: float
    std: float
    min: float
    median: float
    max: float


class ChanceDocument(Document):
    """pass@k or pass^k over the tasks with k trials or more.

    `pessimistic` counts trials that are missing through the grader's or the machine's fault as not passed; null if
    there are none.
    """

    value: float
    low: float | None
    high: float | None
    weak: bool = Field(default=False, description="Whether the interval rests on few values.")
    tasks: int
    pessimistic: float | None


class PassesDocument(Document):
    """The probabilities that at least one of k trials passes, and that all k pass."""

    k: int
    pass_at_k: ChanceDocument
    pass_hat_k: ChanceDocument


class LatencyDocument(Document):
    """Seconds from the start of a sample to its grade; percentile p is the ⌈np⌉-th smallest."""

    n: int
    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    max: float


class TokensDocument(Document):
    """Tokens of the whole run; `per_sample` is the mean over finished samples."""

    prompt: int
    completion: int
    cached: int
    reasoning: int
    total: int
    per_sample: float | None


class FailureCountDocument(Document):
    """Number of samples without a reward for one cause; `stage` is where the failure occurred."""

    stage: Stage
    cause: str
    count: int
    valid: bool = Field(
        description="Whether the agent caused the failure, which then counts as the worst value; otherwise it "
        "is missing."
    )


class LabelDocument(Document):
    """A label to group samples by, or `trial`, and the number of its values: at most 100, so always `exact`."""

    name: str
    values: int
    exact: bool = True


class RunResultsDocument(Document):
    """The results of a run. `score` and `pass_rate` count failures of the agent as worst; `reward` excludes them.

    `seed_pass_rate` is passed / (done - skipped): every failure, whatever its cause, counts as not passed.
    """

    counts: ResultCounts
    pass_threshold: float | None
    pass_inclusive: bool = Field(description="Whether a reward equal to the threshold passes.")
    reward: SpreadDocument | None
    score: MetricDocument | None
    pass_rate: MetricDocument | None
    seed_pass_rate: float | None
    passes: list[PassesDocument]
    latency: LatencyDocument | None
    tokens: TokensDocument
    cost_usd: float | None
    failures: list[FailureCountDocument]
    metrics: list[MetricDocument]
    labels: list[LabelDocument]


class PartDocument(Document):
    """A mean or a rate over `n` samples of a slice; the value is null if no sample counts."""

    value: float | None
    low: float | None
    high: float | None
    weak: bool = Field(default=False, description="Whether the interval rests on few values.")
    n: int


class SliceDocument(Document):
    """The samples with one value of a label; null: those without the label.

    `failed` of the `episodes` have no reward; `missing` of those are excluded from all values, the others count as
    worst.
    """

    value: str | None
    episodes: int
    reward: PartDocument
    pass_rate: PartDocument | None
    failed: int
    missing: int
    skipped: int


class WrongKindDocument(Document):
    """Wrong answers with one `value`; null: those without one.

    `share` is that of the run's wrong answers, with its interval. `other` is their number in the run they are compared
    with, `difference` that of the shares; both are null without one. `index` is the first one's in the plan.
    """

    value: str | None
    count: int
    share: PartDocument
    index: int
    other: int | None
    difference: PartDocument | None


class WrongAnswersDocument(Document):
    """The wrong answers of a run by one field: the 50 kinds with most answers, and the number of `more` kinds.

    `wrong` of the run's `measured` episodes are wrong, the agent's own failures among them.
    """

    by: str
    wrong: int
    measured: int
    other_wrong: int | None = Field(description="Wrong answers of the run compared with; null without one.")
    kinds: list[WrongKindDocument]
    more: int


class RunSlices(Document):
    """The results of a run by one label: the 50 values with most samples, and the number of `more` values."""

    by: str
    slices: list[SliceDocument]
    more: int
