"""Runs and their episodes as documents of the API."""

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import asdict

from mesocosm.core.episode import Episode
from mesocosm.core.failure import RULES, Failure
from mesocosm.core.info import VIEWS
from mesocosm.core.one_line import answer_line, question_line
from mesocosm.core.run import Run
from mesocosm.core.score import Metric
from mesocosm.core.verdict import verdict
from mesocosm.server.schemas.document import discreet, instant, moment, shortened
from mesocosm.server.schemas.episode import EpisodeDetail, EpisodeSummary, FailureDocument
from mesocosm.server.schemas.metric import MetricDocument, ScoreDocument, UsageDocument
from mesocosm.server.schemas.run import (
    ArtifactDocument,
    CountsDocument,
    NameDocument,
    Published,
    RunSummary,
    ScoreBinsDocument,
    State,
)
from mesocosm.store.blobs import Artifact
from mesocosm.store.lease_owner import abandoned
from mesocosm.store.rows import primary_score


def state_of(run: Run) -> State:
    """Return the state of a run; a pending or running one whose process is gone is interrupted."""
    return "interrupted" if abandoned(run) else run.status.value


def score_name(run: Run) -> str:
    """Return the name of the score that the primary metric of a run is computed from."""
    return primary_score(run.info, run.metrics)


def run_summary(run: Run, ownership: Mapping[str, Any] | None = None) -> RunSummary:
    """Return a run as a row of a list; `ownership` adds what a server knows of its owner."""
    return RunSummary(**{**run_fields(run), **(ownership or {})})


def published(run: Run, primary: MetricDocument | None) -> Published | None:
    """Return the best published score for the unit and split of a run, None if there is none."""
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


def run_fields(run: Run) -> dict[str, Any]:
    """Return the fields of a RunSummary."""
    state = state_of(run)
    primary = None if run.primary is None else MetricDocument.of(run.primary)
    return {
        "id": run.id,
        "name": run.name,
        "title": NameDocument(
            given=run.name.strip(), benchmark=run.subject, model=discreet(run.player), differs=discreet(run.differs)
        ),
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
        "counts": CountsDocument(
            **asdict(run.counts), done=run.counts.done, owed=run.counts.pending, missing=run.counts.pending
        ),
        "bins": None if run.bins is None or state in {"pending", "running"} else ScoreBinsDocument.of(run.bins),
        "primary": primary,
        "published": published(run, primary),
        "usage": UsageDocument.of(run.usage),
        "created_at": instant(run.created_at),
        "started_at": moment(run.started_at),
        "ended_at": moment(run.ended_at),
        "duration_s": worked_s(run),
        "error": discreet(run.error),
        **dict.fromkeys(("owner", "visibility", "team_id", "workspace_id", "domain_id", "protocol")),
        **dict.fromkeys(("mine", "may_change", "may_work", "request", "imported")),
    }


def worked_s(run: Run) -> float | None:
    """Return the seconds worked on a run until now, or until a dead process' last heartbeat; None before its start."""
    now = run.heartbeat_at or run.started_at if abandoned(run) else None
    return run.worked_s(time.time() if now is None else now)


def artifact_document(artifact: Artifact) -> ArtifactDocument:
    """Return a file of a run as a document."""
    return ArtifactDocument(
        id=artifact.id,
        name=artifact.name,
        digest=artifact.digest,
        episode_id=artifact.episode_id or None,
        created_at=instant(artifact.created_at),
    )


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


def episode_summary(
    episode: Episode, primary: str = "", passing: Metric | None = None, *, info: bool = False
) -> EpisodeSummary:
    """Return an episode as a row of a list.

    `primary` names the score that the primary metric is computed from, `passing` says what passes.
    """
    return EpisodeSummary(
        **_episode_fields(episode, primary, passing), terminal_info=shortened(episode.terminal_info) if info else None
    )


def episode_detail(episode: Episode, record: Run, run: RunSummary, artifacts: Sequence[Artifact]) -> EpisodeDetail:
    """Return an episode with its run, given as a record and as a document, and its own files."""
    return EpisodeDetail(
        **_episode_fields(episode, score_name(record), record.passing),
        terminal_info=shortened(episode.terminal_info),
        input=episode.input,
        target=episode.target,
        reference=episode.reference,
        answer=episode.answer,
        artifacts=[artifact_document(artifact) for artifact in artifacts if artifact.episode_id == episode.id],
        view=next((view for view in VIEWS if view == record.info.get("view")), None),
        run=run,
    )


def _episode_fields(episode: Episode, primary: str, passing: Metric | None) -> dict[str, Any]:
    ended = episode.ended_at
    return {
        "id": episode.id,
        "run_id": episode.run_id,
        "index": episode.index,
        "task_id": episode.task_id,
        "task_digest": episode.task_digest,
        "cluster": episode.cluster,
        "trial": episode.trial,
        "seed": None if episode.seed is None else str(episode.seed),
        "state": episode.status.value,
        "score": next((score.value for score in episode.scores if score.name == primary), None),
        "scores": list(map(ScoreDocument.of, episode.scores)),
        "failure": None if episode.failure is None else failure_document(episode.failure),
        "steps": episode.steps,
        "total_reward": None if math.isnan(episode.total_reward) else episode.total_reward,
        "usage": UsageDocument.of(episode.usage),
        "retries": episode.retries,
        "events": episode.events,
        "started_at": moment(episode.started_at),
        "ended_at": moment(ended),
        "duration_s": None if ended is None or not episode.started_at else max(ended - episode.started_at, 0.0),
        "verdict": verdict(episode, passing),
        "question": discreet(question_line(episode.input)),
        "expected": discreet(answer_line(episode.target)),
        "given": discreet(answer_line(episode.answer)),
        "why": discreet(episode.why),
        "mistake": discreet(episode.mistake),
        "behaviour": episode.behaviour,
        "labels": {discreet(name): discreet(value) for name, value in episode.labels.items()},
    }
