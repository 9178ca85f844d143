"""Results of rollouts for controllers that ask for them instead of being called back.

Each poll answers with the next status of a rollout, or after a while with the same, and prolongs its lease. A rollout
that nobody polls any more is cancelled, because its result has no reader. A result stays for some time after the end.
"""

import asyncio
import hmac
import math
from collections.abc import Callable
from secrets import token_urlsafe

from mesocosm.rollouts.sdk.context import ENDS, RolloutProgress
from mesocosm.rollouts.sdk.request import (
    ExecutionOutcome,
    ExecutionResult,
    RolloutInitResponse,
    RolloutResultResponse,
    encode_result,
)
from mesocosm.rollouts.sdk.status import RolloutErrorCategory, RolloutStatus
from mesocosm.rollouts.sdk.trajectory import TrajectoryReport

WAIT_S = 30.0
"""Longest time that a poll waits for a change."""

LEASE_S = 120.0
"""Time without a poll after which a rollout is cancelled."""

RETENTION_S = 900.0
"""Time that a result is kept after the end."""


class LeaseError(Exception):
    """The token of a poll is not that of the rollout."""


class PolledProgress(RolloutProgress):
    """Progress that only `end` ends: a backend that says `success` has not given its result yet."""

    async def set_status(self, status: RolloutStatus) -> None:
        """Change the status, unless the new one is an end."""
        if status not in ENDS:
            await super().set_status(status)

    async def end(self, status: RolloutStatus) -> None:
        """End with a status."""
        await super().set_status(status)


class PolledResult:
    """The progress of one rollout, and its result when it has ended.

    `answer` is the response to polls after the end, `report` is None: nothing reports about the calls of the model.
    """

    report: TrajectoryReport | None = None

    def __init__(self, rollout_id: str, *, grading: bool, ended: Callable[["PolledResult"], None]) -> None:
        self.rollout_id = rollout_id
        self.wants_grade = grading
        self.token: str = token_urlsafe(32)
        self.progress: PolledProgress = PolledProgress()
        self.answer: bytes | None = None
        self.timer: asyncio.TimerHandle | None = None
        self._ended = ended
        self._worked: ExecutionResult | None = None
        self._graded: ExecutionResult | None = None

    @property
    def result(self) -> ExecutionResult | None:
        """The result with the sample to keep, once the workflow has ended."""
        return None if self._worked is None else self._outcome(self._worked).result_to_save

    async def complete(self, result: ExecutionResult) -> None:
        """Take the end of the workflow. Further calls are ignored."""
        self._worked = self._worked or result

    async def grade(self, result: ExecutionResult) -> None:
        """Take the grade. Further calls are ignored."""
        self._graded = self._graded or result

    async def fail(self, message: str, status: RolloutStatus = RolloutStatus.FAILURE) -> None:
        """Take a failure without a result of the backend, if the result is still due."""
        category = RolloutErrorCategory.INTERNAL_ERROR if status is RolloutStatus.FAILURE else None
        failure = ExecutionResult(status=status, err_message=message, err_category=category)
        if self._worked is None or (self.wants_grade and self._graded is None and self._passed(self._worked)):
            self._worked = failure.model_copy(update={"sample": self._worked.sample if self._worked else None})

    async def end(self) -> None:
        """Give the result to those who wait for it. The first end counts."""
        if self.answer is None and self._worked is not None:
            await self.settle(self._outcome(self._worked).result)

    async def settle(self, result: ExecutionResult) -> None:
        """End with a result."""
        if self.answer is None:
            self.answer = encode_result(result, self.rollout_id)
            await self.progress.end(result.status)
            self._ended(self)

    def _outcome(self, worked: ExecutionResult) -> ExecutionOutcome:
        return ExecutionOutcome(workflow=worked, grader=self._graded)

    def _passed(self, worked: ExecutionResult) -> bool:
        return worked.status is RolloutStatus.SUCCESS


class PolledResults:
    """The rollouts whose results are polled. `cancel` ends one that nobody polls any more.

    Raises ValueError if the times are not positive, or a lease would end while its poll waits.
    """

    def __init__(self, wait_s: float, lease_s: float, retention_s: float, cancel: Callable[[str], object]) -> None:
        if not all(math.isfinite(seconds) and seconds > 0 for seconds in (wait_s, lease_s, retention_s)):
            raise ValueError("the times of polling must be positive and finite")
        if lease_s <= wait_s:
            raise ValueError(f"a lease of {lease_s:g} s would end while its poll waits {wait_s:g} s; make it longer")
        self._wait_s, self._lease_s, self._retention_s = wait_s, lease_s, retention_s
        self._cancel = cancel
        self._results: dict[str, PolledResult] = {}
        self._expiring: set[asyncio.Task[None]] = set()

    def __contains__(self, rollout_id: object) -> bool:
        return rollout_id in self._results

    def add(self, rollout_id: str, *, grading: bool) -> PolledResult:
        """Expect the result of a rollout, and begin its lease."""
        result = self._results[rollout_id] = PolledResult(rollout_id, grading=grading, ended=self._keep)
        self._renew(result)
        return result

    def admission(self, result: PolledResult) -> RolloutInitResponse:
        """Return what a controller needs to poll."""
        return RolloutInitResponse(
            rollout_id=result.rollout_id,
            status=RolloutStatus.QUEUED,
            polling_lease_token=result.token,
            result_wait_timeout_sec=self._wait_s,
            polling_lease_timeout_sec=self._lease_s,
        )

    async def wait(self, rollout_id: str, token: str) -> bytes:
        """Return the response to a poll, at the next change of status. Raises KeyError if unknown, LeaseError."""
        result = self._results[rollout_id]
        if not hmac.compare_digest(token.encode(), result.token.encode()):
            raise LeaseError
        if result.answer is None:
            self._renew(result)
            try:
                async with asyncio.timeout(self._wait_s):
                    await result.progress.wait_for_status_change()
            except TimeoutError:
                pass
        if result.answer is not None:
            return result.answer
        return RolloutResultResponse(rollout_id=rollout_id, status=result.progress.status).model_dump_json().encode()

    def close(self) -> None:
        """Forget all results."""
        for result in self._results.values():
            if result.timer is not None:
                result.timer.cancel()
        self._results.clear()

    def _renew(self, result: PolledResult) -> None:
        self._after(result, self._lease_s, self._expire)

    def _keep(self, result: PolledResult) -> None:
        self._after(result, self._retention_s, lambda old: self._results.pop(old.rollout_id, None))

    def _after(self, result: PolledResult, seconds: float, act: Callable[[PolledResult], object]) -> None:
        if result.timer is not None:
            result.timer.cancel()
        result.timer = asyncio.get_running_loop().call_later(seconds, act, result)

    def _expire(self, result: PolledResult) -> None:
        failure = ExecutionResult(
            status=RolloutStatus.FAILURE,
            err_message=f"nobody polled for the result within {self._lease_s:g} s",
            err_category=RolloutErrorCategory.LEASE_EXPIRED,
        )
        task = asyncio.ensure_future(result.settle(failure))
        self._expiring.add(task)
        task.add_done_callback(self._expiring.discard)
        self._cancel(result.rollout_id)
