"""A rollout and its dataset as a benchmark: each row is a task, which the workflow runs."""

import asyncio
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec

from mesocosm.core.abilities import HoldsSecrets, Pausable
from mesocosm.core.content import Content
from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause, EpisodeError, RunAborted, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Environment, Observation, Step
from mesocosm.core.proxy import JUDGE_FAILED, ProxyAddress
from mesocosm.core.run import Selection
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import ROW, Task
from mesocosm.rollouts.executor import (
    NO_SAMPLE,
    LineLog,
    ModelAccess,
    PlayedSample,
    RolloutExecutor,
    RowFailure,
    RowJob,
    RowOutcome,
)
from mesocosm.rollouts.rows import RolloutRow

KIND = "rollout"
RATE = "pass_rate"
UNBOUNDED = 16
"""Maximum number of rows in flight if neither the configuration nor the rollout sets one.

A large provider could take more. A local model that answers one call at a time slows every call down with each further
row, and rows that wait come closer to their time limit.
"""
REWARD, METRICS, GRADER_FAILED, LEFT_OUT, UNGRADED = "reward", "metrics", "grader_failure", "left_out", "ungraded"
"""Keys of the info of an episode's last step, which `RolloutBenchmark.grade` reads."""

TRIAL = "trial"
"""Metadata of a task: the index of the row in its dataset, and the repetition."""


FRAMES = 6
"""Number of innermost frames of a ready-made grader's traceback to keep."""

OF_GRADER = frozenset({Cause.GRADER_ERROR, Cause.GRADER_TIMEOUT})

_OWN = frozenset({REWARD, RATE})


MakeGrader = Callable[[], Any]
"""Returns a new ready-made grader. It grades in this process, outside the reach of the rollout's code."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The selected rows of a dataset: its name, the indices in `chosen`, a `description`, digests and notes.

    `digest` covers content and selection together; `content` and `choice` show which of the two has changed.
    """

    name: str
    rows: Sequence[RolloutRow]
    chosen: Sequence[int]
    description: str
    digest: str
    notes: tuple[str, ...] = ()
    content: str = ""
    choice: str = ""


@dataclass(frozen=True, slots=True)
class GradingTerms:
    """How rewards are interpreted, and the time limits of workflow and grader (None: unlimited)."""

    pass_threshold: float = 1.0
    workflow_seconds: float | None = 450.0
    grader_seconds: float | None = 150.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class RolloutSource:
    """The source of a rollout: its name, its measure, its inputs (values or digests) by name, and facts for viewers.

    Rollouts with equal `measure` on the same rows are comparable and can be ranked.
    """

    name: str
    measure: str
    inputs: dict[str, str]
    card: dict[str, Any] = field(default_factory=dict)


