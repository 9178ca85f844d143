"""Runs as documents."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import msgspec
from pydantic import Field

from mesocosm.core.episode import Episode
from mesocosm.core.failure import RULES
from mesocosm.core.run import Counts, Run
from mesocosm.core.score import MetricResult
from mesocosm.interop.record import without_files
from mesocosm.server.schemas.document import Document, Json, discreet, instant, moment, shortened
from mesocosm.server.schemas.metric import MetricDocument, UsageDocument, metric_document, usage_document
from mesocosm.server.schemas.run_request import RunRequestDocument
from mesocosm.store import Artifact, abandoned
from mesocosm.store.rows import primary_score
from mesocosm.store.series import RunSeries

State = Literal["pending", "running", "finished", "partial", "failed", "stopped", "interrupted"]


class CountsDocument(Document):
    """Episodes of a run by outcome; `owed` ones still have to be played."""

    planned: int
    completed: int
    truncated: int
    timeout: int
    failed: int
    done: int
    owed: int


class Published(Document):
    """The best score that somebody published for the same unit and split; `delta` is the run's score minus it."""

    label: str
    value: float
    source: str
    delta: float | None


class RunSummary(Document):
    """A run as a row of a list. `duration_s` is what was worked on it until now, without pauses."""

    id: str
    name: str
    benchmark: str
    benchmark_title: str
    benchmark_version: str
    benchmark_digest: str
    kind: str
    model: str
    agent: str
    state: State = Field(description="the status; `interrupted`: it should be running, but its process is gone")
    stop_requested: bool
    attempt: int
    signature: str
    group_id: str | None
    tags: list[str]
    counts: CountsDocument
    primary: MetricDocument | None
    published: Published | None = Field(description="null where unit and split of no published score agree")
    usage: UsageDocument
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    duration_s: float | None
    error: str
    owner: str | None = Field(
        description="who asked a platform for it, from outside only `member` or `guest`; null elsewhere"
    )
    visibility: str | None = Field(description="`private` or `gallery_public`; null where there is no platform")
    team_id: str | None = Field(description="the team that it belongs to, for those inside")
    domain_id: str | None = Field(description="the domain of a platform that it is played in")
    protocol: int | None = Field(
        description="version of the domain's protocol that an official run is played by; null: not official"
    )
    mine: bool | None = Field(description="whether the caller is its owner; null on a laptop")
    request: RunRequestDocument | None = Field(description="what a server was asked for; null on a laptop")


class RunPage(Document):
    """A page of runs; `total` is exact or, when `total_exact` is false, a lower bound.

    Where running and interrupted runs are told apart, a page may hold fewer than asked for and a cursor to go on from.
    """

    items: list[RunSummary]
    cursor: str | None
    total: int
    total_exact: bool


class FailureGroup(Document):
    """Failed episodes of one cause, with the first of them."""

    cause: str
    boundary: str
    count: int
    valid: bool = Field(description="whether it is the agent's own failure, which counts as the worst value")
    episode_id: str
    task_id: str
    message: str


class Ungraded(Document):
    """An episode that did not fail, but whose primary score is missing: the first one of its cause."""

    cause: str
    episode_id: str
    task_id: str
    message: str = Field(description="what the grader, or the server that it asked, said")


class Reproduction(Document):
    """Commands that continue or repeat a run; null where one does not apply."""

    repeat: str | None
    resume: str | None
    show: str


class ArtifactDocument(Document):
    """A file of a run; its content is at `/api/blobs/{digest}`."""

    id: str
    name: str
    digest: str
    episode_id: str | None
    created_at: datetime


class RunDetail(RunSummary):
    """Everything known of one run."""

    metrics: list[MetricDocument]
    failures: list[FailureGroup]
    ungraded: list[Ungraded] = Field(description="for each cause why scores are missing though no episode failed of it")
    mean_reward: float | None
    mean_steps: float | None
    warnings: list[str]
    rescored: str = Field(description="what to know of its numbers where it was rescored; empty where it was not")
    spec: dict[str, Json] = Field(description="what was asked for: benchmark, model, agent, selection, limits")
    info: dict[str, Json] = Field(description="the benchmark's own description as it was when the run started")
    provenance: dict[str, Json] = Field(description="versions, host, command")
    commands: Reproduction
    artifacts: list[ArtifactDocument]
    holder: str | None = Field(description="the process that works on it")


class Facet(Document):
    """One value of a column and how many runs have it."""

    value: str
    count: int


class RunFacetsDocument(Document):
    """What the list of runs can be filtered by, most frequent first, at most 200 of each."""

    state: list[Facet]
    benchmark: list[Facet]
    model: list[Facet]
    agent: list[Facet]
    kind: list[Facet]
    tag: list[Facet]


class HistogramDocument(Document):
    """The distribution of the primary score: `counts` of equal bins from `low` to `high`."""

    low: float
    high: float
    counts: list[int]
    missing: int
    worst: int


class PositionBin(Document):
    """Episodes `first`…`last` of the plan: mean primary score of the `n` scored ones, and how many failed."""

    first: int
    last: int
    n: int
    mean: float | None
    failed: int


class TimeBinDocument(Document):
    """What ended in `seconds` from `at` on."""

    at: datetime
    seconds: float
    episodes: int
    failed: int
    tokens: int
    cost_usd: float | None


class RunSeriesDocument(Document):
    """What the charts of a run show; `sampled` is the number of episodes looked at when it is not all of them."""

    score: str | None = Field(description="name of the primary score")
    histogram: HistogramDocument | None
    by_position: list[PositionBin]
    over_time: list[TimeBinDocument]
    sampled: int | None


class TagsInput(Document):
    """The new tags of a run, in place of the old ones."""

    tags: list[str] = Field(max_length=50, examples=[["baseline", "temperature 0"]])


class Started(Document):
    """Work that another process has taken up; watch the run to see it."""

    run_id: str
    command: str


class RunChange(Document):
    """An event of a live stream: the runs that changed, whole, and the ids of those that are gone."""

    runs: list[RunSummary]
    deleted: list[str]


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
    return RunSummary(**{**_summary(run), **(ownership or {})})


def run_detail(
    run: Run, facts: RunFacts, commands: Reproduction, ownership: Mapping[str, Any] | None = None
) -> RunDetail:
    """Return everything known of a run; its metrics are those of `facts`, which a running run has none of itself."""
    metrics = [metric_document(metric) for metric in facts.metrics]
    summary = _summary(run)
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


def _summary(run: Run) -> dict[str, Any]:
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
