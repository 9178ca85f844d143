"""Where a run stands."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import Cause
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import ScoreRow
from mesocosm.core.run import BenchmarkRef, Counts, Limits, Run, RunSpec
from mesocosm.core.score import Metric, Score
from mesocosm.core.usage import Usage
from mesocosm.engine import progress as progress_module
from mesocosm.engine.limits import Budget
from mesocosm.engine.metrics import measure, measure_one
from mesocosm.engine.progress import Tracker
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


def test_waiting_for_a_server_is_no_time_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(progress_module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    tracked = tracker(PASS)
    now[0] = 102.0
    tracked.add(valued(1.0, 1.0, 1.0, 1.0))
    assert (tracked.rate, tracked.seconds_left) == (2.0, 3.0)
    for at in (102.0, 110.0):
        now[0] = at
        tracked.pause(True)
        assert (tracked.rate, tracked.seconds_left) == (2.0, None)
    now[0] = 500.0
    assert (tracked.rate, tracked.seconds_left) == (2.0, None)
    tracked.pause(False)
    now[0] = 501.0
    tracked.add(valued(1.0, 1.0))
    assert (tracked.rate, tracked.seconds_left) == (2.0, 2.0)


def test_there_is_no_score_before_the_first_value() -> None:
    tracked = tracker(PASS)
    assert tracked.score() is None
    tracked.add([episode(Score("m", missing=Cause.GRADER_ERROR)), episode(Score("other", 1.0))])
    assert tracked.score() is None


METRICS = [
    PASS,
    MEAN,
    Metric("mean", "m", "mean", low=0.0, high=1.0, primary=True),
    Metric("mean", "m", "mean", low=-1.0, high=9.0, higher_is_better=False, primary=True),
    Metric("rate", "m", "pass_rate", threshold=0.5, higher_is_better=False, primary=True),
    *(Metric("m", "m", how, low=0.0, high=1.0, primary=True) for how in ("median", "max", "min", "sum")),
]
VALUES: dict[str, list[Any]] = {
    "passes": [1.0] * 18 + [0.0],
    "ones": [1.0] * 4,
    "graded": [0.9, 1.0, 0.95, 1.0, 0.2, 1.0],
    "holes": [1.0, None, 0.0, "worst", "skipped", 0.5],
    "only missing": [None, None],
}


def scores(values: list[Any], trials: int) -> list[Episode]:
    found = []
    for place, value in enumerate(values):
        score = Score("m", value if isinstance(value, float) else None, worst=value == "worst")
        if value is None or value == "skipped":
            score = Score("m", missing=Cause.SKIPPED if value else Cause.MODEL_TIMEOUT)
        found.append(msgspec.structs.replace(episode(score), task_digest=f"t{place // trials}", trial=place % trials))
    return found


def rows_of(episodes: list[Episode]) -> Iterator[ScoreRow]:
    for one in episodes:
        for score in one.scores:
            yield ScoreRow(one.task_digest, one.cluster, one.trial, score.name, score.value, score.missing, score.worst)


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES.keys())
@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: f"{metric.aggregation} {metric.low} {metric.high}")
@pytest.mark.parametrize("trials", [1, 3])
def test_the_running_score_is_the_final_one_of_the_same_episodes(
    metric: Metric, values: list[Any], trials: int
) -> None:
    episodes = scores(values, trials)
    (final,) = measure([metric], rows_of(episodes), 40)
    tracked = tracker(metric, Counts(planned=40, completed=2))
    tracked.merge(tracked.earlier(rows_of(episodes[:2])))
    tracked.add(episodes[2:])
    assert tracked.score() == (final if final.n_scored else None)


def test_a_rate_of_18_in_19_never_leaves_its_scale() -> None:
    tracked = tracker(Metric("score", "m", "mean", low=0.0, high=1.0, primary=True), Counts(planned=120))
    tracked.add(scores(VALUES["passes"], 1))
    score, expected = tracked.score(), wilson(18, 19)
    assert score is not None
    assert (score.value, score.low, score.high) == (expected.value, expected.low, expected.high)
    assert score.missing == {"not_run": 101}


def test_a_score_that_takes_long_is_computed_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]

    def slow(*given: Any) -> Any:
        clock[0] += 2.0
        return measure_one(*given)

    monkeypatch.setattr(progress_module, "measure_one", slow)
    monkeypatch.setattr(progress_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    tracked = tracker(PASS)
    tracked.add(scores([1.0], 1))
    first = tracked.score()
    tracked.add(scores([0.0], 1))
    assert tracked.score() is first
    clock[0] += 2.0 / progress_module.SHARE
    later = tracked.score()
    assert later is not None
    assert later.n_scored == 2


def test_what_running_episodes_use_is_counted_while_they_run() -> None:
    tracked = tracker(PASS, Counts(planned=10), Usage(5, 5, calls=1))
    budget = Budget(Limits(), Usage(5, 5, calls=1))
    tracked.budget = budget
    budget.charge(Usage(900, 100, cost_usd=0.25, calls=1), "p/m")
    assert tracked.usage == Usage(905, 105, cost_usd=0.25, calls=2)


def test_a_benchmark_without_a_primary_metric_has_no_running_score() -> None:
    tracked = tracker(Metric("mean", "m"))
    tracked.add(valued(1.0))
    assert tracked.score() is None
