"""One attempt to run a row in one process: send it, wait for it, and give up at its deadline."""

import asyncio
import time
from dataclasses import replace
from typing import Any, TypeVar

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.rollouts.executor import BlockedLoop, LineLog, RowFailure, RowJob, RowOutcome
from mesocosm.rollouts.processes.process import HeldLoop, ProcessLoss, ProcessSlot, RowLost, quoted
from mesocosm.rollouts.processes.transport import Displaced
from mesocosm.rollouts.processes.wire import CANCELLED, CompletionReport, outcome_of, still_running, workflow_failure

T = TypeVar("T")

ASKED_S, LAST_S = 0.3, 0.8
"""Seconds after a deadline at which a process is probed, and given up if it does not answer. With what follows, this
is less than executor.GRACE_S.
"""

NOTICEABLE = 0.2
"""A timeout is blamed on other rows if they held the event loop for more than this share of the row's time."""

_PARTIAL_S = 0.2


class RowOverdue(Exception):
    """The process responds, but the row has not ended in time."""


class RowAttempt:
    """One row in one process, which knows it as `name`. `abandoned`: the process may still work on it.

    `stuck`: its abandoned code still runs. `blocking` describes how it blocked the event loop, if it did. `accepted`:
    the process accepted it, and may have done some of its work.
    """

    def __init__(self, job: RowJob, name: str, slot: ProcessSlot, log: LineLog) -> None:
        self.log = log
        self.seconds = job.workflow_seconds
        self.accepted = False
        self.abandoned = False
        self.blocking = ""
        self.stuck = False
        self._job = job
        self._name = name
        self._process = slot.process
        self._transport = slot.process.transport
        self._shared = not slot.alone
        self._results = self._transport.expect(job, name)
        self._before = self._process.held() if self._shared else {}
        self._began = time.monotonic()
        self._refused_s = 0.0
        self._check: asyncio.Task[None] | None = None
        slot.process.attempts[name] = self

    async def play(self) -> RowOutcome:
        """Return the outcome of the row. Raises Displaced, EpisodeError."""
        try:
            return await self._play()
        finally:
            if self._check is not None:
                self._check.cancel()
            self._transport.forget(self._name)

    def move(self, words: str) -> None:
        """End the attempt, because the row should run in another process."""
        if not self._results.grading.done():
            self.abandoned = True
            self.fail(Displaced(words))

    def fail(self, error: Exception) -> None:
        """End the attempt with an error."""
        for future in (self._results.completion, self._results.grading):
            if not future.done():
                future.set_exception(error)
                # Only one of them is awaited; this marks the exception as retrieved.
                future.exception()

    async def _play(self) -> RowOutcome:
        job, results = self._job, self._results
        try:
            await self._send()
            completion = await self._within(results.completion, job.workflow_seconds, self._began)
        except RowLost as lost:
            return self._lost(lost.loss, None)
        except RowOverdue:
            return self._overdue(None)
        if completion.status == CANCELLED:
            return self._cancelled()
        workflow_s = time.monotonic() - self._began
        failure = workflow_failure(completion)
        if failure is not None:
            return await self._failed(completion, failure, workflow_s)
        began = time.monotonic()
        try:
            grading = await self._within(results.grading, job.grader_seconds, began)
        except RowLost as lost:
            return self._lost(lost.loss, workflow_s)
        except RowOverdue:
            return self._overdue(workflow_s)
        result = outcome_of(completion, grading, workflow_s, time.monotonic() - began)
        self.stuck = still_running(completion, grading)
        if result.failure is not None and result.failure.cause is Cause.GRADER_TIMEOUT:
            self._check_others(job.grader_seconds)
            result = self._with_blocked(result, job.grader_seconds)
        elif result.blocked is None:
            result = self._with_blocked(result, None)
        return self._timed(result)

    async def _send(self) -> None:
        """Send the row and wait until the process accepts it. Raises RowLost, Displaced, EpisodeError."""
        if self._process.lost.done():
            raise RowLost(self._process.lost.result())
        sending = asyncio.ensure_future(self._transport.send(self._job, self._name, self._results))
        waits: set[asyncio.Future[Any]] = {sending, self._results.completion}
        try:
            # Also stop waiting if the attempt fails meanwhile.
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                self.abandoned = True
                self._results.completion.result()
            self._refused_s = await sending
        except Displaced as error:
            if self._process.lost.done():
                raise RowLost(self._process.lost.result()) from error
            self.abandoned = self.abandoned or error.harmed
            raise
        finally:
            sending.cancel()
        self.accepted = True
        if self._refused_s:
            self._began = time.monotonic()

    async def _within(self, future: "asyncio.Future[T]", seconds: float | None, began: float) -> T:
        """Await a result due `seconds` after `began`. Raises RowLost, RowOverdue, Displaced, EpisodeError."""
        if seconds is None or future.done():
            return await future
        loop = asyncio.get_running_loop()
        handle = loop.call_later(max(began + seconds + ASKED_S - time.monotonic(), 0), self._late_by, began, seconds)
        try:
            return await future
        finally:
            handle.cancel()

    def _late_by(self, began: float, seconds: float) -> None:
        self._check = asyncio.get_running_loop().create_task(self._ask(began, began + seconds + LAST_S))

    async def _ask(self, began: float, last: float) -> None:
        """Probe the process until time `last`; if it does not answer, give it up."""
        silent = time.monotonic() - began
        if await self._transport.probe(max(last - time.monotonic(), 0.05)):
            await asyncio.sleep(max(last - time.monotonic(), 0))
            self.fail(RowOverdue())
            return
        # A dead process does not answer either; its exit is noticed a moment later, and takes precedence.
        await asyncio.sleep(0.02)
        self._process.lose(f"after {silent:.1f} s its process answered nothing any more")

    def _lost(self, loss: ProcessLoss, workflow_s: float | None) -> RowOutcome:
        """Return the outcome of this row after its process was lost. Raises Displaced, EpisodeError."""
        if loss.died:
            if not loss.alone:
                raise Displaced(f"its process {loss.words} while several rows ran")
            raise self._broken(f"its process {loss.words} while this row ran{quoted(loss.stderr)}", loss.stderr)
        passed = self._passed(workflow_s)
        where = f" at {loss.where}" if loss.where else ""
        if not passed or (loss.culprit != self._name and (loss.culprit or not loss.alone)):
            raise Displaced(f"a row blocks the event loop for others{where}")
        self._check_others(self._job.workflow_seconds if workflow_s is None else self._job.grader_seconds)
        self.blocking = f"a row blocks the event loop{where}"
        part = "workflow" if workflow_s is None else "grader"
        late = self._late(f"the {part} blocked its event loop{where}: {loss.words}", workflow_s)
        return replace(late, blocked=BlockedLoop(late.grader_s or late.workflow_s, loss.where))

    def _overdue(self, workflow_s: float | None) -> RowOutcome:
        part, seconds = ("workflow", self._job.workflow_seconds) if workflow_s is None else ("grader", None)
        seconds = self._job.grader_seconds if seconds is None else seconds
        self.abandoned = True
        if self._shared and self._transport.punctual:
            raise Displaced("a server that ends every row in time did not report one")
        self._check_others(seconds)
        return self._late(f"the {part} did not end within {seconds or 0:g} s, nor when it was cancelled", workflow_s)

    def _late(self, message: str, workflow_s: float | None) -> RowOutcome:
        passed = time.monotonic() - self._began
        if workflow_s is None:
            return self._timed(RowOutcome(failure=RowFailure(Cause.WORKFLOW_TIMEOUT, message), workflow_s=passed))
        failure = RowFailure(Cause.GRADER_TIMEOUT, message)
        return self._timed(RowOutcome(failure=failure, workflow_s=workflow_s, grader_s=passed - workflow_s))

    def _cancelled(self) -> RowOutcome:
        """Return the outcome of a row that was cancelled, but not by us. Raises Displaced."""
        if self._shared or not self._transport.punctual:
            raise Displaced("its process cancelled a row without being asked to")
        message = "CancelledError: the workflow's own code cancelled it"
        passed = time.monotonic() - self._began
        return RowOutcome(failure=RowFailure(Cause.WORKFLOW_FAILED, message), workflow_s=passed)

    def _with_blocked(self, result: RowOutcome, seconds: float | None) -> RowOutcome:
        """Record how long the row blocked the event loop; mention it in a failure if it took much of its `seconds`."""
        own = self._process.held().get(self._name)
        if own is None:
            return result
        result = replace(result, blocked=BlockedLoop(own.seconds, own.where))
        if result.failure is None or seconds is None or own.seconds <= NOTICEABLE * seconds:
            return result
        words = f"{result.failure.message}; it blocked its event loop for {own.seconds:.1f} s at {own.where}"
        return replace(result, failure=replace(result.failure, message=words))

    async def _failed(self, completion: CompletionReport, failure: RowFailure, workflow_s: float) -> RowOutcome:
        """Return the outcome of a workflow that failed; no grader runs."""
        if completion.extra_fields:
            # Our own SDK sends the messages up to the failure after the completion.
            await asyncio.wait({self._results.grading}, timeout=_PARTIAL_S)
        grading = self._results.grading.result() if self._results.grading.done() else None
        result = outcome_of(completion, grading, workflow_s, 0.0)
        self.stuck = still_running(completion, grading)
        if failure.cause is Cause.WORKFLOW_TIMEOUT:
            self._check_others(self._job.workflow_seconds)
            result = self._with_blocked(result, self._job.workflow_seconds)
        return self._timed(result)

    def _check_others(self, seconds: float | None) -> None:
        """Raise Displaced if other rows held the event loop for much of this row's time."""
        if not self._shared or seconds is None:
            return
        others = {name: held for name, held in self._process.held().items() if name != self._name}
        lately = {name: held.seconds - self._before.get(name, HeldLoop()).seconds for name, held in others.items()}
        if sum(lately.values()) > NOTICEABLE * seconds:
            worst = max(lately, key=lately.__getitem__)
            raise Displaced(f"a row blocks the event loop for others at {others[worst].where}")

    def _passed(self, workflow_s: float | None) -> bool:
        seconds = self._job.workflow_seconds
        if workflow_s is not None:
            seconds = None if self._job.grader_seconds is None else workflow_s + self._job.grader_seconds
        return seconds is not None and time.monotonic() - self._began >= seconds

    def _timed(self, result: RowOutcome) -> RowOutcome:
        return replace(result, queued_s=result.queued_s + self._refused_s) if self._refused_s else result

    def _broken(self, message: str, stderr: str = "") -> EpisodeError:
        return EpisodeError(Cause.ROLLOUT_FAILED, message, stderr=stderr)
