"""Metrics of a part of the tasks: how many of the part were planned, and why those without a value have none."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tests.engine.one_step import OneStep

from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.model import ModelRequest
from mesocosm.core.run import Limits, Run, RunStatus, Selection
from mesocosm.core.score import Metric, MetricResult, Score
from mesocosm.core.task import Task
from mesocosm.engine.metrics import so_far
from mesocosm.engine.rescoring import remeasure, rescore

if TYPE_CHECKING:
    from tests.engine.conftest import Lab

METRICS = (
    Metric("all", "all", low=0.0, high=1.0, primary=True),
    Metric("even", "even", low=0.0, high=1.0, where={"kind": "even"}),
    Metric("odd", "odd", low=0.0, high=1.0, where={"kind": "odd"}),
)


class Halves(OneStep):
    """Ten tasks, five of each kind; whatever is done in them scores 1. Implements Benchmark."""

    info = BenchmarkInfo("halves", "Halves", "1", "d", "test", METRICS)

    def count(self, selection: Selection) -> int:
        return 10

    def tasks(self, selection: Selection) -> Iterator[Task]:
        for seed in range(10):
            yield Task(str(seed), input=seed, seed=seed, metadata={"kind": "odd" if seed % 2 else "even"})

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        return [Score("all", 1.0), Score(task.metadata["kind"], 1.0)]


class Fails:
    """A server that refuses what is asked in tasks of odd seeds."""

    def __call__(self, request: ModelRequest) -> str:
        assert request.view is not None
        if request.view.seed is not None and request.view.seed % 2:
            raise EpisodeError(Cause.MODEL_REJECTED, "the server answered 400")
        return "end"


def named(run: Run, name: str) -> MetricResult:
    return next(metric for metric in run.metrics if metric.name == name)


async def play(lab: "Lab", model: str, **limits: Any) -> Run:
    chosen = Limits(retries=0, outage_seconds=0.01, **limits)
    return await lab.run(lab.spec(model, world=lab.benchmark(Halves()), count=None, trials=2, limits=chosen))


async def test_a_part_counts_what_was_planned_of_it_and_names_why_values_are_missing(lab: "Lab") -> None:
    run = await play(lab, lab.model(Fails()))
    assert run.status is RunStatus.PARTIAL
    assert (named(run, "even").n_scored, named(run, "even").n_planned, named(run, "even").missing) == (10, 10, {})
    odd = named(run, "odd")
    assert (odd.n_scored, odd.n_planned, odd.missing) == (0, 10, {"model_rejected": 10})
    assert named(run, "all").missing == {"model_rejected": 10}


async def test_a_stopped_run_tells_how_much_of_each_part_was_not_run(lab: "Lab") -> None:
    run = await play(lab, lab.model("end"), run_tokens=30)
    assert run.status is RunStatus.STOPPED
    for name, of in (("all", 20), ("even", 10), ("odd", 10)):
        metric = named(run, name)
        assert metric.n_planned == of
        assert metric.missing == {"not_run": of - metric.n_scored}
        assert metric.pessimistic == metric.n_scored / of


async def test_the_numbers_of_a_part_are_the_same_from_what_is_stored(lab: "Lab") -> None:
    run = await play(lab, lab.model("end"), run_tokens=30)
    assert so_far(lab.store.runs.get(run.id), lab.store) == run.metrics


async def test_a_part_of_which_nothing_was_run_has_its_planned_number_when_it_is_rescored(lab: "Lab") -> None:
    run = await play(lab, lab.model("end"), run_tokens=30)
    again = await rescore(run, Halves(), lab.store)
    assert again.metrics == run.metrics
    assert remeasure(run, METRICS, lab.store).metrics == run.metrics


async def test_a_finished_run_has_no_missing_value_in_a_part(lab: "Lab") -> None:
    run = await play(lab, lab.model("end"))
    assert [(metric.n_scored, metric.n_planned) for metric in run.metrics] == [(20, 20), (10, 10), (10, 10)]
