"""Results of a run over its samples, in total and by label."""

from functools import partial

from mesocosm.core.score import MetricResult
from mesocosm.engine.results import RunResults, results
from mesocosm.engine.slices import Slice, Slices, slices
from mesocosm.engine.wrong_answers import wrong_answers
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
    WrongAnswersDocument,
    WrongKindDocument,
)
from mesocosm.stats.interval import Interval

_results = Cache[RunResultsDocument](200)
_slices = Cache[RunSlices](200)
_wrong = Cache[WrongAnswersDocument](200)


def read_results(run: VisibleRun) -> RunResultsDocument:
    """Return the results of a run."""
    found = partial(results, run.record, RunReader(run))
    return kept(_results, run, lambda: _results_document(found(figures_of(run).metrics)))


def read_slices(run: VisibleRun, by: str) -> RunSlices:
    """Return the results of a run by the label `by`."""
    return kept(_slices, run, lambda: _slices_document(slices(run.record, RunReader(run), by)), by)


def read_wrong_answers(run: VisibleRun, by: str, against: VisibleRun | None = None) -> WrongAnswersDocument:
    """Return the wrong answers of a run by `by`, beside those of `against`. Raises UsageError, Refusal 403."""
    beside = [] if against is None else [against]
    name = f"{by} {'' if against is None else (against.id, against.record.counts.done, against.record.regraded)}"
    return kept(
        _wrong, run, lambda: _wrong_document(run, by, RunReader(run, *beside), [one.id for one in beside]), name
    )


def _wrong_document(run: VisibleRun, by: str, reader: RunReader, beside: list[str]) -> WrongAnswersDocument:
    found = wrong_answers(reader, run.id, by, *beside)
    scored = figures_of(run).metrics
    primary = next((metric for metric in scored if metric.primary), None)
    return WrongAnswersDocument(
        by=by,
        wrong=found.wrong,
        # While a run goes on, its score is read at another moment than its wrong answers.
        measured=found.wrong if primary is None else max(primary.n_scored, found.wrong),
        other_wrong=found.other_wrong,
        kinds=[
            WrongKindDocument(
                value=None if kind.value is None else discreet(kind.value),
                count=kind.count,
                share=_interval(kind.share),
                index=kind.first,
                other=kind.other,
                difference=None if kind.difference is None else _interval(kind.difference),
            )
            for kind in found.kinds
        ],
        more=found.more,
    )


def _interval(found: Interval) -> PartDocument:
    return PartDocument(value=found.value, low=found.low, high=found.high, weak=found.weak, n=found.n)


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
        labels=[LabelDocument(name=discreet(one.name), values=one.values) for one in found.labels],
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
    return PartDocument(value=metric.value, low=metric.low, high=metric.high, weak=metric.weak, n=metric.n_scored)


def _metric(metric: MetricResult | None) -> MetricDocument | None:
    return None if metric is None else MetricDocument.of(metric)
