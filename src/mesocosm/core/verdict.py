"""The outcome of an episode in one word."""

from enum import StrEnum

from mesocosm.core.episode import FINISHED, Episode
from mesocosm.core.failure import Cause
from mesocosm.core.score import Metric, Score

LABEL = "label:"
"""Prefix of a label's name among what wrong answers are grouped by."""

GROUPED_BY = ("mistake", "behaviour", "why", "answer", "cause", "trial")
"""What wrong answers can be grouped by, beside labels."""


class Verdict(StrEnum):
    """How an episode came out. `error`: it could not be measured; `missing`: its grader skipped it."""

    PASSED = "passed"
    NOT_PASSED = "not_passed"
    ERROR = "error"
    MISSING = "missing"


def passing_metric(metrics: tuple[Metric, ...]) -> Metric | None:
    """Return the metric that says what passes: the primary one if it is a pass rate, else a pass rate of its score.

    Without either, it is the primary one; None if no metric is primary.
    """
    primary = next((metric for metric in metrics if metric.primary), None)
    if primary is None or primary.aggregation == "pass_rate":
        return primary
    rates = [one for one in metrics if one.aggregation == "pass_rate" and one.score == primary.score and not one.where]
    return min(rates, key=lambda one: one.name != "pass_rate", default=primary)


def verdict(episode: Episode, metric: Metric | None) -> Verdict | None:
    """Return the verdict on an episode; `metric` is what `passing_metric` returns.

    None while it is not finished, and for a value that neither passes nor fails: without a threshold, only 1 and 0 do.
    """
    if episode.status not in FINISHED:
        return None
    if episode.failure is not None:
        return Verdict.NOT_PASSED if episode.valid else Verdict.ERROR
    score = _score(episode.scores, metric)
    if score is None:
        # Without a metric, several scores say nothing; a score that the metric needs and is not there was not given.
        return Verdict.ERROR if metric is not None else None
    if score.worst:
        return Verdict.NOT_PASSED
    if score.value is None:
        return Verdict.MISSING if score.missing is Cause.SKIPPED else Verdict.ERROR
    if metric is not None and metric.aggregation == "pass_rate":
        return Verdict.PASSED if score.value > metric.bar else Verdict.NOT_PASSED
    binary = metric is None or (metric.higher_is_better and metric.directed and metric.aggregation == "mean")
    if binary and score.value in (0.0, 1.0):
        return Verdict.PASSED if score.value else Verdict.NOT_PASSED
    return None


def _score(scores: tuple[Score, ...], metric: Metric | None) -> Score | None:
    if metric is None:
        return scores[0] if len(scores) == 1 else None
    return next((score for score in reversed(scores) if score.name == metric.score), None)
