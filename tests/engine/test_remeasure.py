"""Stored scores read by other metrics."""

from typing import TYPE_CHECKING

import msgspec
import pytest
from sqlalchemy import event

from mesocosm.core.failure import UsageError
from mesocosm.core.run import Run
from mesocosm.core.score import Metric
from mesocosm.engine.rescoring import remeasure

if TYPE_CHECKING:
    from tests.engine.conftest import Lab


async def played(lab: "Lab") -> tuple[Run, Metric]:
    run = await lab.run(lab.spec(lab.model(), count=3))
    (primary,) = [one for one in msgspec.convert(run.info["metrics"], list[Metric]) if one.primary]
    return run, primary


async def test_another_threshold_is_applied_without_playing_or_grading(lab: "Lab") -> None:
    run, primary = await played(lab)
    before, model = lab.episodes(run), next(iter(lab.models.values()))
    calls = model.calls
    rates = [Metric(f"above {bar}", primary.score, "pass_rate", threshold=bar) for bar in (-1e6, 1e6)]

    again = remeasure(run, [primary, *rates], lab.store)

    assert {metric.name: metric.value for metric in again.metrics if metric.name.startswith("above")} == {
        "above -1000000.0": 1.0,
        "above 1000000.0": 0.0,
    }
    assert again.primary == run.primary
    assert (model.calls, lab.episodes(run)) == (calls, before)
    stored = lab.store.runs.get(run.id)
    assert stored == again
    assert [metric["name"] for metric in stored.info["metrics"]] == [primary.name, *(rate.name for rate in rates)]
    assert stored.provenance["rescored_at"] > (run.ended_at or 0)


async def test_the_primary_metric_must_go_on_reading_its_score(lab: "Lab") -> None:
    run, primary = await played(lab)

    for metrics in ([], [msgspec.structs.replace(primary, score="other")], [primary, primary]):
        with pytest.raises(UsageError, match=f"run {run.id}"):
            remeasure(run, metrics, lab.store)
    assert lab.store.runs.get(run.id) == run


async def test_a_run_that_could_not_be_stored_is_still_read_as_before(lab: "Lab") -> None:
    run, primary = await played(lab)

    def cut_off(connection: object) -> None:
        raise KeyboardInterrupt

    asked = msgspec.structs.replace(run.spec, name="with another threshold")
    half = Metric("half", primary.score, "pass_rate", threshold=0.5)
    engine = lab.store.database.engine
    event.listen(engine, "commit", cut_off)
    try:
        with pytest.raises(KeyboardInterrupt):
            remeasure(run, [primary, half], lab.store, asked)
    finally:
        event.remove(engine, "commit", cut_off)
    assert lab.store.runs.get(run.id) == run
    assert remeasure(run, [primary, half], lab.store, asked).spec == asked
