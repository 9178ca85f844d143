"""Execution backends: the interface, and the one that executes rollouts on the running event loop."""

import asyncio
import inspect
import time
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeAlias

from mesocosm.rollouts.sdk.config import AgentWorkflowConfig, GraderConfig
from mesocosm.rollouts.sdk.context import artifact_root, get_rollout_context
from mesocosm.rollouts.sdk.execution import Execution, WorkflowRun
from mesocosm.rollouts.sdk.request import ExecutionOutcome, ExecutionRequest, ExecutionResult
from mesocosm.rollouts.sdk.sample import copied
from mesocosm.rollouts.sdk.status import RolloutStatus
from mesocosm.rollouts.sdk.workflow import AgentWorkflow, Grader

UNCONFIGURED = 4
"""Maximum number of concurrent executions for a workflow without a configuration."""

WAITING = 64
"""Number of rollouts waiting for a slot at which the backend has no capacity left."""

REMEMBERED = 4096
"""Maximum number of finished rollouts to remember."""

ResultCallback: TypeAlias = Callable[[ExecutionResult], Awaitable[None]]
"""Called with the result of a workflow or of a grading."""


class ExecutionBackend(ABC):
    """Executes rollouts for a server."""

    @abstractmethod
    async def execute(self, request: ExecutionRequest, *args: Any, **kwargs: Any) -> Any:
        """Execute one rollout, in either of two forms.

        `execute(request, on_workflow_complete, on_grader_complete=None)` awaits each callback with its result, and
        grades only if there is a grader callback. `execute(request)` grades as `request.grade` says, and returns an
        ExecutionOutcome.
        """

    @property
    def max_concurrency(self) -> int:
        """Maximum number of concurrent executions; 0 is unlimited."""
        return 0

    @property
    def capture_final_result(self) -> bool:
        """Whether to grade even without a grader callback."""
        return False

    def has_capacity(self) -> bool:
        """Return whether another rollout can be accepted now; if not, a server answers 429."""
        return True

    def rollout_status(self, rollout_id: str) -> dict[str, Any] | None:
        """Return status, reward and err_message of a rollout, or None if it is unknown."""
        return None

    def cancel_rollouts(
        self,
        ids: Sequence[str] | None = None,
        prefix: str | None = None,
        all: bool = False,  # noqa: A002
    ) -> dict[str, str]:
        """Cancel rollouts; return the result for each: cancelled_queued, cancelled_running or not_found."""
        return {}

    def health(self) -> dict[str, Any]:
        """Return the body of `/health`."""
        return {"status": "ok"}

    async def shutdown(self) -> None:  # noqa: B027
        """Release what the backend holds; the server calls this after the last rollout."""


async def execute(
    backend: ExecutionBackend, request: ExecutionRequest, complete: ResultCallback, grade: ResultCallback | None
) -> None:
    """Execute a rollout on a backend of either form: one that calls back, or one that returns the outcome.

    Raises what the backend does, and TypeError if it takes no callbacks and returns no outcome.
    """
    run: Callable[..., Awaitable[Any]] = backend.execute
    try:
        inspect.signature(run).bind(request, complete, grade)
    except TypeError:
        outcome = await run(request.model_copy(update={"grade": grade is not None}))
        if not isinstance(outcome, ExecutionOutcome):
            raise TypeError(
                f"{type(backend).__name__}.execute returned {type(outcome).__name__}, not an ExecutionOutcome"
            ) from None
        await complete(outcome.workflow)
        if grade is not None:
            await grade(outcome.grader or ExecutionResult(status=RolloutStatus.FAILURE))
    else:
        await run(request, complete, grade)


@dataclass(slots=True)
class RolloutRecord:
    """The state of one rollout."""

    status: RolloutStatus = RolloutStatus.QUEUED
    reward: float | None = None
    message: str | None = None
    cancelled: bool = False
    waits: "asyncio.Future[Any] | None" = None

    @property
    def ended(self) -> bool:
        """Whether the rollout has ended."""
        return self.status in {RolloutStatus.SUCCESS, RolloutStatus.FAILURE, RolloutStatus.CANCELLED}

    async def begin(self, status: RolloutStatus) -> None:
        """Record that the rollout runs, or is graded, and tell those who wait for it."""
        self.status = status
        context = get_rollout_context()
        if context is not None:
            await context.set_status(status)

    def take(self, result: ExecutionResult) -> None:
        """Record the result."""
        self.status, self.message = result.status, result.err_message
        if result.sample is not None and result.status is RolloutStatus.SUCCESS:
            self.reward = result.sample.reward

    def cancel(self) -> str:
        """Cancel the rollout and return `cancelled_queued` or `cancelled_running`."""
        queued = self.status is RolloutStatus.QUEUED
        self.cancelled = True
        if self.waits is not None:
            self.waits.cancel()
        return "cancelled_queued" if queued else "cancelled_running"


