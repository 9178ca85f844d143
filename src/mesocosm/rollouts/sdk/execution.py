"""One execution of a rollout: its workflow, then its grader, each with its own time limit."""

import asyncio
import copy
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from mesocosm.rollouts.sdk.config import BaseConfig
from mesocosm.rollouts.sdk.context import (
    AgentWorkflowContext,
    GraderContext,
    RolloutContext,
    SampleError,
    get_rollout_context,
    joined,
    rollout_contextvar,
)
from mesocosm.rollouts.sdk.judge import Judge
from mesocosm.rollouts.sdk.request import ExecutionRequest, ExecutionResult
from mesocosm.rollouts.sdk.sample import RolloutSample, copied
from mesocosm.rollouts.sdk.status import RolloutErrorCategory, RolloutStatus, categorise
from mesocosm.rollouts.sdk.tracebacks import format_message, format_traceback, location_of
from mesocosm.rollouts.sdk.workflow import AgentWorkflowOutput

if TYPE_CHECKING:
    from mesocosm.rollouts.sdk.backend import LocalBackend

FAILED, INVALID, TIMEOUT = "workflow_failed", "workflow_invalid", "workflow_timeout"
GRADER_ERROR, GRADER_TIMEOUT = "grader_error", "grader_timeout"

GIVE_UP_S = 0.25
"""Seconds that cancelled code has after its deadline to clean up. Then the result is reported without it."""

PARTIAL_S = 0.15
"""Seconds for the sample source of a failed workflow to return the messages so far."""

QUEUED_S = 0.1
"""Shortest time in the queue, in seconds, to mention with a missed deadline."""

