"""Leaderboards."""

from typing import Any

import msgspec
import pytest

from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Counts, Run, RunSpec, RunStatus
from mesocosm.core.score import MetricResult
from mesocosm.engine.leaderboard import Standing, above, leaderboard, reference
from mesocosm.stats import newcombe, wilson


def rate(passes: int, n: int, **given: Any) -> MetricResult:
    found = wilson(passes, n)
    fields: dict[str, Any] = {"low": found.low, "high": found.high}
    return measured(found.value, n_planned=n, n_scored=n, n_tasks=n, **(fields | given))


def measured(value: float | None, **given: Any) -> MetricResult:
    fields: dict[str, Any] = {
        "name": "accuracy",
        "aggregation": "mean",
        "value": value,
        "low": None,
        "high": None,
        "method": "wilson",
        "n_planned": 100,
        "n_scored": 100,
        "n_tasks": 100,
        "primary": True,
    }
    return MetricResult(**(fields | given))


def run(model: str, metric: MetricResult, created_at: float = 0.0) -> Run:
    return Run(
        id=f"{model} {created_at}",
        signature=model,
        benchmark="words",
        benchmark_title="Words",
        benchmark_version="1",
        benchmark_digest="content",
        kind="environment",
        model=model,
        agent="loop",
        spec=RunSpec(BenchmarkRef("environment", "words"), ModelSettings("ollama/m")),
        status=RunStatus.FINISHED,
        metrics=(metric,),
        created_at=created_at,
    )


def places(standings: tuple[Standing, ...]) -> list[tuple[str, int | None, int | None]]:
    return [(standing.run.model, standing.rank, standing.rank_last) for standing in standings]


def interval(value: float, margin: float, **given: Any) -> MetricResult:
    return measured(value, low=value - margin, high=value + margin, **given)


def test_runs_share_places_while_their_difference_could_be_chance() -> None:
    # Margins of 3 and 4 make one of 5: 100 and 96 are too close, 96 and 91 just so, 100 and 91 are apart.
    a, b, c, d = interval(100.0, 3.0), interval(96.0, 4.0), interval(91.0, 3.0), interval(80.0, 4.0)
    found = leaderboard([run("x/d", d), run("x/b", b), run("x/a", a), run("x/c", c)])
    assert places(found) == [("x/a", 1, 2), ("x/b", 1, 3), ("x/c", 2, 3), ("x/d", 4, 4)]


def test_the_interval_of_the_difference_of_two_rates_is_newcombes() -> None:
    for passes in range(40, 80):
        a, b = rate(passes, 100), rate(50, 120)
        assert above(a, b) == (newcombe(passes, 100, 50, 120).low > 0)
        assert above(b, a) == (newcombe(passes, 100, 50, 120).high < 0)


def test_the_lowest_value_is_first_where_lower_is_better() -> None:
    low = {"higher_is_better": False}
    found = leaderboard([run("x/slow", interval(9.0, 1.0, **low)), run("x/fast", interval(2.0, 1.0, **low))])
    assert places(found) == [("x/fast", 1, 1), ("x/slow", 2, 2)]


def test_floor_and_ceiling_are_shown_by_value_without_a_place() -> None:
    runs = [
        run("builtin/random", interval(5.0, 0.1)),
        run("x/weak", interval(4.0, 0.1)),
        run("x/good", interval(8.0, 0.1)),
        run("builtin/oracle", interval(10.0, 0.1)),
    ]
    found = leaderboard(runs)
    assert places(found) == [
        ("builtin/oracle", None, None),
        ("x/good", 1, 1),
        ("builtin/random", None, None),
        ("x/weak", 2, 2),
    ]
    assert [standing.reference for standing in found] == ["ceiling", "", "floor", ""]


def test_of_equal_values_the_newer_run_is_named_first() -> None:
    found = leaderboard([run("x/old", rate(5, 10), 1.0), run("x/new", rate(5, 10), 2.0), run("x/older", rate(5, 10))])
    assert places(found) == [("x/new", 1, 3), ("x/old", 1, 3), ("x/older", 1, 3)]


def test_a_run_without_an_interval_may_have_any_place() -> None:
    found = leaderboard([run("x/one", measured(9.0)), run("x/a", interval(5.0, 1.0)), run("x/b", interval(1.0, 1.0))])
    assert places(found) == [("x/one", 1, 3), ("x/a", 1, 2), ("x/b", 2, 3)]


@pytest.mark.parametrize(("tasks", "last"), [(2, 2), (5, 2), (6, 1), (100, 1)])
def test_values_that_never_varied_prove_nothing_over_a_handful_of_tasks(tasks: int, last: int) -> None:
    a, b = (interval(value, 0.0, n_tasks=tasks) for value in (2.0, 1.0))
    assert places(leaderboard([run("x/a", a), run("x/b", b)]))[0] == ("x/a", 1, last)


def test_runs_without_a_value_are_left_out() -> None:
    unscored = run("x/none", measured(None))
    unmeasured = run("x/nothing", rate(1, 2))
    unmeasured.metrics = ()
    assert places(leaderboard([unscored, unmeasured, run("x/a", rate(1, 2))])) == [("x/a", 1, 1)]
    assert leaderboard([]) == ()


def test_equal_values_with_equal_intervals_beat_each_other_in_no_direction() -> None:
    same = interval(3.0, 0.0)
    assert not above(same, same)
    assert [last for _, _, last in places(leaderboard([run("x/a", same), run("x/b", same)]))] == [2, 2]


def test_only_the_built_in_models_are_references() -> None:
    assert (reference("builtin/random"), reference("builtin/oracle")) == ("floor", "ceiling")
    assert (reference("builtin/empty"), reference("ollama/random")) == ("floor", "")


def test_a_run_that_was_rescored_by_other_rules_has_no_place_among_the_others() -> None:
    rescored = run("generous", rate(100, 100))
    rescored.provenance = {"rescored_with": "other rules"}
    found = leaderboard([run("a", rate(90, 100)), run("b", rate(10, 100)), rescored])
    assert places(found) == [("generous", None, None), ("a", 1, 1), ("b", 2, 2)]


def test_programs_that_never_asked_their_model_have_no_place() -> None:
    silent = run("openai/m", rate(100, 100))
    silent.info, silent.counts = {"judged": True}, Counts(100, 100)
    assert places(leaderboard([silent])) == [("openai/m", None, None)]


def test_a_run_that_lacks_much_takes_no_place_whatever_it_allowed_itself() -> None:
    lacking = run("a/tolerant", msgspec.structs.replace(rate(8, 8), n_planned=10, missing={"grader_error": 2}))
    assert places(leaderboard([lacking, run("a/whole", rate(5, 10))]))[0] == ("a/tolerant", None, None)
