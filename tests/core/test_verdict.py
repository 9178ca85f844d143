"""The outcome of an episode in one word."""

from typing import Any

import pytest
from tests.store.conftest import Samples

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import Boundary, Cause, Failure
from mesocosm.core.run import ScoreBins
from mesocosm.core.score import Metric, Score
from mesocosm.core.verdict import Verdict, passing_metric, verdict

MEAN = Metric("accuracy", "right", primary=True)
RATE = Metric("solved", "right", "pass_rate", threshold=0.5, primary=True)


def ended(*scores: Score, status: EpisodeStatus = EpisodeStatus.COMPLETED, **given: Any) -> Episode:
    return Episode("e", "r", "t", "1", status=status, scores=scores, **given)


def failed(cause: Cause, boundary: Boundary) -> Episode:
    return ended(status=EpisodeStatus.FAILED, failure=Failure(cause, boundary, "said no"))


@pytest.mark.parametrize(
    ("episode", "metric", "expected"),
    [
        (ended(Score("right", 1.0)), MEAN, Verdict.PASSED),
        (ended(Score("right", 0.0)), MEAN, Verdict.NOT_PASSED),
        (ended(Score("right", 0.4)), MEAN, None),
        (ended(Score("right", 0.6)), RATE, Verdict.PASSED),
        (ended(Score("right", 0.5)), RATE, Verdict.NOT_PASSED),
        (ended(Score("right", worst=True)), MEAN, Verdict.NOT_PASSED),
        (ended(Score("right", missing=Cause.GRADER_ERROR)), MEAN, Verdict.ERROR),
        (ended(Score("right", missing=Cause.SKIPPED)), MEAN, Verdict.MISSING),
        (ended(Score("other", 1.0)), MEAN, Verdict.ERROR),
        (ended(Score("a", 1.0), Score("b", 1.0)), None, None),
        (ended(Score("a", 1.0)), None, Verdict.PASSED),
        (ended(Score("right", 1.0), status=EpisodeStatus.RUNNING), MEAN, None),
        (ended(Score("loss", 1.0)), Metric("loss", "loss", higher_is_better=False, primary=True), None),
        (failed(Cause.MODEL_UNAVAILABLE, Boundary.MODEL), MEAN, Verdict.ERROR),
        (failed(Cause.MALFORMED_ACTION, Boundary.AGENT), MEAN, Verdict.NOT_PASSED),
    ],
)
def test_every_end_has_its_verdict(episode: Episode, metric: Metric | None, expected: Verdict | None) -> None:
    assert verdict(episode, metric) is expected


def test_a_pass_rate_of_the_primary_score_says_what_passes() -> None:
    rate = Metric("pass_rate", "right", "pass_rate", threshold=0.7)
    assert passing_metric((MEAN, Metric("part", "right", "pass_rate", where={"a": "b"}), rate)) is rate
    assert passing_metric((MEAN,)) is MEAN
    assert passing_metric((rate,)) is None


def test_where_scores_are_numbers_none_passes_or_fails() -> None:
    terms = {"metrics": [{"name": "share", "score": "right", "primary": True}]}
    run = Samples().run(info=terms, bins=ScoreBins(0.0, 1.0, (3, 1)))
    assert verdict(ended(Score("right", 0.0)), run.passing) is None
    assert verdict(ended(Score("right", 0.0)), Samples().run(info=terms).passing) is Verdict.NOT_PASSED
    assert Samples().run(info={"metrics": "nonsense"}).passing is None
