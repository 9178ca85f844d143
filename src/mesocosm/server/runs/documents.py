"""Runs and their episodes as documents of the API."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from mesocosm.core.episode import Episode
from mesocosm.core.failure import RULES, Failure
from mesocosm.core.run import Counts, Run
from mesocosm.core.score import MetricResult
from mesocosm.interop.record import without_files
from mesocosm.server.schemas.document import discreet, instant, moment, shortened
from mesocosm.server.schemas.episode import EpisodeDetail, EpisodeSummary, FailureDocument
from mesocosm.server.schemas.metric import MetricDocument, metric_document, score_document, usage_document
from mesocosm.server.schemas.run import (
    ArtifactDocument,
    CountsDocument,
    FailureGroup,
    HistogramDocument,
    PositionBin,
    Published,
    Reproduction,
    RunDetail,
    RunSeriesDocument,
    RunSummary,
    State,
    TimeBinDocument,
    Ungraded,
)
from mesocosm.store import Artifact, abandoned
from mesocosm.store.rows import primary_score
from mesocosm.store.series import RunSeries


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What belongs to one run's page beside its row: `failures` as the store lists them, mean reward and steps.

    `ungraded` is the first episode for each cause why the primary score is missing though no episode failed of it.
    """

    metrics: Sequence[MetricResult]
    failures: Sequence[tuple[str, int, Episode]]
    means: tuple[float | None, float | None]
    artifacts: Sequence[Artifact]
    ungraded: Sequence[tuple[str, Episode]]


def state_of(run: Run) -> State:
    """Return the status of a run; one that should be going on while its process is gone is interrupted."""
    return "interrupted" if abandoned(run) else run.status.value


def counts_document(counts: Counts) -> CountsDocument:
    """Return counts of episodes as a document."""
    return CountsDocument(
        planned=counts.planned,
        completed=counts.completed,
        truncated=counts.truncated,
        timeout=counts.timeout,
        failed=counts.failed,
        done=counts.done,
        owed=counts.owed,
    )


def run_summary(run: Run, ownership: Mapping[str, Any] | None = None) -> RunSummary:
    """Return a run as a row of a list, with what a server knows of its owner."""
    return RunSummary(**{**_run_fields(run), **(ownership or {})})


def run_detail(
    run: Run, facts: RunFacts, commands: Reproduction, ownership: Mapping[str, Any] | None = None
) -> RunDetail:
    """Return everything known of a run; its metrics are those of `facts`, which a running run has none of itself."""
    metrics = [metric_document(metric) for metric in facts.metrics]
    summary = _run_fields(run)
    primary = next((metric for metric in metrics if metric.primary), None)
    return RunDetail(
        **{**summary, "primary": primary, "published": _published(run, primary), **(ownership or {})},
        metrics=metrics,
        failures=[failure_group(cause, count, first) for cause, count, first in facts.failures],
        ungraded=[_ungraded(cause, first, primary_score(run.info, facts.metrics)) for cause, first in facts.ungraded],
        mean_reward=facts.means[0],
        mean_steps=facts.means[1],
        warnings=[discreet(warning) for warning in run.warnings],
        rescored=run.rescored,
        spec=shortened(msgspec.to_builtins(run.spec, str_keys=True)),
        info=shortened(run.info),
        provenance=shortened(without_files(run.provenance)),
        commands=commands,
        artifacts=[artifact_document(artifact) for artifact in facts.artifacts],
        holder=None if run.holder is None else str(run.holder),
    )


def failure_group(cause: str, count: int, first: Episode) -> FailureGroup:
    """Return the failures of one cause, told by the first of them."""
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


def _ungraded(cause: str, first: Episode, score: str) -> Ungraded:
    said = next((one.explanation for one in first.scores if one.name == score), "")
    return Ungraded(cause=cause, episode_id=first.id, task_id=first.task_id, message=discreet(said))


def artifact_document(artifact: Artifact) -> ArtifactDocument:
    """Return a file of a run as a document."""
    return ArtifactDocument(
        id=artifact.id,
        name=artifact.name,
        digest=artifact.digest,
        episode_id=artifact.episode_id or None,
        created_at=instant(artifact.created_at),
    )