class RolloutBenchmark:
    """Implements core.ports.Benchmark. `executor` runs the rows; `grader` makes graders that replace the rollout's own.

    At most as many rows are in flight as the executor has capacity for; if it is unlimited, `capped` limits it to
    UNBOUNDED.
    """

    action_space: Any = None
    observation_space: Any = None

    def __init__(
        self,
        origin: RolloutSource,
        rows: Rows,
        terms: GradingTerms,
        executor: RolloutExecutor,
        *,
        grader: MakeGrader | None = None,
        content: Content | None = None,
        artifacts: Path = Path("artifacts"),
        capped: bool = False,
    ) -> None:
        self.origin = origin
        self.rows = rows
        self.terms = terms
        self._executor = executor
        self._grader = grader
        self._content = content
        self._artifacts = artifacts
        self._capped = capped
        self._opened = False

    @property
    def info(self) -> BenchmarkInfo:
        """Facts about the benchmark; `parallel` is set only after `open`."""
        if not self._opened:
            return self._known
        capacity = self._executor.capacity
        return msgspec.structs.replace(self._known, parallel=capacity or (UNBOUNDED if self._capped else None))

    @cached_property
    def _known(self) -> BenchmarkInfo:
        inputs = {**self.origin.inputs, "dataset": self.rows.content or self.rows.digest}
        if self.rows.choice:
            inputs["rows"] = self.rows.choice
        return BenchmarkInfo(
            id=self.rows.name,
            title=self.rows.name,
            version="1",
            digest=digest([self.rows.digest, self.origin.measure]),
            kind=KIND,
            metrics=metrics(self.terms),
            description=self.rows.description,
            card={**self.origin.card, "rows": self.rows.description},
            judged=True,
            discovers=True,
            inputs=inputs,
        )

    def count(self, selection: Selection) -> int:
        """Return the number of rows in `selection`. Raises UsageError for an unknown row."""
        return len(self._chosen(selection))

    def tasks(self, selection: Selection) -> Iterator[Task]:
        """Yield the rows of the first repetition."""
        return self.tasks_of(selection, 0)

    def tasks_of(self, selection: Selection, trial: int) -> Iterator[Task]:
        """Yield the selected rows in dataset order, each with its repetition in the metadata."""
        for place in self._chosen(selection):
            yield _task(self.rows.rows[place], trial)

    def _chosen(self, selection: Selection) -> Sequence[int]:
        if selection.seeds is None:
            return self.rows.chosen if selection.count is None else self.rows.chosen[: selection.count]
        known = len(self.rows.rows)
        unknown = next((place for place in selection.seeds if not 0 <= place < known), None)
        if unknown is not None:
            raise UsageError(f"{self.rows.name} has rows 0 to {known - 1}, no {unknown}")
        return selection.seeds

    async def open(self, notice: Callable[[str], None]) -> None:
        """Start the rollout. Raises MesocosmError."""
        for note in self.rows.notes:
            notice(f"note: {note}")
        await self._executor.open(notice)
        self._opened = True

    def secrets(self) -> Collection[str]:
        """Return the texts that its executor wants hidden."""
        return self._executor.secrets() if isinstance(self._executor, HoldsSecrets) else ()

    def warnings(self) -> Sequence[str]:
        """Return warnings if files of the rollout have changed since the run began."""
        return () if self._content is None else self._content.warnings()

    async def environment(self, task: Task, episode_id: str) -> Environment:
        """Return the environment of one row."""
        return RowEpisode(task, episode_id, self._executor, self.terms, self._artifacts / episode_id, self._grader)

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return the reward and metrics that the grader stored in the episode; grading is not repeated."""
        del task
        found = episode.terminal_info
        scores = [Score(_named(name), float(value)) for name, value in _numbers(found.get(METRICS))]
        return [_reward(found), *scores]

    def pause(self, paused: bool) -> None:
        """Lend what the executor shares with other runs to them while no row can be played, or take it back."""
        if isinstance(self._executor, Pausable):
            self._executor.pause(paused)

    async def close(self) -> None:
        """Stop the rollout."""
        await self._executor.close()


@dataclass(frozen=True, slots=True)
class RowEpisode:
    """Implements core.ports.Environment and core.proxy.Program for one row."""

    task: Task
    id: str
    executor: RolloutExecutor
    terms: GradingTerms
    artifacts: Path
    grader: MakeGrader | None

    async def reset(self) -> Observation:
        """Return the row as the observation."""
        return Observation(self.task.input)

    async def step(self, action: Any) -> Step:
        """Raise RunAborted: the workflow acts by itself, so there are no steps."""
        del action
        raise RunAborted("a workflow plays this row by itself; use the agent 'program'")

    async def oracle(self) -> Any:
        """Return the row's label, for builtin/oracle. Raises EpisodeError if the row has no label."""
        if self.task.target is None:
            raise EpisodeError(Cause.ENVIRONMENT_ERROR, f"row {self.task.id} has no label that an oracle could say")
        return self.task.target

    async def close(self) -> None:
        """Do nothing: the workflow's resources were released in `play`."""

    async def play(self, address: ProxyAddress, log: LineLog, seconds: float | None = None) -> Step:
        """Run workflow and grader and return their result. Raises EpisodeError."""
        job = self._job(address, seconds)
        ended = await self.executor.run(job, log)
        facts = self._facts(ended)
        failure, sample = ended.failure, ended.sample
        if failure is not None and failure.cause not in OF_GRADER:
            if sample is not None and sample.messages:
                facts["partial"] = list(sample.messages)
            if self.task.target is not None:
                facts["label"] = self.task.target
            raise EpisodeError(failure.cause, _words(failure), detail=failure.detail, facts=facts)
        if sample is None and failure is None:
            raise EpisodeError(Cause.WORKFLOW_INVALID, NO_SAMPLE, facts=facts)
        if sample is not None and self.grader is not None:
            return self._step(sample, {**facts, **await _graded_by(self.grader, job, sample)})
        if failure is not None:
            failed = EpisodeError(failure.cause, _words(failure), detail=failure.detail).failure()
            return self._step(sample or PlayedSample(), {**facts, GRADER_FAILED: msgspec.to_builtins(failed)})
        assert sample is not None
        return self._step(sample, {**facts, **_graded(ended, sample)})

    def _job(self, address: ProxyAddress, seconds: float | None) -> RowJob:
        shown: Mapping[str, Any] = self.task.input
        judge = address.judge
        row, trial = int(self.task.metadata[ROW]), int(self.task.metadata[TRIAL])
        return RowJob(
            id=self.id,
            prompt=shown["prompt"],
            label=self.task.target,
            metadata=shown.get("metadata"),
            row=row,
            trial=trial,
            seed=crc32(b"%d:%d:%d" % (self.terms.seed, row, trial)),
            model=_access(address),
            judge=None if judge is None else _access(judge),
            artifacts=self.artifacts,
            workflow_seconds=self.terms.workflow_seconds if seconds is None else seconds,
            grader_seconds=self.terms.grader_seconds,
        )

    def _facts(self, ended: RowOutcome) -> dict[str, Any]:
        timing = {
            "queued_s": round(ended.queued_s, 6),
            "workflow_s": round(ended.workflow_s, 6),
            "grader_s": round(ended.grader_s, 6),
        }
        facts: dict[str, Any] = {ROW: int(self.task.metadata[ROW]), "timing": timing}
        if ended.blocked is not None:
            facts["blocked"] = {"seconds": round(ended.blocked.seconds, 3), "where": ended.blocked.where}
        if self.artifacts.is_dir() and any(self.artifacts.iterdir()):
            facts["artifacts"] = f"{self.artifacts.parent.name}/{self.artifacts.name}"
        return facts

    def _step(self, sample: PlayedSample, info: dict[str, Any]) -> Step:
        shown: dict[str, Any] = {"messages": list(sample.messages)}
        if self.task.target is not None:
            shown["label"] = self.task.target
        reward = info.get(REWARD)
        return Step(
            Observation(shown), reward=reward if isinstance(reward, int | float) else 0.0, terminated=True, info=info
        )


