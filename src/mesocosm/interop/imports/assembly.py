"""Make a run of ours from what a foreign file holds: identity, plan order, counts, declared metrics."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.entry import Blob, Entry
from mesocosm.core.episode import FINISHED, Episode, EpisodeStatus
from mesocosm.core.failure import Failure, UsageError
from mesocosm.core.ids import digest, digest_bytes
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.model import ModelSettings
from mesocosm.core.redact import Redactor
from mesocosm.core.row_redaction import clean_row
from mesocosm.core.run import AgentSettings, BenchmarkRef, Run, RunSpec, RunStatus, Selection
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task
from mesocosm.core.usage import NOTHING, Usage
from mesocosm.interop.imports.trace_writer import TraceWriter
from mesocosm.interop.stated import counts_of

HEADLINE = "headline"
"""Key in the provenance of an imported run: the numbers that its file states, by name."""

JSON = dict[str, Any]


@dataclass(slots=True)
class ForeignSample:
    """One attempt at one task in a foreign file.

    `files` are kept with the episode by name. Status, failure, scores and usage are as in core.episode.Episode.
    """

    task: Task
    trial: int = 0
    status: EpisodeStatus = EpisodeStatus.COMPLETED
    started_at: float = 0.0
    ended_at: float | None = None
    scores: Sequence[Score] = ()
    failure: Failure | None = None
    usage: Usage = NOTHING
    retries: int = 0
    steps: int = 0
    answer: Any = None
    why: str = ""
    facts: JSON = field(default_factory=dict)
    trace: TraceWriter | None = None
    files: dict[str, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class ForeignHead:
    """What a foreign file says about its whole run.

    `identity` is what makes it this run and no other: the same file again, or a later state of it, is the same run.
    `content` is the identity of the benchmark. `planned` is None if the file plans no more than it holds. `headline`
    are the numbers that the file states. `files` are kept with the run by name. The times of an `undated` file are not
    its own, so that its ids do not depend on them.
    """

    form: str
    identity: Any
    benchmark: str
    model: str
    content: Any = None
    title: str = ""
    version: str = ""
    agent: str = "imported"
    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    status: RunStatus = RunStatus.FINISHED
    error: str = ""
    created_at: float = 0.0
    started_at: float | None = None
    ended_at: float | None = None
    metrics: tuple[Metric, ...] = ()
    planned: int | None = None
    trials: int | None = None
    headline: JSON = field(default_factory=dict)
    name: str = ""
    tags: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    card: JSON = field(default_factory=dict)
    provenance: JSON = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    undated: bool = False
    attempt: int = 1


@dataclass(slots=True)
class ImportedFile:
    """A file of an imported run or of one of its episodes; the content is the blob `digest`."""

    id: str
    name: str
    digest: str
    created_at: float
    episode_id: str = ""


@dataclass(slots=True)
class ImportedRun:
    """A run read from a foreign file, not stored yet.

    `files` are complete after all `entries` were read; `blobs` are those of the run itself.
    """

    run: Run
    episodes: list[Episode]
    entries: Callable[[], Iterator[Entry]]
    blobs: list[Blob] = field(default_factory=list)
    files: list[ImportedFile] = field(default_factory=list)


Samples = Callable[[], Iterable[ForeignSample]]
"""Reads the samples of a file from its start; called twice."""


Declare = Callable[[ForeignHead, Sequence[Episode]], None]
"""Completes a head and the scores of its episodes after all samples were read once."""


def assemble(
    head: ForeignHead, samples: Samples, path: Path, redactor: Redactor, declare: Declare | None = None
) -> ImportedRun:
    """Return the run that a file holds, with one episode for each sample.

    The samples are read once now, and once more when the entries are read, so that a large file is never in memory.
    Raises UsageError if a task and trial is there twice, and whatever `samples` raises.
    """
    run_id = timed_id(None if head.undated else head.created_at, [head.form, head.identity])
    drafts = [_draft(run_id, sample, undated=head.undated) for sample in samples()]
    _place(drafts, path)
    episodes = [draft.episode for draft in drafts]
    if declare is not None:
        declare(head, episodes)
    run = _clean(_run(head, run_id, episodes), redactor)
    found = ImportedRun(run, sorted(episodes, key=lambda episode: episode.index), _nothing)
    for name, data in head.files.items():
        found.blobs.append(_blob(redactor, data))
        found.files.append(_file(run_id, name, found.blobs[-1], head.created_at))
    kept = len(found.files)

    def entries() -> Iterator[Entry]:
        del found.files[kept:]
        remaining = iter(drafts)
        for sample in samples():
            draft = next(remaining, None)
            if draft is None or draft.key != (sample.task.id, sample.trial):
                raise UsageError(f"{path} changed while it was read; nothing was imported; import it again")
            yield _entry(draft.episode, sample, redactor, found.files)
        if next(remaining, None) is not None:
            raise UsageError(f"{path} changed while it was read; nothing was imported; import it again")

    found.entries = entries
    return found


def _clean(run: Run, redactor: Redactor) -> Run:
    """Return a run without secrets in what its file says in words."""
    return msgspec.structs.replace(
        run,
        error=redactor.text(run.error),
        name=redactor.text(run.name),
        warnings=tuple(map(redactor.text, run.warnings)),
        info=redactor.value(run.info),
        provenance=redactor.value(run.provenance),
    )


def timed_id(at: float | None, content: Any) -> str:
    """Return an id in the form of ours (UUIDv7) that depends only on a time and a content, so it sorts by time."""
    own = digest(content)
    stamp = own[-12:] if at is None else f"{int(max(at, 0.0) * 1000) & 0xFFFF_FFFF_FFFF:012x}"
    return f"{stamp[:8]}-{stamp[8:]}-7{own[:3]}-8{own[3:6]}-{own[6:18]}"


@dataclass(slots=True)
class _Draft:
    """An episode with what its place depends on."""

    key: tuple[str, int]
    content: str
    task: Task
    episode: Episode


def _nothing() -> Iterator[Entry]:
    return iter(())


def _draft(run_id: str, sample: ForeignSample, *, undated: bool) -> _Draft:
    started = sample.started_at
    usable = tuple(_usable(score) for score in sample.scores)
    episode = Episode(
        id=timed_id(None if undated else started, [run_id, sample.task.id, sample.trial]),
        run_id=run_id,
        task_digest="",
        task_id=sample.task.id,
        trial=sample.trial,
        seed=sample.task.seed,
        status=sample.status,
        started_at=started,
        ended_at=started if sample.ended_at is None else max(sample.ended_at, started),
        steps=sample.steps,
        failure=sample.failure,
        usage=sample.usage,
        retries=sample.retries,
        events=0 if sample.trace is None else sample.trace.count,
        scores=usable,
        labels=dict(sample.task.labels),
        terminal_info=dict(sample.facts),
    )
    task = msgspec.structs.replace(sample.task, occurrence=0)
    return _Draft((sample.task.id, sample.trial), task.digest(), sample.task, episode)


def _usable(score: Score) -> Score:
    """Return a score whose value is none if it is not a finite number."""
    if score.value is None or math.isfinite(score.value):
        return score
    from mesocosm.core.failure import Cause

    return msgspec.structs.replace(score, value=None, missing=score.missing or Cause.VALUE_UNUSABLE)


def _place(drafts: Sequence[_Draft], path: Path) -> None:
    """Give each episode the digest of its task and its place in the plan: all tasks once, then again."""
    twice = [key for key, count in Counter(draft.key for draft in drafts).items() if count > 1]
    if twice:
        raise UsageError(f"{path} holds trial {twice[0][1]} of task {twice[0][0]} more than once; nothing was imported")
    order = {task_id: place for place, task_id in enumerate(dict.fromkeys(draft.key[0] for draft in drafts))}
    alike: dict[str, dict[str, None]] = {}
    for draft in drafts:
        alike.setdefault(draft.content, {}).setdefault(draft.key[0])
    # Sorted, so that the order of a file does not decide which of several equal tasks is which.
    number = {(content, task_id): place for content, ids in alike.items() for place, task_id in enumerate(sorted(ids))}
    for draft in drafts:
        occurrence = number[draft.content, draft.key[0]]
        task = msgspec.structs.replace(draft.task, occurrence=occurrence) if occurrence else draft.task
        draft.episode.task_digest = task.digest() if occurrence else draft.content
        draft.episode.cluster = task.cluster or ""
        draft.episode.index = draft.key[1] * len(order) + order[draft.key[0]]


def _entry(episode: Episode, sample: ForeignSample, redactor: Redactor, files: list[ImportedFile]) -> Entry:
    trace = sample.trace or TraceWriter(redactor)
    row = msgspec.structs.replace(
        episode,
        input=trace.compact(sample.task.input),
        target=trace.compact(sample.task.target),
        reference=trace.compact(sample.task.reference),
        answer=trace.compact(sample.answer),
        why=sample.why,
        terminal_info=trace.outline(sample.facts),
    )
    blobs = trace.blobs()
    for name, data in sample.files.items():
        blobs.append(_blob(redactor, data))
        files.append(_file(episode.run_id, name, blobs[-1], episode.started_at, episode.id))
    return Entry(clean_row(row, redactor), list(trace.chunks()), blobs)


def _blob(redactor: Redactor, data: bytes) -> Blob:
    text = data.decode("utf-8", "surrogateescape")
    clean = redactor.text(text).encode("utf-8", "surrogateescape")
    return Blob(digest_bytes(clean), "application/json", clean)


def _file(run_id: str, name: str, blob: Blob, at: float, episode_id: str = "") -> ImportedFile:
    return ImportedFile(timed_id(at, [run_id, episode_id, name]), name, blob.digest, at, episode_id)


def _run(head: ForeignHead, run_id: str, episodes: Sequence[Episode]) -> Run:
    outcomes = [episode.status for episode in episodes]
    done = sum(status in FINISHED for status in outcomes)
    planned = max(head.planned or 0, len(episodes))
    tasks = len({episode.task_id for episode in episodes})
    attempts = Counter(episode.task_id for episode in episodes)
    trials = max(head.trials or 1, *attempts.values(), 1)
    usage = NOTHING
    for episode in episodes:
        usage += episode.usage
    status, error = head.status, head.error
    if status is RunStatus.FINISHED and done < planned:
        status, error = RunStatus.STOPPED, error or f"the file holds {done:,} of {planned:,} planned episodes"
    model = ModelSettings(head.model, head.temperature or 0.0, top_p=head.top_p)
    if head.max_tokens is not None:
        model = msgspec.structs.replace(model, max_tokens=head.max_tokens)
    benchmark_digest = "" if head.content is None else digest({"imported": head.content})
    info = BenchmarkInfo(
        id=head.benchmark,
        title=head.title or head.benchmark,
        version=head.version,
        digest=benchmark_digest,
        kind="imported",
        metrics=head.metrics,
        card=head.card,
    )
    times = [episode.started_at for episode in episodes if episode.started_at]
    ends = [episode.ended_at for episode in episodes if episode.ended_at]
    return Run(
        id=run_id,
        signature=digest({"imported": [head.form, head.identity]}),
        benchmark=head.benchmark,
        benchmark_title=head.title or head.benchmark,
        benchmark_version=head.version,
        benchmark_digest=benchmark_digest,
        kind="imported",
        model=head.model,
        agent=head.agent,
        spec=RunSpec(
            BenchmarkRef("imported", head.benchmark),
            model,
            AgentSettings("imported", label=head.agent),
            Selection(count=max(tasks, math.ceil(planned / trials)), trials=trials),
        ),
        status=status,
        counts=counts_of(outcomes, planned),
        usage=usage,
        created_at=head.created_at,
        started_at=head.started_at or min(times, default=head.created_at),
        ended_at=head.ended_at or max(ends, default=head.created_at),
        error=error,
        name=head.name,
        attempt=head.attempt,
        tags=head.tags,
        warnings=head.warnings,
        info=info.document(),
        provenance={
            "imported_from": head.form,
            **({HEADLINE: head.headline} if head.headline else {}),
            **head.provenance,
        },
    )
