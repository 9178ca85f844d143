"""The numbers of a run."""

from collections.abc import Iterator

import pytest

from mesocosm.core.ports import ScoreRow
from mesocosm.core.score import MALFORMED, Metric, MetricResult
from mesocosm.engine.metrics import measure
from mesocosm.stats import wilson


def rows(*values: float | str | None, name: str = "m", trials: int = 1) -> Iterator[ScoreRow]:
    """Scores of tasks in order: a number, `worst`, or the cause for which a value is missing."""
    for place, value in enumerate(values):
        task, trial = f"t{place // trials}", place % trials
        if isinstance(value, str):
            missing = None if value == "worst" else value
            yield ScoreRow(task, "", trial, name, None, missing, value == "worst")
        else:
            yield ScoreRow(task, "", trial, name, value, None, False)


def one(metric: Metric, found: Iterator[ScoreRow], planned: int) -> MetricResult:
    return measure([metric], found, planned)[0]


PASS = Metric("rate", "m", "pass_rate", low=0.0, high=1.0, primary=True)
MEAN = Metric("mean", "m", "mean")


def test_a_pass_rate_has_the_wilson_interval() -> None:
    result = one(PASS, rows(*[1.0] * 3, *[0.0] * 7), 10)
    expected = wilson(3, 10)
    assert (result.value, result.low, result.high) == (expected.value, expected.low, expected.high)
    assert (result.n_scored, result.n_planned, result.n_tasks, result.missing) == (10, 10, 10, {})


@pytest.mark.parametrize(("low", "high"), [(10.0, 100.0), (-100.0, 0.5)])
def test_the_interval_of_a_pass_rate_is_not_cut_to_the_bounds_of_the_values(low: float, high: float) -> None:
    metric = Metric("rate", "m", "pass_rate", threshold=(low + high) / 2, low=low, high=high)
    result, rate = one(metric, rows(*[low, high] * 10), 20), wilson(10, 20)
    assert (result.value, result.low, result.high) == (rate.value, rate.low, rate.high)


def test_the_interval_of_a_sum_is_cut_to_what_so_many_values_can_come_to() -> None:
    half, rate = one(Metric("sum", "m", "sum", low=0.0, high=1.0), rows(*[0.0, 1.0] * 10), 20), wilson(10, 20)
    assert [half.low, half.value, half.high] == pytest.approx([20 * rate.low, 10.0, 20 * rate.high])
    wide = one(Metric("sum", "m", "sum", low=0.0, high=9.0), rows(0.0, 9.0), 2)
    assert (wide.value, wide.low, wide.high) == (9.0, 0.0, 18.0)


def test_passing_means_strictly_above_the_threshold() -> None:
    metric = Metric("rate", "m", "pass_rate", threshold=0.5)
    assert one(metric, rows(0.5, 0.50001, 1.0, 0.0), 4).value == 0.5


def test_a_metric_that_nobody_declared_counts_what_was_not_run_and_what_has_no_score() -> None:
    found = [*rows(1.0, 0.0, "grader_error"), *rows(7.0, 8.0, name="words")]
    _, words = measure([PASS], found, 6, discover=True)
    assert (words.n_scored, words.n_planned) == (2, 6)
    assert words.missing == {"grader_error": 1, "not_run": 3}


def test_a_metric_that_nobody_declared_and_only_some_episodes_have_is_missing_nowhere_else() -> None:
    found = [*rows(1.0, 0.0, 1.0), *rows(7.0, name="words")]
    _, words = measure([PASS], found, 3, discover=True)
    assert (words.n_scored, words.n_planned, words.missing) == (1, 1, {})


def test_missing_values_are_left_out_counted_by_cause_and_shown_as_worst_beside() -> None:
    result = one(PASS, rows(1.0, 1.0, "environment_timeout", "environment_timeout", "value_unusable"), 5)
    assert result.value == 1.0
    assert result.missing == {"environment_timeout": 2, "value_unusable": 1}
    assert result.n_scored + sum(result.missing.values()) == result.n_planned
    assert result.pessimistic == pytest.approx(2 / 5)


