"""Runs against each other."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import ScoreRow
from mesocosm.core.run import BenchmarkRef, Counts, Run, RunSpec, RunStatus
from mesocosm.core.score import Metric, MetricResult
from mesocosm.engine.comparison.differences import Difference
from mesocosm.engine.comparison.pair import SHOWN
from mesocosm.engine.comparison.runs import ComparedRuns, RunComparison, RunPair, compare
from mesocosm.engine.metrics import measure
from mesocosm.stats import always_valid, holm, mcnemar, paired_difference, paired_rate_difference, unpaired_difference

ACCURACY = Metric("accuracy", "correct", "mean", low=0.0, high=1.0, primary=True)
REWARD = Metric("reward", "reward", "mean", primary=True)

Value = float | str | None


class Shelf:
    """Runs with their scores, as a store holds them."""

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self.rows: dict[str, list[ScoreRow]] = {}

    def add(
        self,
        run_id: str,
        values: dict[str, Sequence[Value]],
        metrics: Sequence[Metric] = (ACCURACY,),
        clusters: dict[str, str] | None = None,
        **given: Any,
    ) -> Run:
        """Put a run there: tasks with the values of their trials (a number, `worst`, or a cause)."""
        rows = [
            row(task, trial, value, metrics[0].score, (clusters or {}).get(task, ""))
            for task, trials in values.items()
            for trial, value in enumerate(trials)
        ]
        return self.put(run_id, rows, metrics, **given)

    def put(self, run_id: str, rows: list[ScoreRow], metrics: Sequence[Metric], **given: Any) -> Run:
        fields: dict[str, Any] = {
            "id": run_id,
            "signature": run_id,
            "benchmark": "words",
            "benchmark_title": "Words",
            "benchmark_version": "1",
            "benchmark_digest": "content",
            "kind": "environment",
            "model": "ollama/llama",
            "agent": "loop",
            "spec": RunSpec(BenchmarkRef("environment", "words"), ModelSettings("ollama/llama")),
            "status": RunStatus.FINISHED,
            "counts": Counts(planned=len(rows)),
            "info": {"metrics": msgspec.to_builtins(tuple(metrics))},
            "metrics": measure(metrics, rows, len(rows)),
        }
        self.runs[run_id] = Run(**(fields | given))
        self.rows[run_id] = rows
        return self.runs[run_id]

    def get_run(self, run_id: str) -> Run:
        if run_id in self.runs:
            return self.runs[run_id]
        raise UnknownName(f"there is no run {run_id!r}")

    def score_rows(self, run_id: str, name: str = "") -> Iterator[ScoreRow]:
        return iter(self.rows[run_id])


def row(task: str, trial: int, value: Value, name: str = "correct", cluster: str = "") -> ScoreRow:
    if isinstance(value, str):
        return ScoreRow(task, cluster, trial, name, None, None if value == "worst" else value, value == "worst")
    return ScoreRow(task, cluster, trial, name, value, None, False)


def singles(values: Sequence[Value]) -> dict[str, Sequence[Value]]:
    return {f"t{place}": [value] for place, value in enumerate(values)}


def table(both: int, only_a: int, only_b: int, neither: int) -> tuple[dict[str, Sequence[Value]], ...]:
    """Two runs that pass so many tasks together and alone."""
    a = [1.0] * both + [1.0] * only_a + [0.0] * only_b + [0.0] * neither
    b = [1.0] * both + [0.0] * only_a + [1.0] * only_b + [0.0] * neither
    return singles(a), singles(b)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def group_of(found: RunComparison) -> ComparedRuns:
    assert len(found.groups) == 1
    return found.groups[0]


def pair_of(found: RunComparison) -> RunPair:
    pairs = group_of(found).pairs
    assert len(pairs) == 1
    return pairs[0]


def test_pass_or_fail_is_compared_by_the_tasks_that_flipped(shelf: Shelf) -> None:
    a, b = table(both=20, only_a=2, only_b=12, neither=16)
    shelf.add("a", a)
    shelf.add("b", b)
    pair = pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"]))
    contrast = pair.contrast
    assert contrast.found == mcnemar(12, 2, 50)
    assert contrast.delta == paired_rate_difference(20, 12, 2, 16)
    assert (contrast.mean_a, contrast.mean_b, contrast.n_a, contrast.n_b) == (22 / 50, 32 / 50, 50, 50)
    assert pair.winner == "b"
    counts = contrast.counts
    assert (counts.a_better, counts.b_better, counts.same, counts.flipped) == (2, 12, 36, 14)


def test_delta_is_b_minus_a_with_the_interval_around_it(shelf: Shelf) -> None:
    a, b = table(both=10, only_a=9, only_b=0, neither=1)
    shelf.add("a", a)
    shelf.add("b", b)
    down = pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"]))
    up = pair_of(compare(shelf.get_run, shelf.score_rows, ["b", "a"]))
    assert down.contrast.delta.value == pytest.approx(-0.45)
    assert down.contrast.delta.low < -0.45 < down.contrast.delta.high < 0
    assert up.contrast.delta.value == -down.contrast.delta.value
    assert up.contrast.delta.low == pytest.approx(-down.contrast.delta.high)
    assert up.contrast.delta.high == pytest.approx(-down.contrast.delta.low)
    assert (down.winner, up.winner) == ("a", "b")


@pytest.mark.parametrize("prefix", ["", "other "], ids=["same tasks", "other tasks"])
def test_no_difference_exceeds_that_of_the_bounds(shelf: Shelf, prefix: str) -> None:
    shelf.add("a", {str(i): (value,) for i, value in enumerate((0.0, 0.1, 0.0))})
    shelf.add("b", {f"{prefix}{i}": (value,) for i, value in enumerate((0.9, 0.5, 1.0))})
    assert pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"])).contrast.delta.high == 1.0
    shelf.add("beyond", {f"{prefix}{i}": (value,) for i, value in enumerate((3.0, 5.0, 4.0))})
    assert pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "beyond"])).contrast.delta.high > 4


def test_five_flips_of_five_are_a_tie(shelf: Shelf) -> None:
    a, b = table(both=0, only_a=0, only_b=5, neither=0)
    shelf.add("a", a)
    shelf.add("b", b)
    pair = pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"]))
    assert pair.contrast.delta.low > 0
    assert pair.contrast.found.p_value == pytest.approx(2 / 32)
    assert pair.winner == "tie"


def test_a_run_against_its_equal_is_a_tie_without_a_difference(shelf: Shelf) -> None:
    values = singles([0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5])
    shelf.add("a", values, [REWARD])
    shelf.add("b", values, [REWARD])
    pair = pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"]))
    assert (pair.contrast.delta.value, pair.contrast.found.p_value, pair.winner) == (0.0, 1.0, "tie")
    assert pair.contrast.smallest is None
    assert pair.contrast.counts.same == 8


def drawn(rng: random.Random, kind: str) -> float:
    return float(rng.random() < 0.5) if "passes" in kind else rng.gauss(1, 2)


@pytest.mark.parametrize("kind", ["passes", "rewards", "passes over trials", "rewards over trials", "few"])
def test_the_statistics_are_those_of_paired_difference(shelf: Shelf, kind: str) -> None:
    rng = random.Random(kind)
    trials = 3 if "trials" in kind else 1

    def run() -> dict[str, list[float]]:
        return {f"t{n}": [drawn(rng, kind) for _ in range(trials)] for n in range(5 if kind == "few" else 60)}

    a, b = run(), run()
    shelf.add("a", dict(a), [REWARD])
    shelf.add("b", dict(b), [REWARD])
    found = pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"])).contrast
    expected = paired_difference(b, a)
    assert found.paired
    assert found.found.test == expected.test
    assert found.found.p_value == pytest.approx(expected.p_value)
    assert found.smallest == pytest.approx(expected.smallest_difference)
    assert (found.delta.method, found.n_a) == (expected.difference.method, expected.n_a)
    assert (found.delta.value, found.delta.low, found.delta.high, found.mean_b, found.mean_a) == pytest.approx(
        (expected.difference.value, expected.difference.low, expected.difference.high, expected.mean_a, expected.mean_b)
    )
    flipped = {task.digest for task in found.tasks if task.flipped}
    assert flipped == {flip.task for flip in expected.flips}
    assert found.counts.flipped == len(flipped)


@pytest.mark.parametrize("kind", ["passes", "rewards"])
def test_runs_without_common_tasks_are_compared_as_independent_samples(shelf: Shelf, kind: str) -> None:
    rng = random.Random(kind)
    a = {f"a{n}": [drawn(rng, kind)] for n in range(30)}
    b = {f"b{n}": [drawn(rng, kind)] for n in range(40)}
    shelf.add("a", dict(a), [REWARD])
    shelf.add("b", dict(b), [REWARD])
    found = compare(shelf.get_run, shelf.score_rows, ["a", "b"])
    contrast, expected = pair_of(found).contrast, unpaired_difference(b, a)
    assert not contrast.paired
    assert (contrast.delta, contrast.found.p_value) == (expected.difference, expected.p_value)
    assert contrast.smallest == pytest.approx(expected.smallest_difference)
    assert (contrast.n_a, contrast.n_b) == (30, 40)
    assert (contrast.counts.only_a, contrast.counts.only_b, contrast.tasks, contrast.density) == (30, 40, (), ())
    assert "share no scored task" in group_of(found).note
    assert contrast.delta.method == ("miettinen-nurminen" if kind == "passes" else "welch")


def test_a_single_common_task_has_no_interval_and_is_a_tie(shelf: Shelf) -> None:
    shelf.add("a", singles([1.5]), [REWARD])
    shelf.add("b", singles([2.5]), [REWARD])
    pair = pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"]))
    assert not pair.contrast.delta.bounded
    assert pair.contrast.smallest == float("inf")
    assert pair.winner == "tie"


def test_the_lower_mean_wins_where_lower_is_better(shelf: Shelf) -> None:
    cost = Metric("cost", "cost", "mean", higher_is_better=False, primary=True)
    shelf.add("a", singles([float(n) for n in range(20)]), [cost])
    shelf.add("b", singles([n + 3.0 + n % 2 for n in range(20)]), [cost])
    pair = pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"]))
    assert pair.contrast.delta.value == 3.5
    assert pair.winner == "a"
    assert (pair.contrast.counts.a_better, pair.contrast.counts.b_better) == (20, 0)


def test_a_pass_rate_counts_values_above_its_threshold(shelf: Shelf) -> None:
    rate = Metric("rate", "points", "pass_rate", threshold=5.0, primary=True)
    shelf.add("a", singles([5.0, 6.0, 4.0, 9.0]), [rate])
    shelf.add("b", singles([7.0, 5.5, 4.5, 5.0]), [rate])
    contrast = pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"])).contrast
    assert (contrast.mean_a, contrast.mean_b) == (0.5, 0.5)
    flipped = [(task.digest, task.a, task.b) for task in contrast.tasks if task.flipped]
    assert flipped == [("t0", 0.0, 1.0), ("t3", 1.0, 0.0)]


MEASURED = [
    Metric("m", "m", "pass_rate", threshold=0.5, low=0.0, high=1.0),
    Metric("m", "m", "pass_rate", threshold=0.5, higher_is_better=False),
    Metric("m", "m", "mean", low=0.0, high=1.0),
    Metric("m", "m", "mean", low=-1.0),
    Metric("m", "m", "mean"),
    Metric("m", "m", "mean", higher_is_better=False),
    Metric("m", "m", "mean", higher_is_better=False, high=5.0),
]


@pytest.mark.parametrize("metric", MEASURED, ids=[f"{n}" for n in range(len(MEASURED))])
def test_worst_and_missing_values_count_as_in_the_metrics_of_a_run(shelf: Shelf, metric: Metric) -> None:
    a = shelf.add("a", singles([0.75, "worst", 0.25, 2.0, "worst", float("nan"), "grader_error"]), [metric])
    b = shelf.add("b", singles([1.0, 0.0, "worst", "worst", -3.0, "model_timeout", None]), [metric])
    contrast = pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"])).contrast
    assert (contrast.mean_a, contrast.mean_b) == (a.metrics[0].value, b.metrics[0].value)
    assert (contrast.n_a, contrast.counts.only_a, contrast.counts.only_b) == (5, 0, 0)


def test_a_task_that_one_run_has_no_score_for_is_left_out_counted_and_listed_last(shelf: Shelf) -> None:
    shelf.add("a", singles([1.0, 0.0, 1.0, "environment_timeout"]))
    shelf.add("b", singles([1.0, 1.0, "grader_error", 1.0]))
    contrast = pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"])).contrast
    assert (contrast.n_a, contrast.mean_a, contrast.mean_b) == (2, 0.5, 1.0)
    assert (contrast.counts.only_a, contrast.counts.only_b) == (1, 1)
    assert [task.digest for task in contrast.tasks] == ["t1", "t0", "t2", "t3"]
    assert [(task.a, task.b) for task in contrast.tasks] == [(0.0, 1.0), (1.0, 1.0), (1.0, None), (None, 1.0)]


def test_failures_that_count_differently_in_the_runs_are_told(shelf: Shelf) -> None:
    shelf.add("a", singles([1.0, 2.0, "worst"]), [REWARD])
    shelf.add("b", singles([-5.0, 2.0, "worst"]), [REWARD])
    assert "worst value of their own run" in group_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"])).note


def test_failures_without_anything_to_count_as_are_missing(shelf: Shelf) -> None:
    shelf.add("a", singles(["worst", "worst"]), [REWARD])
    shelf.add("b", singles([1.0, 2.0]), [REWARD], name="second")
    group = group_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"]))
    assert group.pairs == ()
    assert group.note == "Run second cannot be compared with a: the first has no scored task."


def test_trials_of_a_task_count_as_one_by_their_mean(shelf: Shelf) -> None:
    shelf.add("a", {"t0": [1.0, 1.0, 0.0], "t1": [0.0, 0.0, 0.0]})
    shelf.add("b", {"t0": [0.0, 1.0, 0.0], "t1": [1.0, "worst", "grader_error"]})
    contrast = pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"])).contrast
    assert contrast.n_a == 2
    first, second = contrast.tasks
    assert (first.digest, first.a, first.b, first.flipped) == ("t0", 2 / 3, 1 / 3, True)
    assert (second.digest, second.a, second.b, second.flipped) == ("t1", 0.0, 0.5, False)


def test_variants_of_one_item_are_one_item_and_still_listed_one_by_one(shelf: Shelf) -> None:
    clusters = {f"t{n}": f"item {n % 4}" for n in range(12)}
    rng = random.Random(5)
    a, b = ({task: [rng.random()] for task in clusters} for _ in range(2))
    shelf.add("a", dict(a), [REWARD], clusters)
    shelf.add("b", dict(b), [REWARD], clusters)
    found = compare(shelf.get_run, shelf.score_rows, ["a", "b"])
    contrast = pair_of(found).contrast
    items = [
        {item: [run[task][0] for task in clusters if clusters[task] == item] for item in set(clusters.values())}
        for run in (b, a)
    ]
    expected = paired_difference(*items)
    assert contrast.n_a == 4
    assert contrast.delta.low == pytest.approx(expected.difference.low)
    assert contrast.found.p_value == pytest.approx(expected.p_value)
    assert len(contrast.tasks) == 12
    assert "items, not tasks" in group_of(found).note


@pytest.mark.parametrize("order", [("t", "t-2", "t-3"), ("t-3", "t-2", "t")])
def test_five_tasks_that_were_each_asked_three_times_are_a_tie_like_five_tasks(
    shelf: Shelf, order: tuple[str, ...]
) -> None:
    names = [f"{number}{name}" for number in range(5) for name in order]
    # The item is called like the task that asked first, which has no cluster itself.
    clusters = {name: f"{name[0]}t" for name in names if "-" in name}
    shelf.add("a", {name: [1.0] for name in names}, clusters=clusters)
    shelf.add("b", {name: [0.0] for name in names}, clusters=clusters)
    pair = pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"]))
    assert (pair.contrast.n_a, pair.winner) == (5, "tie")


def test_a_variant_that_only_one_run_scored_stays_out_of_its_item(shelf: Shelf) -> None:
    clusters = {"t0": "item", "t1": "item", "t2": ""}
    shelf.add("a", singles([0.0, 1.0, 0.25]), [REWARD], clusters)
    shelf.add("b", singles([0.0, "grader_error", 0.75]), [REWARD], clusters)
    contrast = pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"])).contrast
    assert (contrast.n_a, contrast.mean_a, contrast.mean_b) == (2, 0.125, 0.375)


def test_p_values_of_several_pairs_are_adjusted_together(shelf: Shelf) -> None:
    base, better = table(both=20, only_a=0, only_b=6, neither=20)
    _, much_better = table(both=20, only_a=0, only_b=26, neither=0)
    shelf.add("a", base)
    shelf.add("b", better)
    shelf.add("c", much_better)
    alone = pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"]))
    assert alone.p_adjusted == alone.contrast.found.p_value == mcnemar(6, 0, 46).p_value
    assert alone.winner == "b"
    shelf.add("d", better)
    pairs = group_of(compare(shelf.get_run, shelf.score_rows, ["a", "b", "c", "d"])).pairs
    raw = [pair.contrast.found.p_value for pair in pairs]
    assert [(pair.a, pair.b) for pair in pairs] == [("a", "b"), ("a", "c"), ("a", "d")]
    assert [pair.p_adjusted for pair in pairs] == holm(raw)
    assert [pair.winner for pair in pairs] == ["b", "b", "b"]


def test_flipped_tasks_come_first_then_the_largest_differences(shelf: Shelf) -> None:
    a = {"t0": [0.0, 1.0], "t1": [1.0, 0.0], "t2": [1.0, 1.0], "t3": [0.0, 0.0], "t4": [1.0, 1.0]}
    b = {"t0": [1.0, 1.0], "t1": [0.0, 0.0], "t2": [1.0, 1.0], "t3": [1.0, 1.0], "t4": [0.0, 1.0]}
    shelf.add("a", dict(a))
    shelf.add("b", dict(b))
    tasks = pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"])).contrast.tasks
    assert [task.digest for task in tasks] == ["t3", "t0", "t4", "t1", "t2"]
    assert [task.flipped for task in tasks] == [True, True, True, False, False]


def test_long_lists_of_tasks_end_while_counts_and_density_cover_all(shelf: Shelf) -> None:
    count = SHOWN + 500
    shelf.add("a", singles([0.0] * count))
    shelf.add("b", singles([float(n % 2) for n in range(count)]))
    contrast = pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"])).contrast
    assert len(contrast.tasks) == SHOWN
    assert all(task.flipped for task in contrast.tasks[: count // 2])
    assert contrast.counts.flipped == count // 2
    assert [(cell.a, cell.b, cell.n) for cell in contrast.density] == [(0.0, 0.0, 1_250), (0.0, 1.0, 1_250)]


def test_many_different_values_are_counted_in_cells_of_one_width(shelf: Shelf) -> None:
    values = [n / 100 for n in range(101)]
    shelf.add("a", singles(values), [REWARD])
    shelf.add("b", singles(values[::-1]), [REWARD])
    density = pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"])).contrast.density
    assert sum(cell.n for cell in density) == 101
    assert len({cell.a for cell in density}) == 20
    assert min(cell.a for cell in density) == pytest.approx(0.025)
    assert max(cell.b for cell in density) == pytest.approx(0.975)


def test_values_that_no_statistic_can_hold_are_told_instead_of_compared(shelf: Shelf) -> None:
    shelf.add("a", singles([1e300, 0.5]), [REWARD])
    shelf.add("b", singles([-1e300, 0.5]), [REWARD])
    group = group_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"]))
    assert group.pairs == ()
    assert "cannot be compared" in group.note


@pytest.mark.parametrize("aggregation", ["median", "max", "min", "sum"])
def test_the_test_is_on_means_and_says_so_for_other_aggregations(shelf: Shelf, aggregation: str) -> None:
    metric = Metric("m", "m", aggregation, primary=True)
    shelf.add("a", singles([1.0, 2.0, 3.0]), [metric])
    shelf.add("b", singles([2.0, 3.0, 5.0]), [metric])
    group = group_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"]))
    assert group.pairs[0].contrast.delta.value == pytest.approx(4 / 3)
    assert f"a {aggregation} of scores, while the test compares their means" in group.note


def test_another_metric_than_the_primary_one_can_be_asked_for(shelf: Shelf) -> None:
    steps = Metric("steps", "steps", "mean", higher_is_better=False)
    for run_id, count in (("a", 3.0), ("b", 7.0)):
        rows = [item for n in range(8) for item in (row(f"t{n}", 0, 1.0), row(f"t{n}", 0, count, "steps"))]
        shelf.put(run_id, rows, [ACCURACY, steps])
    group = group_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"], "steps"))
    assert group.names == ("accuracy", "steps")
    assert group.metric == steps
    assert [score and score.value for score in group.scores] == [3.0, 7.0]
    assert (group.pairs[0].contrast.delta.value, group.pairs[0].winner) == (4.0, "a")


def test_an_unknown_metric_names_the_known_ones(shelf: Shelf) -> None:
    shelf.add("a", singles([1.0]))
    shelf.add("b", singles([1.0]))
    with pytest.raises(UnknownName, match="no metric 'speed' in common; they have: accuracy"):
        compare(shelf.get_run, shelf.score_rows, ["a", "b"], "speed")


def test_runs_of_several_benchmarks_are_grouped_and_lone_ones_told(shelf: Shelf) -> None:
    shelf.add("a", singles([1.0, 0.0]))
    shelf.add("x", singles([3.0]), [REWARD], benchmark="chess")
    shelf.add("b", singles([1.0, 1.0]))
    found = compare(shelf.get_run, shelf.score_rows, ["a", "x", "b"])
    assert [[run.id for run in group.runs] for group in found.groups] == [["a", "b"], ["x"]]
    lone = found.groups[1]
    assert lone.pairs == ()
    assert "only run of this benchmark" in lone.note
    assert lone.scores[0] is not None
    assert lone.scores[0].value == 3.0


def test_a_benchmark_without_the_wanted_metric_shows_its_primary_one_and_says_so(shelf: Shelf) -> None:
    shelf.add("a", singles([1.0]))
    shelf.add("x", singles([3.0]), [REWARD], benchmark="chess")
    found = compare(shelf.get_run, shelf.score_rows, ["a", "x"], "reward")
    assert [group.metric and group.metric.name for group in found.groups] == ["accuracy", "reward"]
    assert "no metric reward here" in found.groups[0].note


def test_runs_without_a_common_metric_are_shown_without_pairs(shelf: Shelf) -> None:
    shelf.add("a", singles([1.0]), [ACCURACY])
    shelf.add("b", singles([3.0]), [REWARD])
    group = group_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"]))
    assert (group.metric, group.names, group.scores, group.pairs) == (None, (), (None, None), ())
    assert group.note == "These runs have no metric in common."


def test_imported_runs_are_compared_by_the_metrics_of_their_results(shelf: Shelf) -> None:
    for run_id, passes in (("a", 10), ("b", 19)):
        run = shelf.add(run_id, singles([float(n < passes) for n in range(20)]), [Metric("m", "m", primary=True)])
        run.info = {}
    pair = pair_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"]))
    assert pair.contrast.delta.value == pytest.approx(0.45)
    assert pair.winner == "b"


def test_different_content_of_the_benchmark_is_told(shelf: Shelf) -> None:
    shelf.add("a", singles([1.0, 0.0]))
    shelf.add("b", singles([1.0, 0.0]), benchmark_digest="other")
    group = group_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"]))
    assert not group.same_content
    assert "different content" in group.note


def test_a_run_that_was_scored_by_other_rules_is_told(shelf: Shelf) -> None:
    shelf.add("a", singles([1.0, 0.0]))
    shelf.add("b", singles([1.0, 0.0]), provenance={"rescored_with": "easier", "graded_with": "easier"})
    group = group_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"]))
    assert not group.same_content
    assert group.note == "The runs were scored by different rules: one of them was rescored."


def test_a_doubt_about_a_run_is_told(shelf: Shelf) -> None:
    shelf.add("a", singles([1.0, 0.0]))
    doubtful = shelf.add("b", singles([1.0, 0.0]), provenance={"unverified": True})
    assert (
        f"Run b is in doubt: {doubtful.doubt}." in group_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"])).note
    )


def test_metrics_that_were_declared_differently_are_told(shelf: Shelf) -> None:
    shelf.add("a", singles([1.0, 0.0]))
    shelf.add("b", singles([1.0, 0.0]), [msgspec.structs.replace(ACCURACY, high=2.0)])
    assert "the first one's declaration holds" in group_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"])).note


def test_few_common_tasks_are_told(shelf: Shelf) -> None:
    shelf.add("a", singles([1.0] * 3))
    shelf.add("b", singles([1.0] * 7))
    assert "share 3 tasks, less than half" in group_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"])).note


def test_a_run_that_goes_on_is_compared_over_what_is_stored_and_says_so(shelf: Shelf) -> None:
    shelf.add("a", singles([1.0] * 10))
    slow = shelf.add("b", singles([0.0] * 4), status=RunStatus.RUNNING, counts=Counts(planned=11), name="slow")
    slow.metrics, slow.info = (), {**slow.info, "unscored": 1}
    group = group_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"]))
    score = group.scores[1]
    assert isinstance(score, MetricResult)
    assert (score.value, score.n_scored, score.missing) == (0.0, 4, {"not_run": 6})
    assert (group.pairs[0].contrast.n_a, group.pairs[0].contrast.counts.only_a) == (4, 6)
    assert "Run slow is still going on" in group.note


@pytest.mark.parametrize("status", [RunStatus.RUNNING, RunStatus.STOPPED])
def test_the_test_of_a_run_that_somebody_may_end_stays_valid_at_every_look(shelf: Shelf, status: RunStatus) -> None:
    a, b = table(both=20, only_a=6, only_b=0, neither=14)
    shelf.add("a", a)
    shelf.add("b", b, status=status)
    group = group_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"]))
    (pair,) = group.pairs
    assert pair.contrast.found == always_valid([-1.0] * 6 + [0.0] * 34, 1.0)
    assert mcnemar(6, 0, 40).p_value < 0.05 < pair.contrast.found.p_value
    assert (pair.winner, pair.contrast.delta.excludes(0)) == ("tie", True)
    assert "stays valid however often you look" in group.note


def test_rewards_without_bounds_have_no_test_before_the_end(shelf: Shelf) -> None:
    shelf.add("a", singles([9.0 + i for i in range(30)]), [REWARD])
    shelf.add("b", singles([float(i) for i in range(30)]), [REWARD], status=RunStatus.RUNNING)
    group = group_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"]))
    assert (group.pairs[0].contrast.found.p_value, group.pairs[0].winner) == (1.0, "tie")
    assert "no test of a and b is valid before both have ended" in group.note.lower()


def test_other_tasks_have_no_test_before_the_end(shelf: Shelf) -> None:
    shelf.add("a", {f"a{i}": [1.0] for i in range(20)})
    shelf.add("b", {f"b{i}": [0.0] for i in range(20)}, status=RunStatus.RUNNING)
    group = group_of(compare(shelf.get_run, shelf.score_rows, ["a", "b"]))
    assert (group.pairs[0].contrast.found.p_value, group.pairs[0].winner) == (1.0, "tie")
    assert "as they share no task" in group.note


@pytest.mark.parametrize("ids", [[], ["a"], [f"r{n}" for n in range(21)]])
def test_two_to_twenty_runs_can_be_compared(shelf: Shelf, ids: list[str]) -> None:
    with pytest.raises(UsageError, match=f"2 to 20 runs can be compared, not {len(ids)}"):
        compare(shelf.get_run, shelf.score_rows, ids)


def test_a_run_cannot_be_compared_with_itself(shelf: Shelf) -> None:
    shelf.add("a", singles([1.0]))
    with pytest.raises(UsageError, match="run a was given twice"):
        compare(shelf.get_run, shelf.score_rows, ["a", "a"])


def test_a_run_that_is_not_there_is_an_unknown_name(shelf: Shelf) -> None:
    shelf.add("a", singles([1.0]))
    with pytest.raises(UnknownName, match="no run 'b'"):
        compare(shelf.get_run, shelf.score_rows, ["a", "b"])


def test_a_comparison_lists_what_the_runs_differ_in(shelf: Shelf) -> None:
    shelf.add("a", singles([1.0]))
    shelf.add("b", singles([1.0]), model="ollama/other")
    assert compare(shelf.get_run, shelf.score_rows, ["a", "b"]).differences == (
        Difference("model", ("ollama/llama", "ollama/other")),
    )
