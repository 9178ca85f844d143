"""The world of one row: its workflow plays it from beginning to end, and its grader says what that was worth."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec

from mesocosm.core.failure import Cause, EpisodeError, RunAborted
from mesocosm.core.gateway import Address
from mesocosm.core.ports import Observation, Step
from mesocosm.core.task import Task
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
from mesocosm.rollouts.verdict import Judging, Verdict

REWARD, METRICS, GRADER_FAILED, LEFT_OUT, UNGRADED = "reward", "metrics", "grader_failure", "left_out", "ungraded"
"""What a grader reads from the info of an episode's last step."""

ROW, TRIAL = "row", "trial"
"""In the metadata of a task: the place of the row in its dataset, and which repetition it is."""


OF_GRADER = frozenset({Cause.GRADER_ERROR, Cause.GRADER_TIMEOUT})


class RowEpisode:
    """Implements core.ports.Environment and core.gateway.Program for one try of one row.

    `judging` is a ready-made grader that takes the place of the rollout's own.
    """

    def __init__(
        self,
        task: Task,
        episode_id: str,
        executor: RolloutExecutor,
        *,
        seed: int,
        seconds: tuple[float | None, float | None],
        artifacts: Path,
        judging: Judging | None,
    ) -> None:
        self._task = task
        self._id = episode_id
        self._executor = executor
        self._seed = seed
        self._seconds = seconds
        self._artifacts = artifacts
        self._judging = judging

    async def reset(self) -> Observation:
        """Show the row."""
        return Observation(self._task.input)

    async def step(self, action: Any) -> Step:
        """Raise RunAborted: nobody but the workflow acts here."""
        del action
        raise RunAborted("a workflow plays this row by itself; use the agent 'program'")

    async def oracle(self) -> Any:
        """Return the row's label, for builtin/oracle. Raises EpisodeError where the row has none."""
        if self._task.target is None:
            raise EpisodeError(Cause.ENVIRONMENT_ERROR, f"row {self._task.id} has no label that an oracle could say")
        return self._task.target

    async def close(self) -> None:
        """Nothing is held: the workflow ended in `play`."""

    async def play(self, address: Address, log: LineLog, seconds: float | None = None) -> Step:
        """Run workflow and grader, and return what they left. Raises EpisodeError."""
        work = self._work(address, seconds)
        ended = await self._executor.run(work, log)
        facts = self._facts(ended)
        failure, sample = ended.failure, ended.sample
        if failure is not None and failure.cause not in OF_GRADER:
            if sample is not None and sample.messages:
                facts["partial"] = list(sample.messages)
            if self._task.target is not None:
                facts["label"] = self._task.target
            raise EpisodeError(failure.cause, _words(failure), detail=failure.detail, facts=facts)
        if sample is None and failure is None:
            raise EpisodeError(Cause.WORKFLOW_INVALID, NO_SAMPLE, facts=facts)
        if sample is not None and self._judging is not None:
            verdict = await self._judging.judge(work, sample)
            return self._step(sample, {**facts, **_judged(verdict, sample)})
        if failure is not None:
            failed = EpisodeError(failure.cause, _words(failure), detail=failure.detail).failure()
            return self._step(sample or PlayedSample(), {**facts, GRADER_FAILED: msgspec.to_builtins(failed)})
        assert sample is not None
        return self._step(sample, {**facts, **_graded(ended, sample)})

    def _work(self, address: Address, seconds: float | None) -> RowJob:
        shown: Mapping[str, Any] = self._task.input
        judge = address.judge
        row, trial = int(self._task.metadata[ROW]), int(self._task.metadata[TRIAL])
        return RowJob(
            id=self._id,
            prompt=shown["prompt"],
            label=self._task.target,
            metadata=shown.get("metadata"),
            row=row,
            trial=trial,
            seed=crc32(b"%d:%d:%d" % (self._seed, row, trial)),
            model=_access(address),
            judge=None if judge is None else _access(judge),
            artifacts=self._artifacts,
            workflow_seconds=self._seconds[0] if seconds is None else seconds,
            grader_seconds=self._seconds[1],
        )

    def _facts(self, ended: RowOutcome) -> dict[str, Any]:
        timing = {
            "queued_s": round(ended.queued_s, 6),
            "workflow_s": round(ended.workflow_s, 6),
            "grader_s": round(ended.grader_s, 6),
        }
        facts: dict[str, Any] = {ROW: int(self._task.metadata[ROW]), "timing": timing}
        if ended.blocked is not None:
            facts["blocked"] = {"seconds": round(ended.blocked.seconds, 3), "where": ended.blocked.where}
        if self._artifacts.is_dir() and any(self._artifacts.iterdir()):
            facts["artifacts"] = f"{self._artifacts.parent.name}/{self._artifacts.name}"
        return facts

    def _step(self, sample: PlayedSample, info: dict[str, Any]) -> Step:
        shown: dict[str, Any] = {"messages": list(sample.messages)}
        if self._task.target is not None:
            shown["label"] = self._task.target
        reward = info.get(REWARD)
        return Step(
            Observation(shown), reward=reward if isinstance(reward, int | float) else 0.0, terminated=True, info=info
        )


def _words(failure: RowFailure) -> str:
    """Return the message of a failure, with the type of the exception where only its traceback has that."""
    last = failure.detail.strip().rpartition("\n")[2].strip()
    return last if last.endswith(f": {failure.message}") else failure.message


def _access(address: Address) -> ModelAccess:
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
        found[UNGRADED] = "nobody graded the sample: the rollout has no grader; give it one, or name one in [grader]"
    return found


def _judged(verdict: Verdict, sample: PlayedSample) -> dict[str, Any]:
    found: dict[str, Any] = {METRICS: {**sample.metrics, **verdict.scores}}
    if verdict.failure is not None:
        return {**found, GRADER_FAILED: msgspec.to_builtins(verdict.failure)}
    return {**found, REWARD: verdict.value, "explanation": verdict.explanation}
