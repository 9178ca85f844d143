"""One execution of a rollout: its workflow, then its grader, each within its own time."""

import asyncio
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from pathlib import Path
from typing import Any, TypeAlias

from mesocosm.rollouts.sdk.account import FAILED, GRADER_ERROR, INVALID, Account
from mesocosm.rollouts.sdk.attempt import Attempt
from mesocosm.rollouts.sdk.cast import Cast, Told
from mesocosm.rollouts.sdk.clock import Clock
from mesocosm.rollouts.sdk.context import (
    AgentWorkflowContext,
    GraderContext,
    RolloutContext,
    SampleError,
    get_rollout_context,
    joined,
    rollout_contextvar,
)
from mesocosm.rollouts.sdk.crossing import Crossing
from mesocosm.rollouts.sdk.request import ExecutionRequest, ExecutionResult
from mesocosm.rollouts.sdk.sample import RolloutSample, copied
from mesocosm.rollouts.sdk.status import RolloutStatus
from mesocosm.rollouts.sdk.workflow import AgentWorkflowOutput

PARTIAL_S = 0.15
"""So long the sample source of a failed workflow may take to say what it has."""


@dataclass(slots=True)
class Played:
    """What a workflow left: its result, its samples by source, the metadata that it was given."""

    result: ExecutionResult
    samples: dict[str, RolloutSample] = field(default_factory=dict)
    metadata: dict[str, Any] | None = None


_LOST = Played(ExecutionResult(status=RolloutStatus.CANCELLED))
"""What an attempt leaves that nobody waits for any more; the account is then another attempt's."""

Outcome: TypeAlias = Played | ExecutionResult
"""What a stage gives back: that of a workflow, or the result of a grading."""


class Execution:
    """A request on its way: a piece for the stages, made on the loop of whoever waits for it.

    Run once, it plays the workflow; run again with `played` set, it grades. With `at_once` it does both in one go.
    """

    def __init__(
        self,
        cast: Cast,
        request: ExecutionRequest,
        crossing: Crossing,
        *,
        queued_s: float,
        root: Path,
        at_once: bool = False,
    ) -> None:
        self.context = copy_context()
        self.attempt: Attempt | None = None
        self.played: Played | None = None
        self.account = Account(request, queued_s)
        self.future: asyncio.Future[Outcome] | None = None
        self._cast = cast
        self._request = request
        self._crossing = crossing
        self._told = Told.of(request)
        self._artifacts = self._told.artifacts or root / request.id / "artifacts"
        self._at_once = at_once
        self._ambient = get_rollout_context()
        self._fallback: Played | None = None

    def ungraded(self, played: Played) -> str:
        """Say why what was played is not graded; empty when it is."""
        if played.result.status is not RolloutStatus.SUCCESS:
            return "the workflow failed"
        if self._cast.grader is None:
            return "the rollout has no grader"
        if self._request.label is None and self._request.metadata is None:
            return "the row has neither a label nor metadata to grade it by"
        return ""

    def deliver(self, outcome: Any) -> None:
        """Send the outcome to whoever waits for it."""
        self._crossing.post(_settle, self.future, outcome)

    def blocked(self, seconds: float, where: str) -> None:
        """Note that the code of this execution held its loop."""
        if where:
            self.account.blocked(where, seconds)

    def given_up(self, attempt: Attempt, where: str, *, blocking: bool) -> Outcome:
        """Return what to say of code that did not stop at its deadline."""
        where = where or attempt.where
        at = f" at {where}" if where else ""
        if blocking:
            self.account.blocked(where)
            how = f": its code blocks the event loop{at}"
        else:
            how = f" and goes on although it was cancelled{at}"
        if self.played is not None:
            return self.account.late(how, self.played.result.sample, of="grader")
        return self._fallback or Played(self.account.late(how, None, of="workflow"))

    async def play(self, attempt: Attempt) -> Outcome:
        """Do what is due."""
        played = self.played
        if played is None:
            played = await self._work(attempt)
            if attempt.over or not self._at_once or self.ungraded(played):
                return played
            self.played = played
        return await self._grade(attempt, played)

    async def _work(self, attempt: Attempt) -> Played:
        self._fallback = None
        self.account.begin()
        budget = self.account.budget
        ambient, clock, step = self._surroundings(attempt), Clock(attempt, budget), _Step(FAILED)
        if budget == 0:
            return Played(self.account.late("", None, of="workflow"))
        try:
            with clock:
                played = await self._workflow(ambient, step)
        except GeneratorExit as error:
            # Also raised where this coroutine is closed, which may await nothing any more.
            return Played(self.account.failure(error, step.cause, None, of="workflow"))
        except BaseException as error:  # noqa: BLE001 - SystemExit too is a failure of the workflow, not of ours
            if attempt.over:
                return _LOST
            cause = INVALID if isinstance(error, SampleError) else step.cause
            return await self._broken(attempt, ambient, clock, error, cause)
        if clock.over:
            return Played(self.account.late("", None, of="workflow"))
        return played

    async def _workflow(self, ambient: RolloutContext, step: "_Step") -> Played:
        request, told = self._request, self._told
        metadata = copied(request.metadata)
        with ambient:
            workflow, config = self._cast.player()
            context = AgentWorkflowContext(
                copied(request.prompt),
                config,
                metadata,
                self._artifacts,
                row_index=told.row,
                trial=told.trial,
                seed=told.seed,
            )
            running: Any = workflow.run(context)
            if not isawaitable(running):
                step.cause = INVALID
                raise TypeError(f"{type(workflow).__name__}.run is no coroutine: write `async def run(self, ctx)`")
            returned = await running
            step.cause = INVALID
            output = _output(returned)
            samples = _own(output, request.label)
            if output is None:
                step.cause = FAILED
                samples = await ambient.get_samples()
        sample = joined(list(samples.values()))
        return Played(self.account.success(sample, of="workflow"), samples, metadata)

    async def _broken(
        self, attempt: Attempt, ambient: RolloutContext, clock: Clock, error: BaseException, cause: str
    ) -> Played:
        """Return the failure, with the messages that there are by now where a source knows some."""
        if clock.fired and isinstance(error, asyncio.CancelledError):
            failed = Played(self.account.late("", None, of="workflow"))
        else:
            failed = Played(self.account.failure(error, cause, None, of="workflow"))
        if not (ambient.sample_source or ambient.sample_sources):
            return failed
        self._fallback = failed
        attempt.bound(PARTIAL_S)
        try:
            async with asyncio.timeout(PARTIAL_S):
                samples = await ambient.get_samples()
            failed.result.sample = joined(list(samples.values()))
        except BaseException:  # noqa: BLE001 - a source that fails as well adds nothing
            return failed
        return failed

    async def _grade(self, attempt: Attempt, played: Played) -> ExecutionResult:
        self.account.begin()
        clock, budget = Clock(attempt, self._request.grader_timeout_sec), self._request.grader_timeout_sec
        original = played.result.sample
        if budget is not None and budget <= 0:
            return self.account.late("", original, of="grader")
        try:
            with clock:
                sample = await self._grader(played, again=attempt.again)
        except BaseException as error:  # noqa: BLE001 - SystemExit too is a failure of the grader, not of ours
            if attempt.over:
                return _LOST.result
            if clock.fired and isinstance(error, asyncio.CancelledError):
                return self.account.late("", original, of="grader")
            return self.account.failure(error, GRADER_ERROR, original, of="grader")
        if clock.over:
            return self.account.late("", original, of="grader")
        return self.account.success(sample, of="grader")

    async def _grader(self, played: Played, *, again: bool) -> RolloutSample:
        told, original = self._told, played.result.sample
        if again and original is not None:
            # The attempt that was lost may have left a verdict in it.
            original.reward, original.remove_sample = None, False
        context = GraderContext(
            self._request.label,
            original,
            None,
            played.metadata,
            self._artifacts,
            samples=played.samples,
            row_index=told.row,
            trial=told.trial,
            seed=told.seed,
            judge=told.judge,
        )
        judged = None
        if told.judge is not None:
            judged = RolloutContext(told.judge.base_url, told.judge.api_key, self._request.id)
        rollout_contextvar.set(judged)
        judge = self._cast.judge()
        grading: Any = judge.grade(context)
        if not isawaitable(grading):
            raise TypeError(f"{type(judge).__name__}.grade is no coroutine: write `async def grade(self, ctx)`")
        await grading
        return _graded(context, original)

    def _surroundings(self, attempt: Attempt) -> RolloutContext:
        """Return the ambient context; who runs again gets a new one, for the lost attempt may still write into it."""
        if self._ambient is None:
            return RolloutContext(rollout_id=self._request.id)
        if attempt.again:
            return replace(self._ambient, sample_source=None, sample_sources={})
        return self._ambient


