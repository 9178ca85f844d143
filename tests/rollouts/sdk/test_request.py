"""Requests of the protocol."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from mesocosm.rollouts.sdk.request import CancelRolloutsRequest, ExecutionRequest, RolloutInitRequest


@pytest.mark.parametrize("rollout_id", ["", ".", "..", "a/b", "a\\b", "/a", "a\0"])
def test_the_id_must_be_one_part_of_a_path(rollout_id: str) -> None:
    with pytest.raises(ValidationError, match="one part of a path"):
        ExecutionRequest(id=rollout_id, prompt=[])
    with pytest.raises(ValidationError, match="one part of a path"):
        RolloutInitRequest(
            initial_messages=[], rollout_id=rollout_id, chat_completions_url="u", completion_callback_url="c"
        )


@pytest.mark.parametrize("seconds", [math.inf, math.nan])
def test_a_timeout_must_be_finite(seconds: float) -> None:
    with pytest.raises(ValidationError):
        ExecutionRequest(id="a", prompt=[], agent_timeout_sec=seconds)


def test_a_timeout_may_be_over_already() -> None:
    assert ExecutionRequest(id="a", prompt=[], grader_timeout_sec=-1).grader_timeout_sec == -1


@pytest.mark.parametrize("body", [{}, {"all": False}, {"ids": ["a"], "prefix": "b"}, {"prefix": "a", "all": True}])
def test_a_cancellation_names_exactly_one_choice(body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="exactly one"):
        CancelRolloutsRequest.model_validate(body)


@pytest.mark.parametrize("body", [{"all": True}, {"ids": []}, {"prefix": ""}])
def test_each_choice_alone_is_a_cancellation(body: dict[str, Any]) -> None:
    CancelRolloutsRequest.model_validate(body)


def test_keys_are_not_shown() -> None:
    request = RolloutInitRequest(
        initial_messages=[], controller_api_key="secret", chat_completions_url="u", completion_callback_url="c"
    )
    assert "secret" not in repr(request)


def test_an_empty_model_key_is_refused() -> None:
    with pytest.raises(ValidationError):
        RolloutInitRequest(initial_messages=[], llm_api_key="", chat_completions_url="u", completion_callback_url="c")