def test_a_failure_of_the_agent_counts_as_worst_in_both_readings() -> None:
    result = one(PASS, rows(1.0, "worst", "worst", "worst"), 4)
    assert (result.value, result.n_scored, result.n_worst, result.worst_value) == (0.25, 4, 3, 0.0)
    assert result.missing == {}


@pytest.mark.parametrize(
    ("metric", "worst"),
    [
        (Metric("a", "m", "mean", low=-1.0, high=9.0), -1.0),
        (Metric("a", "m", "mean", low=-1.0, high=9.0, higher_is_better=False), 9.0),
        (Metric("a", "m", "mean"), 2.0),
        (Metric("a", "m", "mean", higher_is_better=False), 4.0),
    ],
)
def test_the_worst_value_is_the_declared_bound_or_else_the_worst_seen(metric: Metric, worst: float) -> None:
    result = one(metric, rows(2.0, 4.0, "worst"), 3)
    assert result.worst_value == worst
    assert result.value == pytest.approx((6.0 + worst) / 3)


def test_episodes_that_never_ran_are_named_as_such() -> None:
    result = one(PASS, rows(1.0, 0.0), 10)
    assert result.missing == {"not_run": 8}
    assert result.pessimistic == pytest.approx(0.1)


def test_nothing_scored_is_no_number_rather_than_zero() -> None:
    result = one(MEAN, rows("grader_error", "worst"), 2)
    assert (result.value, result.low, result.high) == (None, None, None)
    assert result.missing == {"agent_failure": 1, "grader_error": 1}


def test_trials_of_one_task_are_one_cluster() -> None:
    repeated = one(MEAN, rows(*[1.0] * 10, *[0.0] * 10, trials=10), 20)
    apart = one(MEAN, rows(*[1.0] * 10, *[0.0] * 10), 20)
    assert repeated.n_tasks == 2
    assert repeated.value == apart.value == 0.5
    assert repeated.low is not None
    assert apart.low is not None
    assert repeated.low < 0.05
    assert apart.low > 0.25


def test_variants_of_one_item_are_one_cluster() -> None:
    found = [ScoreRow(f"t{place}", f"item-{place // 4}", 0, "m", float(place < 8), None, False) for place in range(16)]
    result = measure([PASS], iter(found), 16)[0]
    assert result.n_tasks == 4


def test_each_metric_takes_the_scores_of_its_own_name() -> None:
    found = [*rows(1.0, 1.0), *rows(5.0, 7.0, name="other")]
    results = measure([MEAN, Metric("second", "other", "max")], iter(found), 2)
    assert [result.value for result in results] == [1.0, 7.0]


def test_failures_of_the_agent_are_missing_where_nobody_said_what_is_worse() -> None:
    metric = Metric("guesses", "guesses", "mean", directed=False)
    rows = [ScoreRow("a", "", 0, "guesses", 3.0, None, False), ScoreRow("b", "", 0, "guesses", None, None, True)]
    (result,) = measure([metric], rows, 2)
    assert (result.value, result.n_scored, result.missing) == (3.0, 1, {"agent_failure": 1})
    assert (result.pessimistic, result.directed) == (None, False)


def test_what_an_environment_took_without_a_valid_action_has_a_strict_reading() -> None:
    rows = [
        ScoreRow("a", "", 0, MALFORMED, 2.0, None, False),
        ScoreRow("a", "", 0, "won", 1.0, None, False),
        ScoreRow("b", "", 0, "won", 1.0, None, False),
        ScoreRow("b", "", 1, "won", 0.0, None, False),
        ScoreRow("c", "", 0, "won", None, None, True),
    ]
    (found,) = measure([Metric("won", "won", "pass_rate", low=0.0, high=1.0, primary=True)], rows, 4)
    assert (found.value, found.strict, found.n_malformed, found.n_scored) == (0.5, 0.25, 1, 4)


def test_without_such_an_episode_there_is_no_strict_reading() -> None:
    (found,) = measure([Metric("won", "won")], [ScoreRow("b", "", 0, "won", 1.0, None, False)], 1)
    assert (found.strict, found.n_malformed) == (None, 0)