STILL_RUNNING = "still_running"
"""Key in a result's diagnostics: code of this execution still runs although it was cancelled."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RowMetadata:
    """Facts about a row that the published protocol has no field for."""

    row: int | None = None
    trial: int = 0
    seed: int = 0
    judge: Judge | None = None
    artifacts: Path | None = None

    @classmethod
    def of(cls, request: ExecutionRequest) -> Self:
        """Read the facts from the extra fields of a request. Raises KeyError for an incomplete judge."""
        given = (request.extra_fields or {}).get("mesocosm")
        if not isinstance(given, Mapping):
            return cls()
        judge, artifacts = given.get("judge"), given.get("artifacts")
        return cls(
            given.get("row"),
            given.get("trial") or 0,
            given.get("seed") or 0,
            Judge(judge["base_url"], judge["api_key"], judge["model"]) if judge else None,
            artifacts if artifacts is None or isinstance(artifacts, Path) else Path(artifacts),
        )


@dataclass(slots=True)
class WorkflowRun:
    """The outcome of a workflow: its result, its samples by source, and the metadata that it received."""

    result: ExecutionResult
    samples: dict[str, RolloutSample] = field(default_factory=dict)
    metadata: dict[str, Any] | None = None


class Deadline:
    """Cancels the current task after a number of seconds; None is unlimited."""

    def __init__(self, seconds: float | None) -> None:
        self.fired: bool = False
        self._seconds = seconds
        self._handle: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[Any] | None = None
        self._ends = 0.0

    def __enter__(self) -> Self:
        if self._seconds is not None:
            self._ends = time.monotonic() + self._seconds
            self._task = asyncio.current_task()
            self._handle = asyncio.get_running_loop().call_later(self._seconds, self._fire)
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            self._handle.cancel()
        if self.fired and self._task is not None:
            self._task.uncancel()

    @property
    def over(self) -> bool:
        """Whether the time limit has passed, even if the code returned too late to be cancelled."""
        return self.fired or (self._seconds is not None and time.monotonic() > self._ends)

    def _fire(self) -> None:
        assert self._task is not None
        self.fired = True
        self._task.cancel()


class Execution:
    """Executes one request on the running event loop: first `work`, then `grade`.

    Cancelling the future `stop` ends the execution.
    """

    def __init__(
        self,
        backend: "LocalBackend",
        request: ExecutionRequest,
        stop: "asyncio.Future[None]",
        *,
        queued_s: float,
    ) -> None:
        self._backend = backend
        self._request = request
        self._stop = stop
        self._row = RowMetadata.of(request)
        self._artifacts = self._row.artifacts or backend.artifact_root / request.id / "artifacts"
        self._times = {"queued_s": queued_s, "workflow_s": 0.0, "grader_s": 0.0}
        self._began = time.monotonic()
        self._partial: WorkflowRun | None = None

    def ungraded_reason(self, worked: WorkflowRun) -> str:
        """Return why the outcome of a workflow is not graded; empty if it is graded."""
        if worked.result.status is not RolloutStatus.SUCCESS:
            return "the workflow failed"
        if self._backend.grader_cls is None:
            return "the rollout has no grader"
        if self._request.label is None and self._request.metadata is None:
            return "the row has neither a label nor metadata to grade it by"
        return ""

    def ungraded(self, worked: ExecutionResult, reason: str) -> ExecutionResult:
        """Return the failure of a grading that was not attempted, with the reason in its diagnostics."""
        facts = {**(worked.extra_fields or {}), "ungraded": reason}
        return ExecutionResult(status=RolloutStatus.FAILURE, sample=worked.sample, extra_fields=facts)

    async def work(self) -> WorkflowRun:
        """Run the workflow. Raises CancelledError if other code cancelled it."""
        limit = self._request.agent_timeout_sec
        budget = None if limit is None else max(limit - self._times["queued_s"], 0.0)
        self._began = time.monotonic()
        if budget == 0:
            return WorkflowRun(self._late("", None, of="workflow"))
        task = asyncio.create_task(self._work(budget))
        if await self._ended(task, budget):
            return task.result()
        return self._partial or WorkflowRun(self._given_up(task, None, of="workflow"))

    async def grade(self, worked: WorkflowRun) -> ExecutionResult:
        """Run the grader. Raises CancelledError if other code cancelled it."""
        budget, original = self._request.grader_timeout_sec, worked.result.sample
        self._began = time.monotonic()
        if budget is not None and budget <= 0:
            return self._late("", original, of="grader")
        task = asyncio.create_task(self._grade(worked, budget))
        if await self._ended(task, budget):
            return task.result()
        return self._given_up(task, original, of="grader")

    async def _ended(self, task: "asyncio.Task[T]", seconds: float | None) -> bool:
        """Wait for a task; return False if it still runs after its time limit. Raises CancelledError."""
        timeout = None if seconds is None else seconds + GIVE_UP_S
        waits: set[asyncio.Future[Any]] = {task, self._stop}
        try:
            await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if self._stop.cancelled():
            task.cancel()
            raise asyncio.CancelledError
        return task.done()

    async def _work(self, budget: float | None) -> WorkflowRun:
        ambient = get_rollout_context() or RolloutContext(rollout_id=self._request.id)
        deadline, step = Deadline(budget), _Step(FAILED)
        try:
            with deadline:
                worked = await self._workflow(ambient, step)
        except GeneratorExit as error:
            # Also raised when this coroutine is closed; then nothing may be awaited.
            return WorkflowRun(self._failure(error, step.cause, None, of="workflow"))
        except BaseException as error:  # noqa: BLE001 - SystemExit too is a failure of the workflow, not of ours
            if not deadline.fired:
                _raise_if_cancelled(error)
            cause = INVALID if isinstance(error, SampleError) else step.cause
            return await self._broken(ambient, deadline, error, cause)
        if deadline.over:
            return WorkflowRun(self._late("", None, of="workflow"))
        return worked

    async def _workflow(self, ambient: RolloutContext, step: "_Step") -> WorkflowRun:
        request, row = self._request, self._row
        metadata = copied(request.metadata)
        with ambient:
            config = _copy(self._backend.workflow_config)
            workflow = self._backend.workflow_cls(config)
            context = AgentWorkflowContext(
                copied(request.prompt),
                config,
                metadata,
                self._artifacts,
                row_index=row.row,
                trial=row.trial,
                seed=row.seed,
            )
            running: Any = workflow.run(context)
            if not isawaitable(running):
                step.cause = INVALID
                raise TypeError(f"{type(workflow).__name__}.run is not a coroutine: write `async def run(self, ctx)`")
            returned = await running
            step.cause = INVALID
            output = coerce_output(returned)
            samples = _own(output, request.label)
            if output is None:
                step.cause = FAILED
                samples = await ambient.get_samples()
        sample = joined(list(samples.values()))
        return WorkflowRun(self._success(sample, of="workflow"), samples, metadata)

    async def _broken(
        self, ambient: RolloutContext, deadline: Deadline, error: BaseException, cause: str
    ) -> WorkflowRun:
        """Return the failure, with the messages so far if a source has any."""
        if deadline.fired and isinstance(error, asyncio.CancelledError):
            failed = WorkflowRun(self._late("", None, of="workflow"))
        else:
            failed = WorkflowRun(self._failure(error, cause, None, of="workflow"))
        if not (ambient.sample_source or ambient.sample_sources):
            return failed
        self._partial = failed
        asked = asyncio.create_task(ambient.get_samples())
        await asyncio.wait({asked}, timeout=PARTIAL_S)
        try:
            failed.result.sample = joined(list(asked.result().values())) if asked.done() else None
        except BaseException:  # noqa: BLE001 - a source that fails as well adds nothing
            return failed
        asked.cancel()
        return failed

    async def _grade(self, worked: WorkflowRun, budget: float | None) -> ExecutionResult:
        deadline, original = Deadline(budget), worked.result.sample
        try:
            with deadline:
                sample = await self._grader(worked)
        except BaseException as error:  # noqa: BLE001 - SystemExit too is a failure of the grader, not of ours
            if deadline.fired and isinstance(error, asyncio.CancelledError):
                return self._late("", original, of="grader")
            if not deadline.fired:
                _raise_if_cancelled(error)
            return self._failure(error, GRADER_ERROR, original, of="grader")
        if deadline.over:
            return self._late("", original, of="grader")
        return self._success(sample, of="grader")

    async def _grader(self, worked: WorkflowRun) -> RolloutSample:
        row, original = self._row, worked.result.sample
        context = GraderContext(
            self._request.label,
            original,
            None,
            worked.metadata,
            self._artifacts,
            samples=worked.samples,
            row_index=row.row,
            trial=row.trial,
            seed=row.seed,
            judge=row.judge,
        )
        judge = None
        if row.judge is not None:
            judge = RolloutContext(row.judge.base_url, row.judge.api_key, self._request.id)
        rollout_contextvar.set(judge)
        assert self._backend.grader_cls is not None
        grader = self._backend.grader_cls(_copy(self._backend.grader_config))
        grading: Any = grader.grade(context)
        if not isawaitable(grading):
            raise TypeError(f"{type(grader).__name__}.grade is not a coroutine: write `async def grade(self, ctx)`")
        await grading
        return _graded(context, original)

    # Results

    def _success(self, sample: RolloutSample | None, *, of: str) -> ExecutionResult:
        return ExecutionResult(status=RolloutStatus.SUCCESS, sample=sample, extra_fields=self._facts(of))

    def _failure(self, error: BaseException, cause: str, sample: RolloutSample | None, *, of: str) -> ExecutionResult:
        facts = self._facts(of, cause=cause, error=type(error).__name__, detail=format_traceback(error))
        return _failed(format_message(error), categorise(error), sample, facts)

    def _late(self, how: str, sample: RolloutSample | None, *, of: str, **more: Any) -> ExecutionResult:
        limit = self._request.agent_timeout_sec if of == "workflow" else self._request.grader_timeout_sec
        message = f"{of} exceeded its {limit}s deadline"
        if of == "workflow" and self._times["queued_s"] >= QUEUED_S:
            message += f" ({self._times['queued_s']:.1f}s of it waiting for a slot)"
        facts = self._facts(of, cause=TIMEOUT if of == "workflow" else GRADER_TIMEOUT, **more)
        return _failed(message + how, RolloutErrorCategory.TIMEOUT, sample, facts)

    def _given_up(self, task: "asyncio.Task[Any]", sample: RolloutSample | None, *, of: str) -> ExecutionResult:
        """Return the result for code that continued after it was cancelled at its deadline."""
        where = location_of(task.get_coro())
        how = f" and goes on although it was cancelled{f' at {where}' if where else ''}"
        return self._late(how, sample, of=of, **{STILL_RUNNING: True})

    def _facts(self, of: str, **more: Any) -> dict[str, Any]:
        self._times[f"{of}_s"] = time.monotonic() - self._began
        return {**self._times, **more}


def _copy(config: BaseConfig | None) -> Any:
    if config is None:
        return None
    try:
        return copy.deepcopy(config)
    except Exception as error:
        raise TypeError(
            f"configuration {config.name!r} ({type(config).__name__}) cannot be copied, and every execution gets "
            f"a copy of its own ({type(error).__name__}: {error}); keep locks, clients and open files out of it "
            "and make them in __init__"
        ) from error


def _raise_if_cancelled(error: BaseException) -> None:
    """Re-raise `error` if other code cancelled the current task; that is not the task's own failure."""
    task = asyncio.current_task()
    if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
        raise error


