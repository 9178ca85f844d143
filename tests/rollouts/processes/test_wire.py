"""What callbacks mean: causes, times, and what is known only from our own SDK."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from mesocosm.core.failure import Cause
from mesocosm.rollouts.executor import ModelAccess, RowJob
from mesocosm.rollouts.processes.wire import (
    CompletionReport,
    GradingReport,
    Replies,
    WireSample,
    encode_job,
    outcome_of,
    still_running,
    workflow_failure,
)

REPLIES = Replies("http://c/completion", "http://c/grader", "controller")


def ours(**told: Any) -> dict[str, Any]:
    return {"mesocosm": told}


def test_a_request_carries_what_the_protocol_has_no_word_for(working: Any) -> None:
    work: RowJob = working("fine", workflow_seconds=3.0, grader_seconds=None)
    body = msgspec.json.decode(encode_job(work, "r-1", REPLIES))
    assert body["rollout_id"] == "r-1"
    assert (body["chat_completions_url"], body["llm_api_key"]) == ("http://127.0.0.1:9/v1", "the-key")
    assert (body["agent_timeout_sec"], body["grader_timeout_sec"]) == (3.0, None)
    told = body["extra_fields"]["mesocosm"]
    assert (told["row"], told["trial"], told["seed"], told["model"]) == (4, 1, 7, "some/model")
    assert "judge" not in told


def test_a_request_carries_the_judge_of_the_run(working: Any) -> None:
    judged = replace(working("fine"), judge=ModelAccess("http://j", "k", "m"))
    told = msgspec.json.decode(encode_job(judged, "r-1", REPLIES))["extra_fields"]["mesocosm"]
    assert told["judge"] == {"base_url": "http://j", "api_key": "k", "model": "m"}


def test_the_cause_that_our_own_sdk_tells_is_believed() -> None:
    completion = CompletionReport(
        "failure", "x", "agent_error", ours(cause="workflow_invalid", detail="the traceback", workflow_s=0.25)
    )
    failure = workflow_failure(completion)
    assert failure is not None
    assert (failure.cause, failure.detail) == (Cause.WORKFLOW_INVALID, "the traceback")


def test_the_type_of_an_error_that_our_own_sdk_tells_goes_before_its_message() -> None:
    failure = workflow_failure(CompletionReport("failure", "many", "agent_error", ours(error="ExceptionGroup")))
    assert failure is not None
    assert failure.message == "ExceptionGroup: many"
    bare = workflow_failure(CompletionReport("failure", "KeyError", "agent_error", ours(error="KeyError")))
    assert bare is not None
    assert bare.message == "KeyError"


@pytest.mark.parametrize("told", ["grader_error", "internal_error", 3, None])
def test_a_cause_that_is_none_of_a_workflow_is_not(told: Any) -> None:
    failure = workflow_failure(CompletionReport("failure", "x", "timeout", ours(cause=told)))
    assert failure is not None
    assert failure.cause is Cause.WORKFLOW_TIMEOUT


def test_a_bare_grader_failure_does_not_hide_why_the_workflow_failed() -> None:
    result = outcome_of(CompletionReport("failure", "boom", "agent_error"), GradingReport("failure"), 1.0, 0.0)
    assert result.failure is not None
    assert result.failure.cause is Cause.WORKFLOW_FAILED


def test_the_messages_of_a_failed_workflow_are_kept() -> None:
    messages = [{"role": "user", "content": "half"}]
    completion = CompletionReport("failure", "boom", "agent_error")
    result = outcome_of(completion, GradingReport("failure", sample=WireSample(messages)), 1.0, 0.0)
    assert result.sample is not None
    assert result.sample.messages == messages


def test_a_grading_that_succeeded_without_a_reward_is_an_error_of_the_grader() -> None:
    result = outcome_of(CompletionReport("success"), GradingReport("success", sample=WireSample()), 1.0, 0.0)
    assert result.failure is not None
    assert (result.failure.cause, result.graded) == (Cause.GRADER_ERROR, False)
    assert "no reward" in result.failure.message


def test_times_that_the_server_tells_go_before_ours() -> None:
    grading = GradingReport("success", sample=WireSample(reward=1.0), extra_fields=ours(queued_s=0.5, grader_s=0.125))
    result = outcome_of(CompletionReport("success"), grading, 2.0, 3.0)
    assert (result.queued_s, result.workflow_s, result.grader_s) == (0.5, 2.0, 0.125)


def test_metrics_that_are_no_numbers_are_extras() -> None:
    sample = WireSample(reward=1.0, metrics={"a": 1, "b": "word"}, extra_fields={"c": [1]})
    result = outcome_of(CompletionReport("success"), GradingReport("success", sample=sample), 0.0, 0.0)
    assert result.sample is not None
    assert (result.sample.metrics, result.sample.extra) == ({"a": 1.0}, {"b": "word", "c": [1]})


@pytest.mark.parametrize("answer", [True, False])
def test_code_that_was_given_up_is_known(answer: bool) -> None:
    completion = CompletionReport("failure", extra_fields=ours(cause="workflow_timeout", still_running=answer))
    assert still_running(completion, None) is answer


@pytest.mark.parametrize(
    ("category", "message"),
    [
        ("validation_error", "No sample to grade. The workflow must register a sample source."),
        ("agent_error", "'NoneType' object has no attribute 'messages'"),
    ],
)
def test_a_grader_that_found_no_sample_is_not_at_fault(category: str, message: str) -> None:
    failure = outcome_of(CompletionReport("success"), GradingReport("failure", message, category), 0.0, 0.0).failure
    assert failure is not None
    assert failure.cause is Cause.WORKFLOW_INVALID