def metrics(terms: GradingTerms) -> tuple[Metric, ...]:
    """Return the metrics of every rollout. A failed workflow scores 0, or the lowest reward if that is below 0.

    Rewards are usually between 0 and 1; values outside these bounds are not clipped.
    """
    return (
        Metric(REWARD, REWARD, low=0.0, high=1.0, primary=True),
        Metric(RATE, REWARD, "pass_rate", threshold=terms.pass_threshold, inclusive=True),
    )


def _task(row: RolloutRow, trial: int) -> Task:
    shown: dict[str, Any] = {"prompt": list(row.prompt)}
    if row.metadata is not None:
        shown["metadata"] = row.metadata
    return Task(
        str(row.index),
        input=shown,
        target=row.label,
        metadata={ROW: row.index, TRIAL: trial},
        labels=row.labels,
    )


def _reward(found: dict[str, Any]) -> Score:
    failed = found.get(GRADER_FAILED)
    if failed is not None:
        # Do not blame a grader whose judge did not answer.
        judge = found.get(JUDGE_FAILED)
        blamed = judge if isinstance(judge, dict) else failed
        return Score(REWARD, missing=Cause(blamed["cause"]), explanation=str(failed["message"]))
    if found.get(LEFT_OUT):
        return Score(REWARD, missing=Cause.SKIPPED)
    if UNGRADED in found:
        return Score(REWARD, missing=Cause.VALUE_MISSING, explanation=str(found[UNGRADED]))
    return Score(REWARD, found.get(REWARD), explanation=str(found.get("explanation", "")))


