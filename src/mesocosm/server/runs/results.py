"""Results of a run over its samples, in total and by label."""

from functools import partial

from mesocosm.core.score import MetricResult
from mesocosm.engine.results import RunResults, results
from mesocosm.engine.slices import Slice, Slices, slices
from mesocosm.server.cache import Cache
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.runs.figures import figures_of, kept
from mesocosm.server.runs.reader import RunReader
from mesocosm.server.schemas.document import discreet
from mesocosm.server.schemas.metric import MetricDocument
from mesocosm.server.schemas.results import (
    ChanceDocument,
    FailureCountDocument,
    LabelDocument,
    LatencyDocument,
    PartDocument,
    PassesDocument,
    ResultCounts,
    RunResultsDocument,
    RunSlices,
    SliceDocument,
    SpreadDocument,
    TokensDocument,
)

_results = Cache[RunResultsDocument](200)
_slices = Cache[RunSlices](200)


def read_results(run: VisibleRun) -> RunResultsDocument:
    """Return the results of a run."""
    found = partial(results, run.record, RunReader(run))
    return kept(_results, run, lambda: _results_document(found(figures_of(run).metrics)))


def read_slices(run: VisibleRun, by: str) -> RunSlices:
    """Return the results of a run by the label `by`."""
    return kept(_slices, run, lambda: _slices_document(slices(run.record, RunReader(run), by)), by)


def _results_document(found: RunResults) -> RunResultsDocument:
    counts, usage = found.counts, found.usage
    return RunResultsDocument(
        counts=ResultCounts.of(counts),
        pass_threshold=found.pass_threshold,
        pass_inclusive=found.pass_inclusive,
        reward=None if found.reward is None else SpreadDocument.of(found.reward),
        score=_metric(found.score),
        pass_rate=_metric(found.pass_rate),
        seed_pass_rate=found.seed_pass_rate,
        passes=[
            PassesDocument(k=one.k, pass_at_k=ChanceDocument.of(one.at), pass_hat_k=ChanceDocument.of(one.hat))
            for one in found.passes
        ],
        latency=None if found.latency is None else LatencyDocument.of(found.latency),
        tokens=TokensDocument(
            prompt=usage.prompt,
            completion=usage.completion,
            cached=usage.cached,
            reasoning=usage.reasoning,
            total=usage.total,
            per_sample=found.tokens_per_sample,
        ),
        cost_usd=usage.cost_usd,
        failures=list(map(FailureCountDocument.of, found.failures)),
        metrics=list(map(MetricDocument.of, found.metrics)),
        labels=[LabelDocument(name=discreet(one.name), values=one.values, exact=one.exact) for one in found.labels],
    )


def _slices_document(found: Slices) -> RunSlices:
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


def _metric(metric: MetricResult | None) -> MetricDocument | None:
    return None if metric is None else MetricDocument.of(metric)
