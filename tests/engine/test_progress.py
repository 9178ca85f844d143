"""Where a run stands, in constant memory."""

import random
import statistics
from collections.abc import Iterator

import pytest

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import Cause
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import ScoreRow
from mesocosm.core.run import BenchmarkRef, Counts, Run, RunSpec
from mesocosm.core.score import Metric, Score
from mesocosm.core.usage import Usage
from mesocosm.engine.metrics import measure
from mesocosm.engine.progress import Sums, Tracker
from mesocosm.stats import wilson

PASS = Metric("rate", "m", "pass_rate", low=0.0, high=1.0, primary=True)
MEAN = Metric("mean", "m", "mean", primary=True)


def tracker(metric: Metric, counts: Counts = Counts(planned=10), usage: Usage = Usage()) -> Tracker:  # noqa: B008
    spec = RunSpec(BenchmarkRef("k", "s"), ModelSettings("p/m"))
    run = Run("r", "s", "b", "B", "1", "0", "k", "p/m", "a", spec, counts=counts, usage=usage)
    return Tracker(run, BenchmarkInfo("b", "B", "1", "0", "k", (Metric("other", "other"), metric)))


def episode(*scores: Score, status: EpisodeStatus = EpisodeStatus.COMPLETED, retries: int = 0) -> Episode:
    return Episode("e", "r", "d", "t", status=status, usage=Usage(7, 3, calls=1), retries=retries, scores=scores)


def valued(*values: float, name: str = "m") -> list[Episode]:
    return [episode(Score(name, value)) for value in values]


def rows(*values: float) -> Iterator[ScoreRow]:
    for place, value in enumerate(values):
        yield ScoreRow(f"t{place}", "", 0, "m", value, None, False)


def test_it_counts_what_became_durable() -> None:
    tracked = tracker(PASS)
    tracked.add([episode(retries=2), episode(status=EpisodeStatus.FAILED, retries=1)])
    assert (tracked.done, tracked.failed, tracked.retries, tracked.usage) == (2, 1, 3, Usage(14, 6, calls=2))
    assert tracked.counts == Counts(planned=10, completed=1, failed=1)
    assert tracked.running == 0


def test_it_begins_where_earlier_sessions_ended() -> None:
    tracked = tracker(PASS, Counts(planned=10, completed=3, timeout=1, failed=2), Usage(70, 30, calls=6))
    assert (tracked.resumed, tracked.done, tracked.failed) == (6, 6, 2)
    assert (tracked.rate, tracked.seconds_left) == (0.0, None)
    tracked.add([episode()])
    assert tracked.usage == Usage(77, 33, calls=7)
    assert tracked.rate > 0
    assert tracked.seconds_left is not None
    assert tracked.seconds_left > 0


def test_there_is_no_score_before_the_first_value() -> None:
    tracked = tracker(PASS)
    assert tracked.score() is None
    tracked.add([episode(Score("m", missing=Cause.GRADER_ERROR)), episode(Score("other", 1.0))])
    assert tracked.score() is None


def test_a_pass_rate_is_that_of_the_final_numbers() -> None:
    tracked = tracker(PASS)
    tracked.add(valued(1.0, 1.0, 0.0))
    score, expected = tracked.score(), wilson(2, 3)
    assert score is not None
    assert (score.value, score.low, score.high) == (expected.value, expected.low, expected.high)
    assert (score.n_scored, score.n_planned) == (3, 10)


def test_a_mean_and_its_spread_are_those_of_the_values() -> None:
    chance = random.Random(1)
    values = [1e6 + chance.random() for _ in range(500)]
    tracked = tracker(MEAN)
    tracked.add(valued(*values))
    score = tracked.score()
    assert score is not None
    assert score.value == pytest.approx(statistics.fmean(values), rel=1e-12)
    assert score.low is not None
    assert score.high is not None
    half = 1.959963984540054 * statistics.stdev(values) / 500**0.5
    assert (score.high - score.low) / 2 == pytest.approx(half, rel=1e-6)


def test_one_value_has_no_interval() -> None:
    tracked = tracker(MEAN)
    tracked.add(valued(2.0))
    score = tracked.score()
    assert score is not None
    assert (score.value, score.low, score.high) == (2.0, None, None)


@pytest.mark.parametrize("metric", [PASS, MEAN], ids=["pass rate", "mean"])
def test_scores_of_earlier_sessions_are_as_if_they_had_come_now(metric: Metric) -> None:
    apart, together = tracker(metric), tracker(metric)
    apart.add(valued(0.0, 0.25, 3.0))
    apart.merge(apart.earlier(rows(1.0, 0.5)))
    together.add(valued(1.0, 0.5, 0.0, 0.25, 3.0))
    first, second = apart.score(), together.score()
    assert first is not None
    assert second is not None
    assert first.n_scored == second.n_scored == 5
    numbers = [[found.value or 0.0, found.low or 0.0, found.high or 0.0] for found in (first, second)]
    assert numbers[0] == pytest.approx(numbers[1])


def test_merging_nothing_changes_nothing() -> None:
    sums = Sums()
    sums.merge(Sums())
    sums.add(1.0, passes=True)
    sums.merge(Sums())
    assert (sums.n, sums.mean, sums.passed) == (1, 1.0, 1)


@pytest.mark.parametrize(
    "metric",
    [
        PASS,
        Metric("rate", "m", "pass_rate", threshold=-1.0, primary=True),
        Metric("rate", "m", "pass_rate", threshold=-1.0, low=0.0, primary=True),
        Metric("rate", "m", "pass_rate", threshold=0.5, higher_is_better=False, primary=True),
        Metric("mean", "m", "mean", low=-1.0, high=9.0, primary=True),
        Metric("mean", "m", "mean", low=-1.0, high=9.0, higher_is_better=False, primary=True),
    ],
    ids=str,
)
def test_a_failure_of_the_agent_counts_as_in_the_final_numbers(metric: Metric) -> None:
    tracked = tracker(metric)
    tracked.add([*valued(1.0, 1.0), episode(Score("m", worst=True), status=EpisodeStatus.FAILED)])
    score = tracked.score()
    worst = ScoreRow("t9", "", 0, "m", None, None, True)
    (final,) = measure([metric], [*rows(1.0, 1.0), worst], 3)
    assert score is not None
    assert score.value == pytest.approx(final.value)
    assert score.n_scored == final.n_scored == 3


def test_a_failure_of_unknown_worth_is_left_out_rather_than_taken_for_zero() -> None:
    tracked = tracker(MEAN)
    tracked.add([*valued(-5.0, -7.0), episode(Score("m", worst=True), status=EpisodeStatus.FAILED)])
    score = tracked.score()
    assert score is not None
    assert (score.value, score.n_scored) == (-6.0, 2)


@pytest.mark.parametrize("aggregation", ["median", "max", "min", "sum"])
def test_what_cannot_be_had_from_sums_is_not_shown(aggregation: str) -> None:
    tracked = tracker(Metric("m", "m", aggregation, primary=True))
    tracked.add(valued(1.0, 2.0))
    assert tracked.score() is None


def test_a_benchmark_without_a_primary_metric_has_no_running_score() -> None:
    tracked = tracker(Metric("mean", "m"))
    tracked.add(valued(1.0))
    assert tracked.score() is None
