"""Values of episodes: what counts as a number, and what a missing value says."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause
from mesocosm.core.scoring import ScoringConfig
from mesocosm.environments import scoring


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, 1.0),
        (False, 0.0),
        ("true", 1.0),
        ("False", 0.0),
        (" YES ", 1.0),
        ("no", 0.0),
        (3, 3.0),
        (0.5, 0.5),
        ("0.5", 0.5),
        ("1", 1.0),
        ("-2e3", -2000.0),
    ],
)
def test_numbers_words_and_booleans_count(value: Any, expected: float) -> None:
    assert scoring.field_score("m", "won", {"won": value}).value == expected


@pytest.mark.parametrize("value", [None, "", "maybe", [], [1], {}, math.nan, math.inf, "nan", "inf", 10**400])
def test_other_values_are_unusable_and_the_field_is_named(value: Any) -> None:
    score = scoring.field_score("m", "won", {"won": value})
    assert (score.value, score.missing) == (None, Cause.VALUE_UNUSABLE)
    assert "`won`" in score.explanation


def test_an_absent_field_is_missing_and_the_others_are_named() -> None:
    score = scoring.field_score("m", "won", {"b": 1, "a": 2})
    assert (score.value, score.missing) == (None, Cause.VALUE_MISSING)
    assert "`won`" in score.explanation
    assert "`a`, `b`" in score.explanation


def test_a_metric_without_a_field_has_no_value() -> None:
    assert scoring.field_score("m", None, {"": 1}).missing is Cause.VALUE_MISSING


def test_the_reward_of_an_episode_is_its_sum() -> None:
    assert (
        scoring.reward_score("m", Episode(id="e", run_id="r", task_digest="t", task_id="t", total_reward=2.5)).value
        == 2.5
    )


def test_an_infinite_sum_of_rewards_is_unusable() -> None:
    episode = Episode(id="e", run_id="r", task_digest="t", task_id="t", total_reward=math.inf)
    assert scoring.reward_score("m", episode).missing is Cause.VALUE_UNUSABLE


def test_judges_give_no_value_and_say_why() -> None:
    score = scoring.judge_score("m", "human_judge")
    assert (score.value, score.missing) == (None, Cause.GRADER_ERROR)
    assert "human_judge" in score.explanation


@given(st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers()))
def test_whatever_counts_is_finite(value: Any) -> None:
    result = scoring.number(value)
    assert result is None or math.isfinite(result)


def test_an_episode_has_one_score_per_metric_name_and_the_last_definition_counts() -> None:
    config = ScoringConfig.model_validate(
        {
            "primary_metric": "won",
            "metrics": [
                {"name": "won", "type": "episode_reward", "aggregation": "mean"},
                {"name": "total", "type": "episode_reward", "aggregation": "mean"},
                {"name": "judged", "type": "trajectory_judge", "aggregation": "mean"},
                {"name": "won", "type": "terminal_field", "field": "victory", "aggregation": "pass_rate"},
            ],
        }
    )
    episode = Episode(
        id="e", run_id="r", task_digest="t", task_id="t", total_reward=2.5, terminal_info={"victory": "Yes"}
    )
    scores = {score.name: (score.value, score.missing) for score in scoring.episode_scores(config, episode)}
    assert scores == {"won": (1.0, None), "total": (2.5, None), "judged": (None, Cause.GRADER_ERROR)}
