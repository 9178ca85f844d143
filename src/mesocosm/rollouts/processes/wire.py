"""Messages of the rollout protocol: the request that starts a row, and the two reports of its results."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mesocosm.core.failure import Cause
from mesocosm.rollouts.executor import NO_SAMPLE, PlayedSample, RowFailure, RowJob, RowOutcome
from mesocosm.rollouts.sdk.context import joined
from mesocosm.rollouts.sdk.execution import STILL_RUNNING
from mesocosm.rollouts.sdk.sample import RolloutSample
from mesocosm.rollouts.sdk.tracebacks import LONGEST_MESSAGE, LONGEST_TRACEBACK, shortened

FIELD = "mesocosm"
"""The key of `extra_fields` for everything that the published protocol has no field for."""

INVALID = "validation_error"
SUCCESS, CANCELLED = "success", "cancelled"
_OF_WORKFLOW = frozenset({Cause.WORKFLOW_FAILED, Cause.WORKFLOW_INVALID, Cause.WORKFLOW_TIMEOUT})
_OF_GRADER = frozenset({Cause.GRADER_ERROR, Cause.GRADER_TIMEOUT})
_RETURNED = ("must return", "returned", "return value", "return type", "agentworkflowoutput")
"""Messages about a workflow's return value contain one of these; the category alone also covers every ValueError."""

_NOTHING = "'NoneType' object has no attribute"
"""In messages of graders that access a missing sample."""

_UNGRADED = "the rollout has no grader, or the row has neither label nor metadata"


class CompletionReport(msgspec.Struct, frozen=True):
    """The completion callback: how the workflow ended."""

    status: str
    err_message: str | None = None
    err_category: str | None = None
    extra_fields: dict[str, Any] | None = None
    rollout_id: str | None = None


class WireSample(msgspec.Struct, frozen=True):
    """A sample as sent over the wire."""

    messages: list[dict[str, Any]] = []
    reward: float | None = None
    remove_sample: bool = False
    metrics: dict[str, Any] = {}
    extra_fields: dict[str, Any] = {}


class GradingReport(msgspec.Struct, frozen=True):
    """The grader callback: the sample and how its grading ended; servers before 0.3 send `samples` by name."""

    status: str
    err_message: str | None = None
    err_category: str | None = None
    sample: WireSample | None = None
    samples: dict[str, WireSample] = {}
    extra_fields: dict[str, Any] | None = None
    rollout_id: str | None = None


@dataclass(frozen=True, slots=True)
class Replies:
    """Where a row reports over HTTP: the addresses of both callbacks, and their key."""

    completion: str = ""
    grading: str = ""
    key: str = field(default="", repr=False)


NO_REPLIES = Replies()


def encode_job(job: RowJob, name: str, replies: Replies = NO_REPLIES) -> bytes:
    """Return the body of `POST /rollout` for a row that the server knows as `name`."""
    return msgspec.json.encode(job_fields(job, name, replies))


def job_fields(job: RowJob, name: str, replies: Replies = NO_REPLIES) -> dict[str, Any]:
    """Return the fields of `POST /rollout`."""
    facts: dict[str, Any] = {
        "row": job.row,
        "trial": job.trial,
        "seed": job.seed,
        "model": job.model.model,
        "artifacts": str(job.artifacts.absolute()),
    }
    if job.judge is not None:
        facts["judge"] = {"base_url": job.judge.base_url, "api_key": job.judge.api_key, "model": job.judge.model}
    return {
        "initial_messages": list(job.prompt),
        "label": job.label,
        "metadata": job.metadata,
        "rollout_id": name,
        "chat_completions_url": job.model.base_url,
        "llm_api_key": job.model.api_key or None,
        "controller_api_key": replies.key,
        "completion_callback_url": replies.completion,
        "grader_callback_url": replies.grading,
        "agent_timeout_sec": job.workflow_seconds,
        "grader_timeout_sec": job.grader_seconds,
        "extra_fields": {FIELD: facts},
    }


def workflow_failure(completion: CompletionReport) -> RowFailure | None:
    """Return why the workflow failed, or None if it did not."""
    if completion.status == SUCCESS:
        return None
    facts = _facts(completion.extra_fields)
    message = shortened(completion.err_message or "", LONGEST_MESSAGE)
    message = message or f"the workflow ended with status {completion.status!r} and said no more"
    cause = _cause(facts, _OF_WORKFLOW)
    if cause is None:
        cause = _guessed(completion.err_category, message)
    return RowFailure(cause, _named(facts, message), _detail(facts))


