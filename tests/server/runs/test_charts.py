"""The charts of a run: how its score settled, and what sets passed episodes apart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.run import Counts, Run
from mesocosm.server.runs.charts import contrasts, cumulative
from mesocosm.stats import wilson
from mesocosm.store.series import Play

if TYPE_CHECKING:
    from tests.server.conftest import Records


def metric(**given: Any) -> dict[str, Any]:
    return {"metrics": [{"name": "m", "score": "m", "primary": True, **given}]}


def plays(scores: Sequence[float | None], **given: Any) -> list[Play]:
    outcomes = ["missing" if score is None else "scored" for score in scores]
    return [
        Play(place, f"task {place}", score, outcome, given.get("steps", place), given.get("tokens"))
        for place, (score, outcome) in enumerate(zip(scores, outcomes, strict=True))
    ]


@pytest.fixture
def run(records: "Records") -> Run:
    return records.run(counts=Counts(planned=100), info=metric(low=0.0, high=1.0))


def test_the_last_of_the_cumulative_values_is_that_of_the_run(run: Run) -> None:
    found = cumulative(run, plays([1.0, 0.0, None, 1.0] * 25))

    assert len(found) == 30
    assert found[0].last == 2
    last, whole = found[-1], wilson(50, 75)
    assert (last.last, last.n, last.value, last.low, last.high) == (99, 75, whole.value, whole.low, whole.high)


def test_trials_of_a_task_do_not_narrow_the_band(run: Run) -> None:
    alone = plays([1.0, 0.0] * 20)
    together = [play._replace(cluster=f"task {play.position % 4}") for play in alone]

    assert (cumulative(run, together)[-1].high or 0) > (cumulative(run, alone)[-1].high or 1)


@pytest.mark.parametrize("info", [metric(aggregation="sum"), metric(aggregation="max"), {}, {"metrics": "nonsense"}])
def test_nothing_is_drawn_of_what_does_not_settle(records: "Records", info: dict[str, Any]) -> None:
    assert cumulative(records.run(info=info), plays([1.0, 0.0])) == []


def test_steps_of_passed_and_not_passed_are_counted_apart(run: Run) -> None:
    [steps] = contrasts(run, plays([1.0, 1.0, 0.0, None, 0.0]))

    assert (steps.name, steps.low, steps.high) == ("steps", 0, 4)
    assert (steps.passed, steps.not_passed) == ([1, 1, 0, 0, 0], [0, 0, 1, 0, 1])
    assert (steps.passed_median, steps.not_passed_median) == (0.5, 3.0)


def test_nothing_is_set_apart_where_all_pass_where_all_are_equal_or_where_scores_are_no_verdicts(run: Run) -> None:
    assert contrasts(run, plays([1.0, 1.0])) == []
    assert contrasts(run, plays([1.0, 0.0], steps=1, tokens=7)) == []
    assert contrasts(run, plays([0.3, 0.7])) == []
