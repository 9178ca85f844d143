"""The account of one execution: how long it took, and how its end is worded."""

import time
from typing import Any

from mesocosm.rollouts.sdk import whereabouts
from mesocosm.rollouts.sdk.request import ExecutionRequest, ExecutionResult
from mesocosm.rollouts.sdk.sample import RolloutSample
from mesocosm.rollouts.sdk.status import RolloutErrorCategory, RolloutStatus, categorise

FAILED, INVALID, TIMEOUT = "workflow_failed", "workflow_invalid", "workflow_timeout"
GRADER_ERROR, GRADER_TIMEOUT = "grader_error", "grader_timeout"

QUEUED_S = 0.1
"""Queueing that took so long is told with a missed deadline."""


class Account:
    """Times what is done and makes the results of it; all of them carry the same diagnostics."""

    def __init__(self, request: ExecutionRequest, queued_s: float) -> None:
        self._request = request
        self._times = {"queued_s": queued_s, "workflow_s": 0.0, "grader_s": 0.0}
        self._blocked: dict[str, Any] | None = None
        self._began = time.monotonic()

    @property
    def budget(self) -> float | None:
        """What queueing has left of the workflow's time; None: unbounded."""
        limit = self._request.agent_timeout_sec
        return None if limit is None else max(limit - self._times["queued_s"], 0.0)

    def begin(self) -> None:
        """Start the time of the workflow or of the grader."""
        self._began = time.monotonic()

    def blocked(self, where: str, seconds: float | None = None) -> None:
        """Note that code held its event loop for so long; None: ever since it began."""
        held = time.monotonic() - self._began if seconds is None else seconds
        if self._blocked is not None and seconds is not None:
            held += self._blocked["seconds"]
        self._blocked = {"seconds": round(held, 3), "where": where}

    def success(self, sample: RolloutSample | None, *, of: str) -> ExecutionResult:
        """Return the result of a workflow or a grader (`of`) that came to a good end."""
        self._stop(of)
        return ExecutionResult(status=RolloutStatus.SUCCESS, sample=sample, extra_fields=self._facts())

    def failure(self, error: BaseException, cause: str, sample: RolloutSample | None, *, of: str) -> ExecutionResult:
        """Return the result for an error of users' code."""
        self._stop(of)
        facts = self._facts(cause=cause, error=type(error).__name__, detail=whereabouts.told(error))
        return _failed(whereabouts.words(error), categorise(error), sample, facts)

    def late(self, how: str, sample: RolloutSample | None, *, of: str) -> ExecutionResult:
        """Return the result for a deadline that was missed; `how` tells more about it."""
        self._stop(of)
        limit = self._request.agent_timeout_sec if of == "workflow" else self._request.grader_timeout_sec
        message = f"{of} exceeded its {limit}s deadline"
        if of == "workflow" and self._times["queued_s"] >= QUEUED_S:
            message += f" ({self._times['queued_s']:.1f}s of it waiting for a slot)"
        facts = self._facts(cause=TIMEOUT if of == "workflow" else GRADER_TIMEOUT)
        return _failed(message + how, RolloutErrorCategory.TIMEOUT, sample, facts)

    def ungraded(self, worked: ExecutionResult, reason: str) -> ExecutionResult:
        """Return the bare failure of a grading that did not take place; the reason is in its diagnostics."""
        facts = {**(worked.extra_fields or {}), "ungraded": reason}
        return ExecutionResult(status=RolloutStatus.FAILURE, sample=worked.sample, extra_fields=facts)

    def _stop(self, of: str) -> None:
        self._times[f"{of}_s"] = time.monotonic() - self._began

    def _facts(self, **more: str) -> dict[str, Any]:
        facts: dict[str, Any] = {**self._times, **more}
        if self._blocked is not None:
            facts["blocked"] = self._blocked
        return facts


def _failed(
    message: str, category: RolloutErrorCategory, sample: RolloutSample | None, facts: dict[str, Any]
) -> ExecutionResult:
    return ExecutionResult(
        status=RolloutStatus.FAILURE, sample=sample, err_message=message, err_category=category, extra_fields=facts
    )