def outcome_of(
    completion: CompletionReport, grading: GradingReport | None, workflow_s: float, grader_s: float
) -> RowOutcome:
    """Return the outcome of a row. Times that the server reports replace those measured here.

    If the workflow failed, that is the failure, regardless of the grader's result.
    """
    facts = {
        "queued_s": 0.0,
        "workflow_s": workflow_s,
        "grader_s": grader_s,
        **_times(_facts(completion.extra_fields)),
        **_times(_facts(grading.extra_fields if grading else None)),
    }
    sent = None if grading is None else grading.sample or _joined(grading.samples)
    sample = None if sent is None else _sample(sent)
    failure = workflow_failure(completion)
    if failure is not None:
        sample = sample or _partial(completion)
    elif grading is None:
        failure = RowFailure(Cause.GRADER_ERROR, "the server did not report the grading")
    elif grading.status != SUCCESS:
        failure = grader_failure(grading)
        if sample is None and (grading.err_category == INVALID or _NOTHING in (grading.err_message or "")):
            # A grader that raises sends the sample along, so there was none.
            failure = RowFailure(Cause.WORKFLOW_INVALID, NO_SAMPLE)
    elif sample is not None and sample.reward is None and not sample.left_out:
        failure = RowFailure(Cause.GRADER_ERROR, "the server reports that the grader succeeded, but no reward")
    return RowOutcome(
        sample,
        failure,
        queued_s=facts["queued_s"],
        workflow_s=facts["workflow_s"],
        grader_s=facts["grader_s"],
    )


def still_running(completion: CompletionReport, grading: GradingReport | None) -> bool:
    """Return whether our own SDK reports that abandoned code still runs in the process."""
    reports = (completion.extra_fields, None if grading is None else grading.extra_fields)
    return any(bool(_facts(extra).get(STILL_RUNNING)) for extra in reports)


def grader_failure(grading: GradingReport) -> RowFailure:
    """Return why grading failed. Without a message and a category, the server had nothing to grade with."""
    facts = _facts(grading.extra_fields)
    cause = _cause(facts, _OF_GRADER)
    detail = _detail(facts)
    if cause is None:
        if not grading.err_message and not grading.err_category:
            reason = facts.get("ungraded") or _UNGRADED
            fix = "give the LocalBackend a grader=…, or the row a ground_truth"
            return RowFailure(Cause.GRADER_ERROR, f"nothing was graded: {reason}; {fix}", detail)
        cause = Cause.GRADER_TIMEOUT if grading.err_category == "timeout" else Cause.GRADER_ERROR
    message = shortened(grading.err_message or "", LONGEST_MESSAGE)
    return RowFailure(cause, _named(facts, message or f"the grader failed ({grading.err_category})"), detail)


def _named(facts: Mapping[str, Any], message: str) -> str:
    """Return a message preceded by the type of its error, if our own SDK reports it."""
    kind = facts.get("error")
    return f"{kind}: {message}" if isinstance(kind, str) and kind and message != kind else message


def _detail(facts: Mapping[str, Any]) -> str:
    return shortened(str(facts.get("detail") or ""), LONGEST_TRACEBACK)


def _guessed(category: str | None, message: str) -> Cause:
    if category == "timeout":
        return Cause.WORKFLOW_TIMEOUT
    words = message.lower()
    if category == INVALID and any(sign in words for sign in _RETURNED):
        return Cause.WORKFLOW_INVALID
    return Cause.WORKFLOW_FAILED


def _facts(extra: Mapping[str, Any] | None) -> Mapping[str, Any]:
    facts = (extra or {}).get(FIELD)
    return facts if isinstance(facts, dict) else {}


def _cause(facts: Mapping[str, Any], allowed: frozenset[Cause]) -> Cause | None:
    return next((cause for cause in allowed if cause == facts.get("cause")), None)


def _times(facts: Mapping[str, Any]) -> dict[str, float]:
    names = ("queued_s", "workflow_s", "grader_s")
    return {name: float(facts[name]) for name in names if isinstance(facts.get(name), int | float)}


def _partial(completion: CompletionReport) -> PlayedSample | None:
    """Return the messages of a failed workflow, if the server reports them."""
    messages = _facts(completion.extra_fields).get("messages")
    return PlayedSample(messages=messages) if isinstance(messages, list) and messages else None


def _joined(samples: Mapping[str, WireSample]) -> WireSample | None:
    """Return several samples joined into one; None if there is none."""
    if len(samples) < 2:
        return next(iter(samples.values()), None)
    several = joined([RolloutSample(id=name, **msgspec.structs.asdict(sample)) for name, sample in samples.items()])
    assert several is not None
    return WireSample(
        [dict(message) for message in several.messages],
        several.reward,
        several.remove_sample,
        several.metrics,
        several.extra_fields,
    )


def _sample(sample: WireSample) -> PlayedSample:
    metrics, others = _apart(sample.metrics)
    return PlayedSample(
        messages=sample.messages,
        reward=None if sample.remove_sample else sample.reward,
        metrics=metrics,
        extra={**others, **sample.extra_fields},
        left_out=sample.remove_sample,
    )


def _apart(metrics: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the finite numbers, as floats, and all other values."""
    numbers: dict[str, float] = {}
    others: dict[str, Any] = {}
    for name, value in metrics.items():
        number = _number(value)
        if number is None:
            others[name] = value
        else:
            numbers[name] = number
    return numbers, others


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