def series_document(score: str, series: RunSeries) -> RunSeriesDocument:
    """Return the series of a run as a document; `score` is the name of the score that its primary metric reads."""
    drawn, ends = series.histogram, [slot.at for slot in series.over_time]
    width = ends[1] - ends[0] if len(ends) > 1 else 0.0
    return RunSeriesDocument(
        score=score or None,
        histogram=HistogramDocument(
            low=drawn.low, high=drawn.high, counts=list(drawn.counts), missing=drawn.n_missing, worst=drawn.n_worst
        ),
        by_position=[
            PositionBin(first=slot.first, last=slot.last, n=slot.n, mean=slot.mean, failed=slot.failed)
            for slot in series.by_position
        ],
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
        sampled=series.sampled,
    )


def _published(run: Run, primary: MetricDocument | None) -> Published | None:
    facts = run.provenance.get("bench")
    found = facts.get("high_score") if isinstance(facts, dict) else None
    if not isinstance(found, dict):
        return None
    label, value, source = found.get("label"), found.get("value"), found.get("source")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    score = None if primary is None else primary.value
    delta = None if score is None else score - value
    return Published(label=str(label or ""), value=value, source=str(source or ""), delta=delta)


def _run_fields(run: Run) -> dict[str, Any]:
    state = state_of(run)
    primary = None if run.primary is None else metric_document(run.primary)
    return {
        "id": run.id,
        "name": run.name,
        "benchmark": run.benchmark,
        "benchmark_title": run.benchmark_title,
        "benchmark_version": run.benchmark_version,
        "benchmark_digest": run.benchmark_digest,
        "kind": run.kind,
        "model": discreet(run.model),
        "agent": run.agent,
        "state": state,
        "stop_requested": run.stop_requested,
        "attempt": run.attempt,
        "signature": run.signature,
        "group_id": run.group_id or None,
        "tags": list(run.tags),
        "counts": counts_document(run.counts),
        "primary": primary,
        "published": _published(run, primary),
        "usage": usage_document(run.usage),
        "created_at": instant(run.created_at),
        "started_at": moment(run.started_at),
        "ended_at": moment(run.ended_at),
        "duration_s": worked_s(run),
        "error": discreet(run.error),
        **dict.fromkeys(("owner", "visibility", "team_id", "domain_id", "protocol", "mine", "request")),
    }


def worked_s(run: Run) -> float | None:
    """Return the seconds worked on a run until now, or until its process was last heard of; None before it began."""
    now = run.heartbeat_at or run.started_at if abandoned(run) else None
    return run.worked_s(time.time() if now is None else now)


def failure_document(failure: Failure) -> FailureDocument:
    """Return a failure as a document."""
    return FailureDocument(
        cause=failure.cause.value,
        boundary=failure.boundary.value,
        valid=RULES[failure.cause].valid,
        message=discreet(failure.message),
        detail=discreet(failure.detail),
        stderr=discreet(failure.stderr),
    )


def episode_summary(episode: Episode, primary: str = "", *, info: bool = False) -> EpisodeSummary:
    """Return an episode as a row of a list; `primary` names the score that the primary metric reads."""
    return EpisodeSummary(
        **_episode_fields(episode, primary), terminal_info=shortened(episode.terminal_info) if info else None
    )


def episode_detail(episode: Episode, primary: str, run: RunSummary, artifacts: Sequence[Artifact]) -> EpisodeDetail:
    """Return an episode with the run it belongs to and its own files."""
    return EpisodeDetail(
        **_episode_fields(episode, primary),
        terminal_info=shortened(episode.terminal_info),
        artifacts=[artifact_document(artifact) for artifact in artifacts if artifact.episode_id == episode.id],
        run=run,
    )


def _episode_fields(episode: Episode, primary: str) -> dict[str, Any]:
    ended = episode.ended_at
    return {
        "id": episode.id,
        "run_id": episode.run_id,
        "index": episode.index,
        "task_id": episode.task_id,
        "task_digest": episode.task_digest,
        "trial": episode.trial,
        "seed": None if episode.seed is None else str(episode.seed),
        "state": episode.status.value,
        "score": next((score.value for score in episode.scores if score.name == primary), None),
        "scores": [score_document(score) for score in episode.scores],
        "failure": None if episode.failure is None else failure_document(episode.failure),
        "steps": episode.steps,
        "total_reward": None if math.isnan(episode.total_reward) else episode.total_reward,
        "usage": usage_document(episode.usage),
        "retries": episode.retries,
        "events": episode.events,
        "started_at": moment(episode.started_at),
        "ended_at": moment(ended),
        "duration_s": None if ended is None or not episode.started_at else max(ended - episode.started_at, 0.0),
        "labels": {discreet(name): discreet(value) for name, value in episode.labels.items()},
    }
