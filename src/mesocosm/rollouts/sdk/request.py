"""Requests to a backend or a rollout server, their responses and callbacks."""

import json
import logging
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, Field, model_validator

from mesocosm.rollouts.sdk.sample import MessageDict, RolloutSample, plain
from mesocosm.rollouts.sdk.status import GraderStatus, RolloutErrorCategory, RolloutStatus

POLLING_LEASE_HEADER = "X-Osmosis-Rollout-Lease"
"""Header with the token that a poll for a result needs."""

_LOG = logging.getLogger(__name__)
_OFF_THE_WIRE: dict[str, Any] = {"sample": {"id", "trajectory_messages"}}


def _segment(text: str) -> str:
    if text in {"", ".", ".."} or any(sign in text for sign in "/\\\0"):
        raise ValueError("the id of a rollout must be one part of a path: not empty, no '.' or '..', no / and no \\")
    return text


RolloutId = Annotated[str, AfterValidator(_segment)]
"""The id of a rollout; it names a folder, so it must be a single path segment."""

Seconds = Annotated[float, Field(allow_inf_nan=False)]
"""A timeout in seconds; zero or less has already expired. Leave it out for no timeout."""


class ExecutionRequest(BaseModel):
    """One row to execute. Timeouts are in seconds; None is unlimited.

    `extra_fields["mesocosm"]` holds our extensions of the published protocol: row, trial, seed, model, judge (base_url,
    api_key, model), artifacts (a folder). `grade` counts where no grader callback is passed.
    """

    id: RolloutId
    prompt: list[MessageDict]
    label: str | None = None
    metadata: dict[str, Any] | None = None
    agent_timeout_sec: Seconds | None = None
    grader_timeout_sec: Seconds | None = None
    grade: bool = True
    extra_fields: dict[str, Any] | None = None

    @classmethod
    def of(cls, fields: Mapping[str, Any], rollout_id: str) -> Self:
        """Return the row in the fields of a RolloutInitRequest. Raises pydantic's ValidationError."""
        shared: dict[str, Any] = {name: fields.get(name) for name in cls.model_fields if name in fields}
        return cls(id=rollout_id, prompt=fields["initial_messages"], **shared)


class ExecutionResult(BaseModel):
    """The result of a workflow or of a grading.

    `extra_fields` are diagnostics: cause, detail, queued_s, workflow_s, grader_s, blocked.
    """

    status: RolloutStatus
    sample: RolloutSample | None = None
    err_message: str | None = None
    err_category: RolloutErrorCategory | None = None
    extra_fields: dict[str, Any] | None = None


class ExecutionOutcome(BaseModel):
    """The results of one execution: of its workflow, and of its grading if there was one."""

    workflow: ExecutionResult
    grader: ExecutionResult | None = None

    @property
    def result(self) -> ExecutionResult:
        """The result that counts: a failed workflow's own, with the best sample there is, else the grading's."""
        if self.grader is None:
            return self.workflow
        if self.workflow.status is RolloutStatus.SUCCESS:
            return self.grader
        sample = self.workflow.sample if self.workflow.sample is not None else self.grader.sample
        return self.workflow.model_copy(update={"sample": sample})

    @property
    def result_to_save(self) -> ExecutionResult:
        """The result with the sample to keep: the grading's if it has one."""
        return self.workflow if self.grader is None or self.grader.sample is None else self.grader


class RolloutInitRequest(BaseModel):
    """The body of `POST /rollout`: the row, the address of its model, and the addresses for callbacks.

    Without `completion_callback_url` nothing calls back: the result is polled, and `grade` says whether to grade.
    """

    initial_messages: list[MessageDict]
    label: str | None = None
    metadata: dict[str, Any] | None = None
    rollout_id: RolloutId | None = None
    chat_completions_url: str
    controller_api_key: str | None = Field(default=None, repr=False)
    llm_api_key: str | None = Field(default=None, min_length=1, repr=False)
    completion_callback_url: str | None = None
    grader_callback_url: str | None = None
    grade: bool = True
    agent_timeout_sec: Seconds | None = None
    grader_timeout_sec: Seconds | None = None
    extra_fields: dict[str, Any] | None = None