def _named(name: str) -> str:
    """Return the score name of a metric; names of built-in scores get the prefix `metrics.`."""
    return f"metrics.{name}" if name in _OWN else name


def _numbers(found: Any) -> Iterator[tuple[str, float]]:
    for name, value in found.items() if isinstance(found, dict) else ():
        if isinstance(value, int | float):
            yield name, value


def _words(failure: RowFailure) -> str:
    """Return the message of a failure, with the exception type if only the traceback names it."""
    last = failure.detail.strip().rpartition("\n")[2].strip()
    return last if last.endswith(f": {failure.message}") else failure.message


def _access(address: ProxyAddress) -> ModelAccess:
    return ModelAccess(f"{address.url}/v1", address.token, address.model)


def _graded(ended: RowOutcome, sample: PlayedSample) -> dict[str, Any]:
    found: dict[str, Any] = {REWARD: sample.reward}
    if sample.metrics:
        found[METRICS] = dict(sample.metrics)
    if sample.extra:
        found["extra"] = dict(sample.extra)
    if sample.left_out:
        found[LEFT_OUT] = True
    elif not ended.graded:
        found[UNGRADED] = "the sample was not graded: the rollout has no grader; give it one, or name one in [grader]"
    return found


async def _graded_by(make: MakeGrader, job: RowJob, sample: PlayedSample) -> dict[str, Any]:
    """Return what a ready-made grader finds, or its failure, for the info of the last step."""
    # Importing the SDK is slow, so it is imported only when grading happens here.
    from mesocosm.rollouts.sdk.context import GraderContext
    from mesocosm.rollouts.sdk.judge import Judge
    from mesocosm.rollouts.sdk.sample import RolloutSample

    context = GraderContext(
        label=job.label,
        sample=RolloutSample(messages=list(sample.messages), label=job.label),
        metadata=None if job.metadata is None else dict(job.metadata),
        artifacts_dir=job.artifacts,
        row_index=job.row,
        trial=job.trial,
        seed=job.seed,
        judge=None if job.judge is None else Judge(job.judge.base_url, job.judge.api_key, job.judge.model),
    )
    graded, deadline = None, asyncio.timeout(job.grader_seconds)
    failed = EpisodeError(Cause.GRADER_ERROR, "the grader set no reward")
    try:
        async with deadline:
            await make().grade(context)
        graded = context.sample
    except Exception as error:  # noqa: BLE001 - users' code may raise anything; only this sample loses its verdict
        frames = "".join(traceback.format_exception(error, limit=-FRAMES))
        failed = EpisodeError(Cause.GRADER_ERROR, f"{type(error).__name__}: {error}", detail=frames)
        if deadline.expired():
            failed = EpisodeError(Cause.GRADER_TIMEOUT, f"grader exceeded its {job.grader_seconds:g}s deadline")
    if graded is None or graded.reward is None:
        return {METRICS: dict(sample.metrics), GRADER_FAILED: msgspec.to_builtins(failed.failure())}
    scores = {name: float(value) for name, value in graded.metrics.items() if isinstance(value, int | float)}
    return {
        METRICS: {**sample.metrics, **scores},
        REWARD: graded.reward,
        "explanation": str(graded.extra_fields.get("explanation", "")),
    }