class Slots:
    """Slots for executions, assigned in the order of request. A `limit` of None is unlimited."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.running: int = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def free(self) -> bool:
        """Whether a slot is free."""
        return self.limit is None or (self.running < self.limit and not self._waiting)

    @property
    def queued(self) -> int:
        """Number of executions that wait for a slot."""
        return sum(not waiter.done() for waiter in self._waiting)

    async def take(self) -> None:
        """Wait for a slot and take it."""
        if self.free:
            self.running += 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.give()
            raise

    def give(self) -> None:
        """Release a slot; the longest waiting execution gets it."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.running -= 1


class LocalBackend(ExecutionBackend):
    """Executes rollouts on the running event loop, at most `max_concurrent` of the workflow's configuration at once.

    Workflow, grader and their configurations may be given as `package.module:attribute`. Without a configuration of the
    workflow at most 4 run at once; with one that sets no number, any number. The time that a rollout waits for its slot
    counts against its workflow's deadline. The slot is held until both callbacks have returned.

    A workflow or grader that ignores its cancellation at its deadline is abandoned 0.25 s later. Code that blocks stops
    everything on the loop: `mesocosm eval` runs rollouts in worker processes, which it ends in that case.

    Raises TypeError if an argument is of the wrong kind, ValueError or ImportError for an invalid reference.
    """

    def __init__(
        self,
        *,
        workflow: type[AgentWorkflow[Any]] | str,
        workflow_config: AgentWorkflowConfig | str | None = None,
        grader: type[Grader] | str | None = None,
        grader_config: GraderConfig | str | None = None,
    ) -> None:
        self.workflow_cls: type[AgentWorkflow[Any]] = _kind(_resolved(workflow), AgentWorkflow, "workflow")
        self.workflow_config: AgentWorkflowConfig | None = _config(workflow_config, AgentWorkflowConfig)
        self.grader_cls: type[Grader] | None = None if grader is None else _kind(_resolved(grader), Grader, "grader")
        self.grader_config: GraderConfig | None = _config(grader_config, GraderConfig)
        self.artifact_root: Path = artifact_root()
        limit = UNCONFIGURED if self.workflow_config is None else self.workflow_config.concurrency.max_concurrent
        self._slots = Slots(limit)
        self._records: OrderedDict[str, RolloutRecord] = OrderedDict()
        self._closed = False

    @property
    def max_concurrency(self) -> int:
        """Maximum number of concurrent executions; 0 is unlimited."""
        return self._slots.limit or 0

    def has_capacity(self) -> bool:
        """Return whether fewer than 64 rollouts wait for a slot."""
        return self._slots.queued < WAITING

    def health(self) -> dict[str, Any]:
        """Return the status and the use of the slots."""
        slots = self._slots
        use = {"max_concurrent": slots.limit, "queued": slots.queued, "running": slots.running}
        return {"status": "ok", "concurrency": use}

    def rollout_status(self, rollout_id: str) -> dict[str, Any] | None:
        """Return status, reward and err_message; of finished rollouts only the last 4096 are known."""
        record = self._records.get(rollout_id)
        if record is None:
            return None
        return {"status": record.status, "reward": record.reward, "err_message": record.message}

    def cancel_rollouts(
        self,
        ids: Sequence[str] | None = None,
        prefix: str | None = None,
        all: bool = False,  # noqa: A002
    ) -> dict[str, str]:
        """Cancel rollouts: their `execute` raises CancelledError. Call this on the loop that executes them."""
        running = {key: record for key, record in self._records.items() if not record.ended}
        if ids is None:
            ids = [key for key in running if all or (prefix is not None and key.startswith(prefix))]
        return {key: running[key].cancel() if key in running else "not_found" for key in ids}

    async def execute(
        self,
        request: ExecutionRequest,
        on_workflow_complete: ResultCallback | None = None,
        on_grader_complete: ResultCallback | None = None,
    ) -> ExecutionOutcome:
        """Execute one rollout, await the callbacks on the caller's loop, and return the outcome.

        With a callback for the workflow, grade if there is one for the grader too; without, if `request.grade` is set.
        If nothing is graded (no grader, a failed workflow, a row with neither label nor metadata), the grading is a
        failure without a message. Raises CancelledError if the rollout was cancelled.
        """
        grading = request.grade if on_workflow_complete is None else on_grader_complete is not None
        async with self._admitted(request) as (execution, record):
            worked = await execution.work()
            record.take(worked.result)
            if grading and record.status is RolloutStatus.SUCCESS:
                await record.begin(RolloutStatus.GRADING)
            if on_workflow_complete is not None:
                await on_workflow_complete(worked.result)
            if not grading:
                return ExecutionOutcome(workflow=worked.result)
            if record.cancelled:
                raise asyncio.CancelledError
            reason = execution.ungraded_reason(worked)
            graded = execution.ungraded(worked.result, reason) if reason else await execution.grade(worked)
            if record.status is RolloutStatus.GRADING:
                record.take(graded)
            if on_grader_complete is not None:
                await on_grader_complete(graded)
            return ExecutionOutcome(workflow=worked.result, grader=graded)

    async def run_workflow(self, request: ExecutionRequest, *, queued_sec: float = 0.0) -> ExecutionResult:
        """Run only the workflow, without a slot."""
        stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        return (await Execution(self, request, stop, queued_s=queued_sec).work()).result

    async def run_grader(self, request: ExecutionRequest, result: ExecutionResult) -> ExecutionResult:
        """Grade only the result of a workflow, without a slot; without a grader, return the result as it is."""
        if self.grader_cls is None:
            return result
        samples = {} if result.sample is None else {"main": result.sample}
        stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        worked = WorkflowRun(result, samples, copied(request.metadata))
        return await Execution(self, request, stop, queued_s=0.0).grade(worked)

    def close(self) -> None:
        """Accept no more rollouts."""
        self._closed = True

    @asynccontextmanager
    async def _admitted(self, request: ExecutionRequest) -> AsyncIterator[tuple[Execution, RolloutRecord]]:
        """Hold a slot for a request, and update its status."""
        if self._closed:
            raise RuntimeError("this backend was closed; make a new one")
        record = self._remember(request.id)
        try:
            queued_s = await self._slot(record)
            try:
                record.waits = stop = asyncio.get_running_loop().create_future()
                await record.begin(RolloutStatus.RUNNING)
                yield Execution(self, request, stop, queued_s=queued_s), record
            finally:
                self._slots.give()
        except asyncio.CancelledError:
            record.status = RolloutStatus.CANCELLED
            raise
        finally:
            record.waits = None
            if not record.ended:
                record.status = RolloutStatus.FAILURE

    async def _slot(self, record: RolloutRecord) -> float:
        if self._slots.free:
            await self._slots.take()
            return 0.0
        started = time.monotonic()
        record.waits = asyncio.ensure_future(self._slots.take())
        await record.waits
        return time.monotonic() - started

    def _remember(self, rollout_id: str) -> RolloutRecord:
        record = RolloutRecord()
        records = self._records
        records[rollout_id] = record
        records.move_to_end(rollout_id)
        if len(records) > REMEMBERED:
            eldest = next(iter(records))
            if records[eldest].ended:
                del records[eldest]
            else:
                records.move_to_end(eldest)
        return record


def _resolved(reference: Any) -> Any:
    """Return the object that a text `module:attribute` refers to; return anything else unchanged.

    Raises ValueError for any other form of text, ImportError for a missing module or attribute.
    """
    if not isinstance(reference, str):
        return reference
    module, colon, attribute = reference.partition(":")
    if not colon or not module or not attribute:
        raise ValueError(f"{reference!r} names no object; write it as 'package.module:attribute'")
    loaded = import_module(module)
    try:
        return attrgetter(attribute)(loaded)
    except AttributeError as error:
        raise ImportError(f"module {module!r} has no {attribute!r}, which {reference!r} names") from error


def _kind(value: Any, kind: type, noun: str) -> Any:
    if isinstance(value, type) and issubclass(value, kind):
        return value
    raise TypeError(f"the {noun} must be a class derived from {kind.__name__}, not {value!r}")


def _config(value: Any, kind: type) -> Any:
    # As in the published package, an empty text means no value.
    config = _resolved(value) if value else None
    if config is None or isinstance(config, kind):
        return config
    raise TypeError(f"the configuration must be a {kind.__name__}, not {config!r}")