def _failed(
    message: str, category: RolloutErrorCategory, sample: RolloutSample | None, facts: dict[str, Any]
) -> ExecutionResult:
    return ExecutionResult(
        status=RolloutStatus.FAILURE, sample=sample, err_message=message, err_category=category, extra_fields=facts
    )


@dataclass(slots=True)
class _Step:
    """The cause of a failure at the current step."""

    cause: str


def coerce_output(value: Any) -> AgentWorkflowOutput | None:
    """Return what a workflow returned as AgentWorkflowOutput. Raises TypeError, pydantic's ValidationError."""
    if value is None:
        return None
    if isinstance(value, AgentWorkflowOutput):
        return AgentWorkflowOutput.model_validate(value)
    if isinstance(value, list):
        return AgentWorkflowOutput(messages=value)
    raise TypeError(
        f"the workflow returned {type(value).__name__}; return a list of messages, an AgentWorkflowOutput, or None "
        "when a sample source was registered"
    )


def _own(output: AgentWorkflowOutput | None, label: str | None) -> dict[str, RolloutSample]:
    if output is None or output.messages is None:
        return {}
    return {"main": RolloutSample(messages=output.messages, label=label, metrics=dict(output.metrics))}


def _graded(context: GraderContext, original: RolloutSample | None) -> RolloutSample:
    """Return the sample after grading. Raises ValueError without a sample or without a reward."""
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
