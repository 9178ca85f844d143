"""Samples: what is validated, copied and written."""

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from mesocosm.rollouts.sdk.sample import RolloutSample, plain


def test_messages_are_copied_for_the_trajectory() -> None:
    sample = RolloutSample(messages=[{"role": "user", "content": ["a"]}])
    assert sample.trajectory_messages == sample.messages
    assert sample.trajectory_messages is not None
    assert sample.trajectory_messages[0]["content"] is not sample.messages[0]["content"]


def test_an_explicit_none_keeps_no_trajectory() -> None:
    assert RolloutSample(messages=[{"role": "user"}], trajectory_messages=None).trajectory_messages is None


def test_assigning_messages_leaves_the_trajectory_alone() -> None:
    sample = RolloutSample(messages=[{"a": 1}])
    sample.messages = [{"b": 2}]
    assert sample.trajectory_messages == [{"a": 1}]


@pytest.mark.parametrize("reward", [math.nan, math.inf, "x", [1.0]])
def test_a_reward_that_is_no_finite_number_is_refused(reward: Any) -> None:
    sample = RolloutSample()
    with pytest.raises(ValidationError):
        sample.reward = reward


@pytest.mark.parametrize("messages", ["ab", None, [1]])
def test_messages_must_be_a_list_of_objects(messages: Any) -> None:
    with pytest.raises(ValidationError):
        RolloutSample(messages=messages)


def test_the_copy_for_json_drops_what_has_no_form_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    sample = RolloutSample(
        metrics={"nan": math.nan, "money": Decimal("1.5"), "deep": {1: 2, "bad": math.inf, "many": [1, object()]}},
        extra_fields={"set": {1}, "text": "kept", "none": None},
    )
    safe = sample.json_safe_copy()
    assert safe.metrics == {"money": 1.5, "deep": {"1": 2, "many": [1]}}
    assert safe.extra_fields == {"text": "kept", "none": None}
    assert len(caplog.records) == 1
    assert "object objects" in caplog.text
    assert math.isnan(sample.metrics["nan"])


def test_the_copy_for_json_takes_numbers_of_other_libraries() -> None:
    class Scalar:
        def __float__(self) -> float:
            return 0.25

    class Whole:
        def __index__(self) -> int:
            return 3

    safe = RolloutSample(metrics={"scalar": Scalar(), "whole": Whole()}).json_safe_copy()
    assert safe.metrics == {"scalar": 0.25, "whole": 3}


def test_objects_in_messages_become_json() -> None:
    class Call(BaseModel):
        name: str
        unset: int | None = None

    @dataclass
    class Point:
        x: int

    assert plain({"calls": (Call(name="f"),), 1: Point(2), "other": Decimal(1)}) == {
        "calls": [{"name": "f"}],
        "1": {"x": 2},
        "other": "1",
    }
