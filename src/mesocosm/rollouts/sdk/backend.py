"""Who executes rollouts: the interface of a backend, and the one that runs them in this process."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from mesocosm.rollouts.sdk.cast import Cast
from mesocosm.rollouts.sdk.config import AgentWorkflowConfig, GraderConfig
from mesocosm.rollouts.sdk.context import artifact_root
from mesocosm.rollouts.sdk.crossing import Crossing
from mesocosm.rollouts.sdk.execution import Execution, Outcome, Played
from mesocosm.rollouts.sdk.grader import Grader
from mesocosm.rollouts.sdk.references import resolved
from mesocosm.rollouts.sdk.request import ExecutionRequest, ExecutionResult
from mesocosm.rollouts.sdk.slots import Slots
from mesocosm.rollouts.sdk.stages import Stages
from mesocosm.rollouts.sdk.status import RolloutStatus
from mesocosm.rollouts.sdk.workflow import AgentWorkflow

UNCONFIGURED = 4
"""So many executions run at once where a workflow has no configuration that says it."""

WAITING = 64
"""So many rollouts may wait for a slot before the backend says that it has no capacity."""

REMEMBERED = 4096
"""Of so many rollouts that have ended the status is known."""

ResultCallback: TypeAlias = Callable[[ExecutionResult], Awaitable[None]]
"""Takes the result of a workflow or of a grading."""


class ExecutionBackend(ABC):
    """Executes rollouts for a server."""

    @abstractmethod
    async def execute(
        self,
        request: ExecutionRequest,
        on_workflow_complete: ResultCallback,
        on_grader_complete: ResultCallback | None = None,
    ) -> None:
        """Execute one rollout and await each callback with its result. Grading is wanted when there is a callback."""

    @property
    def max_concurrency(self) -> int:
        """How many executions run at once; 0 is any number."""
        return 0

    @property
    def capture_final_result(self) -> bool:
        """Whether grading is wanted even where nobody is called back with it."""
        return False

    def has_capacity(self) -> bool:
        """Whether another rollout can be taken now; a server says 429 when not."""
        return True

    def rollout_status(self, rollout_id: str) -> dict[str, Any] | None:
        """Return status, reward and err_message of a rollout; None when it is not known."""
        return None

    def cancel_rollouts(
        self,
        ids: Sequence[str] | None = None,
        prefix: str | None = None,
        all: bool = False,  # noqa: A002
    ) -> dict[str, str]:
        """Cancel rollouts; return what became of each: cancelled_queued, cancelled_running or not_found."""
        return {}

    def health(self) -> dict[str, Any]:
        """Return what `/health` says."""
        return {"status": "ok"}


@dataclass(slots=True)
class Record:
    """What is known of one rollout."""

    status: RolloutStatus = RolloutStatus.QUEUED
    reward: float | None = None
    message: str | None = None
    cancelled: bool = False
    waits: "asyncio.Future[Any] | None" = None

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self.status in {RolloutStatus.SUCCESS, RolloutStatus.FAILURE, RolloutStatus.CANCELLED}

    def take(self, result: ExecutionResult) -> None:
        """Learn how it ended."""
        self.status, self.message = result.status, result.err_message
        if result.sample is not None and result.status is RolloutStatus.SUCCESS:
            self.reward = result.sample.reward

    def cancel(self) -> str:
        """Cancel it, and say what became of it."""
        queued = self.status is RolloutStatus.QUEUED
        self.cancelled = True
        if self.waits is not None:
            self.waits.cancel()
        return "cancelled_queued" if queued else "cancelled_running"


class LocalBackend(ExecutionBackend):
    """Executes rollouts in this process, on threads of their own, at most `max_concurrent` of the workflow's at once.

    Workflow, grader and their configurations may be given as `package.module:attribute`. Without a configuration of the
    workflow 4 run at once; with one that says no number, any. The time that a rollout waits for its slot counts against
    its workflow's deadline. The slot is held until both callbacks have returned.

    A workflow or grader whose deadline passes unheeded is given up at most half a second later. As long as nobody
    blocks, all share one event loop; the first one that does makes each have its own from then on (`health` tells). Who
    shared a loop that was given up is run again, once.

    Raises TypeError when one of them is of a wrong kind, ValueError and ImportError for text that names nothing.
    """

    def __init__(
        self,
        *,
        workflow: type[AgentWorkflow[Any]] | str,
        workflow_config: AgentWorkflowConfig | str | None = None,
        grader: type[Grader] | str | None = None,
        grader_config: GraderConfig | str | None = None,
    ) -> None:
        self.workflow_cls: type[AgentWorkflow[Any]] = _kind(resolved(workflow), AgentWorkflow, "workflow")
        self.workflow_config: AgentWorkflowConfig | None = _config(workflow_config, AgentWorkflowConfig)
        self.grader_cls: type[Grader] | None = None if grader is None else _kind(resolved(grader), Grader, "grader")
        self.grader_config: GraderConfig | None = _config(grader_config, GraderConfig)
        self.artifact_root: Path = artifact_root()
        limit = UNCONFIGURED if self.workflow_config is None else self.workflow_config.concurrency.max_concurrent
        self._slots = Slots(limit)
        self._stages = Stages()
        self._records: OrderedDict[str, Record] = OrderedDict()
        self._crossings: dict[asyncio.AbstractEventLoop, Crossing] = {}
        self._cast = Cast(self.workflow_cls, self.workflow_config, self.grader_cls, self.grader_config)

    @property
    def max_concurrency(self) -> int:
        """How many executions run at once; 0 is any number."""
        return self._slots.limit or 0

    def has_capacity(self) -> bool:
        """Whether fewer than 64 rollouts wait for a slot."""
        return self._slots.queued < WAITING

    def health(self) -> dict[str, Any]:
        """Return the state and the use of the slots; `isolated` once a rollout blocked the loop that all shared."""
        slots = self._slots
        use = {"max_concurrent": slots.limit, "queued": slots.queued, "running": slots.running}
        return {"status": "ok", "concurrency": use, "isolated": self._stages.isolated}

    def rollout_status(self, rollout_id: str) -> dict[str, Any] | None:
        """Return status, reward and err_message; of those that have ended only the last 4096 are known."""
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
        """Cancel rollouts: whoever awaits `execute` for one gets CancelledError. Call it on the loop that executes."""
        running = {key: record for key, record in self._records.items() if not record.ended}
        if ids is None:
            ids = [key for key in running if all or (prefix is not None and key.startswith(prefix))]
        return {key: running[key].cancel() if key in running else "not_found" for key in ids}

    async def execute(
        self,
        request: ExecutionRequest,
        on_workflow_complete: ResultCallback,
        on_grader_complete: ResultCallback | None = None,
    ) -> None:
        """Execute one rollout and await the callbacks, on the loop of the caller; a grading is wanted when it has one.

        Where nothing is graded (no grader, a workflow that failed, a row with neither label nor metadata) the second
        one gets a failure without a message. Raises CancelledError when the rollout was cancelled.
        """
        async with self._admitted(request, at_once=False) as (execution, record):
            played = await self._next(execution, record)
            assert isinstance(played, Played)
            record.take(played.result)
            if on_grader_complete is not None and record.status is RolloutStatus.SUCCESS:
                record.status = RolloutStatus.GRADING
            await on_workflow_complete(played.result)
            if on_grader_complete is None:
                return
            if record.cancelled:
                raise asyncio.CancelledError
            graded = await self._graded(execution, record, played)
            if record.status is RolloutStatus.GRADING:
                record.take(graded)
            await on_grader_complete(graded)

    async def perform(self, request: ExecutionRequest) -> tuple[ExecutionResult, ExecutionResult | None]:
        """Execute one rollout and return the results of workflow and grading; None: nothing was graded.

        It does the same as `execute` with fewer ways between the threads. Raises CancelledError.
        """
        async with self._admitted(request, at_once=True) as (execution, record):
            outcome = await self._next(execution, record)
            played = outcome if isinstance(outcome, Played) else execution.played
            assert played is not None
            graded = None if isinstance(outcome, Played) else outcome
            record.take(graded or played.result)
        return played.result, graded

    def close(self) -> None:
        """Stop the threads. What still runs is cancelled."""
        self._stages.close()

    @asynccontextmanager
    async def _admitted(self, request: ExecutionRequest, *, at_once: bool) -> AsyncIterator[tuple[Execution, Record]]:
        """Hold a slot for a request, and know its status meanwhile and after."""
        record = self._remember(request.id)
        try:
            queued_s = await self._slot(record)
            try:
                record.status = RolloutStatus.RUNNING
                crossing = self._crossing()
                yield (
                    Execution(
                        self._cast, request, crossing, queued_s=queued_s, root=self.artifact_root, at_once=at_once
                    ),
                    record,
                )
            finally:
                self._slots.give()
        except asyncio.CancelledError:
            record.status = RolloutStatus.CANCELLED
            raise
        finally:
            if not record.ended:
                record.status = RolloutStatus.FAILURE

    async def _slot(self, record: Record) -> float:
        if self._slots.free:
            await self._slots.take()
            return 0.0
        started = time.monotonic()
        record.waits = asyncio.ensure_future(self._slots.take())
        await record.waits
        return time.monotonic() - started

    async def _next(self, execution: Execution, record: Record) -> Outcome:
        """Have an execution go on on a stage, and return what came of that."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        execution.future = record.waits = future
        self._stages.submit(execution)
        try:
            outcome: Outcome = await future
        except asyncio.CancelledError:
            if execution.attempt is not None:
                execution.attempt.cancel()
            raise
        return outcome

    async def _graded(self, execution: Execution, record: Record, played: Played) -> ExecutionResult:
        reason = execution.ungraded(played)
        if reason:
            return execution.account.ungraded(played.result, reason)
        execution.played = played
        graded = await self._next(execution, record)
        assert isinstance(graded, ExecutionResult)
        return graded

    def _remember(self, rollout_id: str) -> Record:
        record = Record()
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

    def _crossing(self) -> Crossing:
        loop = asyncio.get_running_loop()
        crossing = self._crossings.get(loop)
        if crossing is None:
            self._crossings = {other: way for other, way in self._crossings.items() if not other.is_closed()}
            crossing = self._crossings[loop] = Crossing(loop)
        return crossing


def _kind(value: Any, kind: type, noun: str) -> Any:
    if isinstance(value, type) and issubclass(value, kind):
        return value
    raise TypeError(f"the {noun} must be a class derived from {kind.__name__}, not {value!r}")


def _config(value: Any, kind: type) -> Any:
    # As published, an empty text stands for none.
    config = resolved(value) if value else None
    if config is None or isinstance(config, kind):
        return config
    raise TypeError(f"the configuration must be a {kind.__name__}, not {config!r}")
