"""All recorded data of one run, as documents."""

from collections.abc import Sequence

import msgspec

from mesocosm.core.episode import Episode
from mesocosm.core.failure import OF_CODE, RULES
from mesocosm.core.run import Run
from mesocosm.interop.record import without_files
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.runs.charts import contrasts, cumulative
from mesocosm.server.runs.commands import commands_of
from mesocosm.server.runs.documents import artifact_document, published, run_fields
from mesocosm.server.runs.figures import Figures, UngradedCause, figures_of
from mesocosm.server.schemas.document import discreet, instant, shortened
from mesocosm.server.schemas.metric import MetricDocument
from mesocosm.server.schemas.run import (
    FailureGroup,
    HistogramDocument,
    PositionBin,
    Reproduction,
    RunDetail,
    RunSeriesDocument,
    TimeBinDocument,
    Ungraded,
)
from mesocosm.store.blobs import Artifact
from mesocosm.store.rows import primary_score


def read_run(run: VisibleRun) -> RunDetail:
    """Return a run in full."""
    figures = figures_of(run)
    failed = any(not group[2].valid for group in figures.failures)
    broken = any(group[0] in OF_CODE for group in figures.failures)
    detail = run_detail(run.record, figures, commands_of(run, failed=failed, broken=broken), run.artifacts())
    return detail.model_copy(update=run.ownership(prompts=True))


def run_detail(run: Run, figures: Figures, commands: Reproduction, artifacts: Sequence[Artifact] = ()) -> RunDetail:
    """Return a run in full, with the metrics of `figures`, because a run in progress stores none."""
    metrics = list(map(MetricDocument.of, figures.metrics))
    primary = next((metric for metric in metrics if metric.primary), None)
    return RunDetail(
        **{**run_fields(run), "primary": primary, "published": published(run, primary)},
        metrics=metrics,
        failures=[_failure_group(cause, count, first) for cause, count, first in figures.failures],
        ungraded=list(map(_ungraded, figures.ungraded)),
        mean_reward=figures.means[0],
        mean_steps=figures.means[1],
        warnings=[discreet(warning) for warning in run.warnings],
        rescored=run.rescored,
        spec=shortened(msgspec.to_builtins(run.spec, str_keys=True)),
        info=shortened(run.info),
        provenance=shortened(without_files(run.provenance)),
        commands=commands,
        artifacts=list(map(artifact_document, artifacts)),
        holder=None if run.holder is None else str(run.holder),
    )


def _failure_group(cause: str, count: int, first: Episode) -> FailureGroup:
    failure = first.failure
    return FailureGroup(
        cause=cause,
        boundary="" if failure is None else failure.boundary.value,
        count=count,
        valid=failure is not None and RULES[failure.cause].valid,
        episode_id=first.id,
        task_id=first.task_id,
        message="" if failure is None else discreet(failure.message),
    )


def _ungraded(found: UngradedCause) -> Ungraded:
    first = found.first
    said = next((one.explanation for one in first.scores if one.name == found.score), "")
    return Ungraded(
        metric=found.metric, cause=found.cause, episode_id=first.id, task_id=first.task_id, message=discreet(said)
    )


def read_series(run: VisibleRun, *, curves: bool) -> RunSeriesDocument:
    """Return the data of a run's charts; with `curves`, also how its score settled and what sets passed ones apart."""
    score, series = primary_score(run.record.info, run.record.metrics), run.series(plays=curves)
    drawn, ends = series.histogram, [slot.at for slot in series.over_time]
    width = ends[1] - ends[0] if len(ends) > 1 else 0.0
    return RunSeriesDocument(
        score=score or None,
        histogram=HistogramDocument(
            low=drawn.low, high=drawn.high, counts=list(drawn.counts), missing=drawn.n_missing, worst=drawn.n_worst
        ),
        by_position=[PositionBin.of(slot) for slot in series.by_position],
        over_time=[
            TimeBinDocument(
                at=instant(slot.at),
                seconds=width,
                episodes=slot.finished,
                failed=slot.failed,
                tokens=slot.tokens,
                cost_usd=slot.cost_usd,
            )
            for slot in series.over_time
        ],
        cumulative=cumulative(run.record, series.plays),
        contrasts=contrasts(run.record, series.plays),
        sampled=series.sampled,
    )