@dataclass(slots=True)
class _Step:
    """What it would mean if something were raised now."""

    cause: str


def _settle(future: "asyncio.Future[Outcome]", outcome: Any) -> None:
    if future.done():
        return
    if isinstance(outcome, BaseException):
        future.set_exception(RuntimeError(f"the stage of a rollout failed: {type(outcome).__name__}: {outcome}"))
    else:
        future.set_result(outcome)


def _output(returned: Any) -> AgentWorkflowOutput | None:
    """Return what a workflow returned. Raises TypeError, pydantic's ValidationError."""
    if returned is None:
        return None
    if isinstance(returned, AgentWorkflowOutput):
        return AgentWorkflowOutput.model_validate(returned)
    if isinstance(returned, list):
        return AgentWorkflowOutput(messages=returned)
    raise TypeError(
        f"the workflow returned {type(returned).__name__}; return a list of messages, an AgentWorkflowOutput, or None "
        "when a sample source was registered"
    )


def _own(output: AgentWorkflowOutput | None, label: str | None) -> dict[str, RolloutSample]:
    if output is None or output.messages is None:
        return {}
    return {"main": RolloutSample(messages=output.messages, label=label, metrics=dict(output.metrics))}


def _graded(context: GraderContext, original: RolloutSample | None) -> RolloutSample:
    """Return the sample that the grader left. Raises ValueError when there is none, or none with a reward."""
    sample = context.sample
    if sample is None:
        raise ValueError(
            "there is no sample to grade: the workflow returned none and registered no sample source; return the "
            "messages from run, or call set_sample_source on the rollout's context"
        )
    if sample is original and len(context.samples) > 1 and sample.reward is None:
        several = joined(list(context.samples.values()))
        assert several is not None
        several.metrics.update(sample.metrics)
        sample = several
    if sample.reward is None and not sample.remove_sample:
        raise ValueError("the grader set no reward: call ctx.set_reward(number), or set ctx.sample.remove_sample")
    return sample
