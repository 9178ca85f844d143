"""Scores of one episode: its reward, or a field of its last info."""

import math
from collections.abc import Mapping
from typing import Any

from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause
from mesocosm.core.reading import format_value
from mesocosm.core.score import Score
from mesocosm.core.scoring import MetricDef, ScoringConfig

WORDS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
NAMED = 8
"""Maximum number of info fields that an explanation names."""


def number(value: Any) -> float | None:
    """Return a JSON value as a number: numbers, numeric text, booleans and true/false/yes/no; otherwise None."""
    if isinstance(value, str):
        value = WORDS.get(value.strip().lower(), value)
    elif not isinstance(value, int | float):
        return None
    try:
        result = float(value)
    except (ValueError, OverflowError):
        return None
    return result if math.isfinite(result) else None


def reward_score(name: str, episode: Episode) -> Score:
    """Return the sum of the rewards of all steps; missing if it is not finite."""
    total = number(episode.total_reward)
    if total is None:
        return Score(name, missing=Cause.VALUE_UNUSABLE, explanation=f"the rewards add up to {episode.total_reward}")
    return Score(name, total)


def field_score(name: str, field: str | None, info: Mapping[str, Any]) -> Score:
    """Return the value of `field` in the info of the last step; missing, with the reason, if there is none."""
    if not field:
        return Score(name, missing=Cause.VALUE_MISSING, explanation="the metric names no `field` of the info to read")
    if field not in info:
        names = ", ".join(f"`{key:.40}`" for key in sorted(info)[:NAMED]) or "nothing"
        text = f"the last info has no field `{field}`; it has {names}"
        return Score(name, missing=Cause.VALUE_MISSING, explanation=text)
    value = number(info[field])
    if value is None:
        text = f"`{field}` in the last info is {format_value(info[field])}; send a finite number, true or false"
        return Score(name, missing=Cause.VALUE_UNUSABLE, explanation=text)
    return Score(name, value)


def judge_score(name: str, kind: str) -> Score:
    """Return the missing score of a metric that needs a judge, which a run does not have."""
    text = f"metric type {kind} needs a judge of its own, so a run gives it no value"
    return Score(name, missing=Cause.GRADER_ERROR, explanation=text)


def episode_scores(scoring: ScoringConfig, episode: Episode) -> list[Score]:
    """Return one score per metric of `scoring`, under the metric's name; the last metric of a name counts."""
    return [_score(metric, episode) for metric in {metric.name: metric for metric in scoring.metrics}.values()]


def _score(metric: MetricDef, episode: Episode) -> Score:
    if metric.judged:
        return judge_score(metric.name, metric.type)
    if metric.type == "episode_reward":
        return reward_score(metric.name, episode)
    return field_score(metric.name, metric.field, episode.terminal_info)