class RolloutInitResponse(BaseModel):
    """The response to `POST /rollout`: empty if callbacks follow, else how to poll for the result."""

    rollout_id: str | None = None
    status: RolloutStatus | None = None
    polling_lease_token: str | None = Field(default=None, min_length=1, repr=False)
    result_wait_timeout_sec: Seconds | None = Field(default=None, gt=0)
    polling_lease_timeout_sec: Seconds | None = Field(default=None, gt=0)


class RolloutResultResponse(BaseModel):
    """The response to `GET /rollout/{id}/result`: until the end only the status."""

    rollout_id: str
    status: RolloutStatus
    sample: RolloutSample | None = None
    err_message: str | None = None
    err_category: RolloutErrorCategory | None = None


class RolloutLifecycle(BaseModel):
    """Whether a server takes rollouts, and how many have not ended."""

    accepting_rollouts: bool
    active_rollouts: int = Field(ge=0)


class GraderInitRequest(BaseModel):
    """The request to a separate grader server."""

    sample: RolloutSample
    rollout_id: str | None = None
    completion_callback_url: str
    extra_fields: dict[str, Any] | None = None
    controller_api_key: str | None = Field(default=None, repr=False)


class GraderInitResponse(BaseModel):
    """The response of a separate grader server: empty."""


class RolloutCompleteRequest(BaseModel):
    """The callback at the end of a workflow."""

    status: RolloutStatus
    rollout_id: str | None = None
    extra_fields: dict[str, Any] | None = None
    err_message: str | None = None
    err_category: RolloutErrorCategory | None = None


class GraderCompleteRequest(BaseModel):
    """The callback at the end of a grading."""

    status: GraderStatus
    rollout_id: str | None = None
    sample: RolloutSample | None = None
    err_message: str | None = None
    err_category: RolloutErrorCategory | None = None
    extra_fields: dict[str, Any] | None = None


class CancelRolloutsRequest(BaseModel):
    """The rollouts to cancel: exactly one of ids, a prefix of ids, or all."""

    ids: list[str] | None = None
    prefix: str | None = None
    all: bool = False

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.ids is not None) + (self.prefix is not None) + self.all != 1:
            raise ValueError("say exactly one of ids, prefix and all: true")
        return self


class CancelRolloutsResponse(BaseModel):
    """The result for each rollout: cancelled_queued, cancelled_running or not_found."""

    dispositions: dict[str, str]


class RolloutStatusResponse(BaseModel):
    """The response to `GET /rollout/{id}/status`."""

    rollout_id: str
    status: RolloutStatus
    reward: float | None = None
    err_message: str | None = None


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


def encode_grading(result: ExecutionResult, rollout_id: str, *, short: bool = False) -> bytes:
    """Return the grader callback as JSON; without the messages if it is to be `short`, or if JSON cannot hold them."""
    return _encoded(_encode_grading, result, rollout_id, short=short)


def encode_result(result: ExecutionResult, rollout_id: str) -> bytes:
    """Return the response to a poll as JSON; without the messages if JSON cannot hold them."""
    return _encoded(_encode_result, result, rollout_id)


def _encoded(
    encode: Callable[[ExecutionResult, RolloutSample | None, str], bytes],
    result: ExecutionResult,
    rollout_id: str,
    *,
    short: bool = False,
) -> bytes:
    try:
        return encode(result, _least(result) if short else _shown(result), rollout_id)
    except (ValueError, TypeError, RecursionError) as error:
        _LOG.warning("the sample of rollout %s is not JSON (%s); it is sent without its messages", rollout_id, error)
        return encode(result, _least(result), rollout_id)


def _encode_result(result: ExecutionResult, sample: RolloutSample | None, rollout_id: str) -> bytes:
    body = RolloutResultResponse(
        rollout_id=rollout_id,
        status=result.status,
        sample=sample.json_safe_copy() if sample is not None else None,
        err_message=result.err_message,
        err_category=result.err_category,
    )
    return _json(body, _OFF_THE_WIRE)


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
