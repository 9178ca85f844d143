"""Callbacks to the controller of one rollout: one for the end of its workflow, one for its grading."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from mesocosm.rollouts.sdk.delivery import DeliveryError, deliver
from mesocosm.rollouts.sdk.request import (
    ExecutionResult,
    GraderCompleteRequest,
    RolloutCompleteRequest,
    RolloutInitRequest,
)
from mesocosm.rollouts.sdk.sample import RolloutSample, plain
from mesocosm.rollouts.sdk.status import GraderStatus, RolloutStatus
from mesocosm.rollouts.sdk.trajectory import TrajectoryReport, report_from_response

_LOG = logging.getLogger(__name__)
_TOO_LARGE = 413
_OFF_THE_WIRE: dict[str, Any] = {"sample": {"id", "trajectory_messages"}}


@dataclass(frozen=True)
class ControllerAuth:
    """How a rollout server authenticates to its controller."""

    api_key: str | None = field(default=None, repr=False)

    def as_bearer_headers(self) -> dict[str, str] | None:
        """Return the header with the key, or None without a key."""
        return {"Authorization": f"Bearer {self.api_key}"} if self.api_key else None


class Callbacks:
    """Reports the progress of one rollout to its controller.

    `result` is the latest result of the backend, `report` what the controller's replies contained about the model's
    calls. Callbacks that cannot be delivered are only logged, because the rollout itself has run.
    """

    def __init__(self, request: RolloutInitRequest, rollout_id: str) -> None:
        self.result: ExecutionResult | None = None
        self.report: TrajectoryReport | None = None
        self.completed = False
        self.graded = False
        self._request = request
        self._id = rollout_id
        self._headers = ControllerAuth(request.controller_api_key).as_bearer_headers()

    @property
    def wants_grade(self) -> bool:
        """Whether the controller gave an address for grader callbacks."""
        return bool(self._request.grader_callback_url)

    async def complete(self, result: ExecutionResult) -> None:
        """Report that the workflow has ended. Further calls are ignored."""
        if self.completed:
            _LOG.warning("rollout %s ended twice; only its first end counts", self._id)
            return
        self.completed = True
        self.result = result
        await self._tell(self._request.completion_callback_url, encode_completion(result, self._id))

    async def grade(self, result: ExecutionResult) -> None:
        """Report how the sample was graded. Further calls are ignored."""
        if self.graded:
            _LOG.warning("rollout %s was graded twice; only its first grade counts", self._id)
            return
        self.graded = True
        known = self.result.sample if self.result is not None else None
        self.result = result if result.sample is not None else result.model_copy(update={"sample": known})
        url = self._request.grader_callback_url
        if url is None:
            return
        if await self._tell(url, encode_grading(result, self._id)) == _TOO_LARGE:
            await self._tell(url, _encode_grading(result, _least(result), self._id))

    async def fail(self, message: str, status: RolloutStatus = RolloutStatus.FAILURE) -> None:
        """Report a failure without a result of the backend, for every callback that is still due."""
        if not self.completed:
            await self.complete(ExecutionResult(status=status, err_message=message))
        if self.wants_grade and not self.graded:
            await self.grade(ExecutionResult(status=RolloutStatus.FAILURE))

    async def _tell(self, url: str, body: bytes) -> int | None:
        """Deliver a body; return None on success, else the status of the final refusal, if there was one."""
        try:
            reply = await deliver(url, body, self._headers)
        except DeliveryError as error:
            _LOG.error("a callback of rollout %s was not taken: %s", self._id, error)
            return error.status
        if len(reply.body) > 2:
            self.report = report_from_response(reply) or self.report
        return None


def encode_completion(result: ExecutionResult, rollout_id: str) -> bytes:
    """Return the completion callback as JSON."""
    return _json(
        RolloutCompleteRequest(
            status=result.status,
            rollout_id=rollout_id,
            extra_fields=_ours(result),
            err_message=result.err_message,
            err_category=result.err_category,
        )
    )


def encode_grading(result: ExecutionResult, rollout_id: str) -> bytes:
    """Return the grader callback as JSON; without the messages if JSON cannot represent them."""
    try:
        return _encode_grading(result, _shown(result), rollout_id)
    except (ValueError, TypeError, RecursionError) as error:
        _LOG.warning("the sample of rollout %s is not JSON (%s); it is sent without its messages", rollout_id, error)
        return _encode_grading(result, _least(result), rollout_id)


def _encode_grading(result: ExecutionResult, sample: RolloutSample | None, rollout_id: str) -> bytes:
    passed = result.status is RolloutStatus.SUCCESS
    body = GraderCompleteRequest(
        status=GraderStatus.SUCCESS if passed else GraderStatus.FAILURE,
        rollout_id=rollout_id,
        sample=sample.json_safe_copy() if sample is not None else None,
        err_message=result.err_message,
        err_category=result.err_category,
        extra_fields=_ours(result),
    )
    return _json(body, _OFF_THE_WIRE if body.extra_fields else _OFF_THE_WIRE | {"extra_fields": True})


def _json(body: BaseModel, exclude: dict[str, Any] | None = None) -> bytes:
    """Return a callback as JSON, with unknown values as text. Raises ValueError, TypeError, RecursionError."""
    try:
        return body.model_dump_json(exclude=exclude, fallback=str).encode()
    except Exception:  # noqa: BLE001 - lone surrogates, objects that raise when they are shown
        return json.dumps(plain(body.model_dump(exclude=exclude)), allow_nan=False).encode()


def _ours(result: ExecutionResult) -> dict[str, Any] | None:
    """Return our extensions of the published protocol under one key, or None if there are none."""
    return {"mesocosm": result.extra_fields} if result.extra_fields else None


def _shown(result: ExecutionResult) -> RolloutSample | None:
    """Return the sample for the wire, without its reward if that does not count."""
    sample = result.sample
    if sample is None or sample.reward is None or (result.status is RolloutStatus.SUCCESS and not sample.remove_sample):
        return sample
    return sample.model_copy(update={"reward": None})


def _least(result: ExecutionResult) -> RolloutSample | None:
    """Return a sample with only the reward, `remove_sample` and numeric metrics."""
    shown = _shown(result)
    if shown is None:
        return None
    numbers: Mapping[str, Any] = {
        name: value for name, value in shown.metrics.items() if isinstance(name, str) and isinstance(value, int | float)
    }
    return RolloutSample(reward=shown.reward, remove_sample=shown.remove_sample, metrics=dict(numbers))
