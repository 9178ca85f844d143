"""Results of a run, and its slices, as documents."""

from typing import Literal

from pydantic import Field

from mesocosm.core.score import MetricResult
from mesocosm.engine import results
from mesocosm.engine.slices import Slice, Slices
from mesocosm.engine.trials import Chance
from mesocosm.server.schemas.document import Document, discreet
from mesocosm.server.schemas.metric import MetricDocument, metric_document

Stage = Literal["workflow", "timeout", "grader", "model", "rollout", "other"]


class ResultCounts(Document):
    """Samples by what became of them: `done = graded + failed + skipped`, `planned = done + owed`.

    `graded` have a reward; `failed` have none, for whatever cause; `skipped` were left out by their grader. `passed` of
    the graded reached the threshold, null where there is none.
    """

    planned: int
    done: int
    graded: int
    passed: int | None
    failed: int
    skipped: int
    owed: int


class SpreadDocument(Document):
    """Statistics over the rewards of graded samples alone; `std` is that of the population."""

    n: int
    mean: float
    std: float
    min: float
    median: float
    max: float


class ChanceDocument(Document):
    """pass@k or pass^k over the tasks with k trials or more.

    `pessimistic` counts trials missing for the grader's or the machine's fault as not passed; null without any.
    """

    value: float
    low: float | None
    high: float | None
    tasks: int
    pessimistic: float | None


class PassesDocument(Document):
    """The chances that at least one of k trials passes, and that all k do."""

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
    """Tokens of the whole run; `per_sample` is the mean over those that are done."""

    prompt: int
    completion: int
    cached: int
    reasoning: int
    total: int
    per_sample: float | None


class FailureCountDocument(Document):
    """Samples without a reward for one cause; `stage` is where it went wrong."""

    stage: Stage
    cause: str
    count: int
    valid: bool = Field(description="the agent's own doing, which counts as the worst value; others are missing")


class LabelDocument(Document):
    """A fact that samples can be taken apart by, and how many values it has; at least so many when not `exact`."""

    name: str
    values: int
    exact: bool


class RunResultsDocument(Document):
    """What a run came to. `score` and `pass_rate` count failures of the agent as worst, `reward` none of them.

    `seed_pass_rate` is passed / (done - skipped): every failure, whoever's, counts as not passed.
    """

    counts: ResultCounts
    pass_threshold: float | None
    pass_inclusive: bool = Field(description="whether a reward that equals the threshold is a pass")
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
    """A mean or a rate of a slice, `n` samples; a null value: none of them counts."""

    value: float | None
    low: float | None
    high: float | None
    n: int


class SliceDocument(Document):
    """The samples with one value of a label; null: those without the label.

    `failed` of the `episodes` have no reward; `missing` of those count nowhere, the others as worst.
    """

    value: str | None
    episodes: int
    reward: PartDocument
    pass_rate: PartDocument | None
    failed: int
    missing: int
    skipped: int


class RunSlices(Document):
    """The results of a run by one label: the 50 values with most samples, and how many `more` values there are."""

    by: str
    slices: list[SliceDocument]
    more: int


def results_document(found: results.RunResults) -> RunResultsDocument:
    """Return results as a document."""
    counts, usage = found.counts, found.usage
    return RunResultsDocument(
        counts=ResultCounts.model_validate(counts, from_attributes=True),
        pass_threshold=found.pass_threshold,
        pass_inclusive=found.pass_inclusive,
        reward=None if found.reward is None else SpreadDocument.model_validate(found.reward, from_attributes=True),
        score=_metric(found.score),
        pass_rate=_metric(found.pass_rate),
        seed_pass_rate=found.seed_pass_rate,
        passes=[
            PassesDocument(k=one.k, pass_at_k=_chance(one.at), pass_hat_k=_chance(one.hat)) for one in found.passes
        ],
        latency=None if found.latency is None else LatencyDocument.model_validate(found.latency, from_attributes=True),
        tokens=TokensDocument(
            prompt=usage.prompt,
            completion=usage.completion,
            cached=usage.cached,
            reasoning=usage.reasoning,
            total=usage.total,
            per_sample=found.tokens_per_sample,
        ),
        cost_usd=usage.cost_usd,
        failures=[FailureCountDocument.model_validate(one, from_attributes=True) for one in found.failures],
        metrics=[metric_document(metric) for metric in found.metrics],
        labels=[LabelDocument(name=discreet(one.name), values=one.values, exact=one.exact) for one in found.labels],
    )


def slices_document(found: Slices) -> RunSlices:
    """Return slices as a document."""
    return RunSlices(by=found.by, slices=[_slice(one) for one in found.slices], more=found.more)


def _slice(one: Slice) -> SliceDocument:
    return SliceDocument(
        value=None if one.value is None else discreet(one.value),
        episodes=one.samples,
        reward=_part(one.reward),
        pass_rate=None if one.pass_rate is None else _part(one.pass_rate),
        failed=one.failed,
        missing=one.missing,
        skipped=one.skipped,
    )


def _part(metric: MetricResult) -> PartDocument:
    return PartDocument(value=metric.value, low=metric.low, high=metric.high, n=metric.n_scored)


def _chance(chance: Chance) -> ChanceDocument:
    return ChanceDocument.model_validate(chance, from_attributes=True)


def _metric(metric: MetricResult | None) -> MetricDocument | None:
    return None if metric is None else metric_document(metric)
