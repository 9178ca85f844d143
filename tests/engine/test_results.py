"""Results of a run and its slices, from what the store yields of its samples."""

import itertools
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import Any

import msgspec
import pytest

from mesocosm.core.failure import RULES, Cause, UnknownName
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import ResultRow, ScoreRow
from mesocosm.core.run import BenchmarkRef, Counts, Run, RunSpec
from mesocosm.core.score import Metric
from mesocosm.engine.comparison.sample import Tasks, read_sample
from mesocosm.engine.metrics import measure
from mesocosm.engine.results import RunResults, Trials, passes, results, stage_of
from mesocosm.engine.slices import Slices, slices

REWARD = Metric("reward", "reward", low=0.0, primary=True)
PASS = Metric("pass_rate", "reward", "pass_rate", threshold=0.5, inclusive=True)

Became = float | Cause


@dataclass
class Recorded:
    """Samples in memory: for each a task, what became of it, its labels; they took 1, 2, 3 … seconds."""

    samples: Sequence[tuple[str, Became, dict[str, str]]]
    metrics: Sequence[Metric] = (REWARD, PASS)
    given: dict[str, Any] = field(default_factory=dict)

    @property
    def run(self) -> Run:
        """The run of these samples."""
        spec = RunSpec(BenchmarkRef("rollout", "rows"), ModelSettings("openai/m"))
        fields: dict[str, Any] = {"counts": Counts(planned=len(self.samples)), **self.given}
        info = {"metrics": msgspec.to_builtins(list(self.metrics))}
        return Run("r", "s", "rows", "rows", "1", "d", "rollout", "openai/m", "solver", spec, info=info, **fields)

    def result_rows(self, run_id: str, primary: str) -> Iterator[ResultRow]:
        assert (run_id, primary) == ("r", self.metrics[0].score)
        for number, (task, became, labels) in enumerate(self.samples):
            text = msgspec.json.encode(labels).decode() if labels else None
            if isinstance(became, float):
                yield ResultRow(task, "", became, "scored", None, None, number + 1.0, text)
            elif became is Cause.SKIPPED:
                yield ResultRow(task, "", None, "skipped", None, None, number + 1.0, text)
            elif RULES[became].valid:
                yield ResultRow(task, "", None, "worst", became, None, number + 1.0, text)
            else:
                yield ResultRow(task, "", None, "missing", None, became, number + 1.0, text)

    def results(self) -> RunResults:
        return results(self.run, self, ())

    def slices(self, by: str) -> Slices:
        return slices(self.run, self, by)


def trials(*became: tuple[str, Became], **given: Any) -> Recorded:
    return Recorded([(task, one, {}) for task, one in became], **given)


def test_every_sample_is_graded_failed_or_skipped() -> None:
    found = trials(
        ("a", 1.0), ("a", 0.25), ("b", Cause.WORKFLOW_FAILED), ("b", Cause.GRADER_ERROR), ("c", Cause.SKIPPED)
    ).results()

    counts = found.counts
    assert (counts.done, counts.graded, counts.passed, counts.failed, counts.skipped) == (5, 2, 1, 2, 1)
    assert found.seed_pass_rate == 1 / 4


def test_planned_samples_that_are_not_done_are_owed() -> None:
    assert trials(("a", 1.0), given={"counts": Counts(planned=10)}).results().counts.owed == 9


def test_statistics_of_rewards_are_over_graded_samples_alone() -> None:
    values = [0.5, -1.0, 2.0, 0.75]
    found = trials(*[("a", value) for value in values], ("b", Cause.WORKFLOW_FAILED)).results().reward

    assert found is not None
    assert (found.n, found.min, found.max, found.median) == (4, -1.0, 2.0, 0.625)
    assert found.mean == pytest.approx(statistics.fmean(values))
    assert found.std == pytest.approx(statistics.pstdev(values))


def test_without_any_graded_sample_there_are_no_numbers() -> None:
    found = trials(("a", Cause.GRADER_TIMEOUT)).results()

    assert (found.reward, found.passes, found.seed_pass_rate) == (None, (), 0.0)
    assert Recorded([]).results().seed_pass_rate is None
    assert Recorded([]).results().latency is None


def test_the_threshold_is_inclusive_where_its_metric_says_so() -> None:
    strict = msgspec.structs.replace(PASS, inclusive=False)

    assert trials(("a", 0.5)).results().counts.passed == 1
    assert trials(("a", 0.5), metrics=(REWARD, strict)).results().counts.passed == 0


def test_rewards_of_0_and_1_need_no_threshold() -> None:
    found = trials(("a", 1.0), ("b", 0.0), metrics=(REWARD,)).results()

    assert (found.counts.passed, found.pass_threshold, found.pass_inclusive) == (1, 1.0, True)


def test_where_nothing_says_what_a_pass_is_nothing_is_counted_as_one() -> None:
    found = trials(("a", 0.3), metrics=(REWARD,)).results()

    assert (found.counts.passed, found.pass_threshold, found.pass_rate, found.passes) == (None, None, None, ())


def test_pass_at_k_and_pass_hat_k_are_means_over_tasks_for_every_k() -> None:
    passes = {"a": 3, "b": 1, "c": 0}
    tries = [(task, 1.0 if n < passed else 0.0) for task, passed in passes.items() for n in range(3)]

    found = trials(*tries).results().passes

    assert [one.k for one in found] == [1, 2, 3]
    for one in found:
        at = statistics.fmean(1 - comb(3 - c, one.k) / comb(3, one.k) for c in passes.values())
        hat = statistics.fmean(comb(c, one.k) / comb(3, one.k) for c in passes.values())
        assert [one.at.value, one.hat.value] == pytest.approx([at, hat])
        assert (one.at.tasks, one.at.pessimistic) == (3, None)
        assert one.at.low is not None
        assert one.at.high is not None
        assert one.at.low <= one.at.value <= one.at.high


def test_a_failure_of_the_agent_is_a_failed_trial_and_a_skipped_one_is_none() -> None:
    found = trials(("a", 1.0), ("a", Cause.WORKFLOW_TIMEOUT), ("b", 1.0), ("b", Cause.SKIPPED)).results().passes

    assert [(one.k, one.hat.value, one.hat.tasks) for one in found] == [(1, 0.75, 2), (2, 0.0, 1)]


def test_a_missing_trial_is_none_but_the_pessimistic_reading_counts_it_as_failed() -> None:
    first, *rest = trials(("a", 1.0), ("a", Cause.GRADER_ERROR), ("b", 1.0)).results().passes

    assert (first.at.value, first.at.pessimistic, first.at.tasks) == (1.0, 0.75, 2)
    assert rest == []


def test_percentiles_are_values_that_occurred() -> None:
    found = trials(*[("a", 1.0)] * 10).results().latency

    assert found is not None
    assert (found.n, found.mean, found.p50, found.p90, found.p95, found.p99, found.max) == (10, 5.5, 5, 9, 10, 10, 10)


@pytest.mark.parametrize(
    ("cause", "stage"),
    [
        (Cause.WORKFLOW_FAILED, "workflow"),
        (Cause.WORKFLOW_INVALID, "workflow"),
        (Cause.WORKFLOW_TIMEOUT, "timeout"),
        (Cause.GRADER_TIMEOUT, "timeout"),
        (Cause.GRADER_ERROR, "grader"),
        (Cause.VALUE_MISSING, "grader"),
        (Cause.MODEL_TIMEOUT, "model"),
        (Cause.ROLLOUT_FAILED, "rollout"),
        (Cause.SANDBOX_FAILED, "rollout"),
        (Cause.INTERNAL, "other"),
        ("a word of a later version", "other"),
    ],
)
def test_each_cause_has_its_stage(cause: str, stage: str) -> None:
    assert stage_of(cause) == stage


def test_failures_are_listed_by_cause_the_most_frequent_first() -> None:
    causes = [Cause.GRADER_ERROR, Cause.WORKFLOW_FAILED, Cause.WORKFLOW_FAILED]
    found = trials(*[("a", cause) for cause in causes], ("b", Cause.SKIPPED)).results().failures

    assert [(one.stage, one.cause, one.count, one.valid) for one in found] == [
        ("workflow", "workflow_failed", 2, True),
        ("grader", "grader_error", 1, False),
    ]


def test_labels_are_listed_with_how_many_values_they_have_unless_they_tell_tasks_apart() -> None:
    samples = [(str(n), 1.0, {"id": str(n), "area": str(n % 100), "level": str(n % 3)}) for n in range(1_200)]

    found = Recorded(samples).results().labels

    assert [(one.name, one.values) for one in found] == [("area", 100), ("level", 3)]


@dataclass
class Repeated(Recorded):
    """Samples of which each task's second is its second trial, and so on."""

    def result_rows(self, run_id: str, primary: str) -> Iterator[ResultRow]:
        played: Counter[str] = Counter()
        for row in super().result_rows(run_id, primary):
            yield row._replace(trial=played[row.task])
            played[row.task] += 1


def test_trials_are_groups_where_there_are_several_and_count_from_1() -> None:
    samples = Repeated([("a", 1.0, {}), ("a", 0.0, {}), ("b", 0.0, {}), ("b", Cause.GRADER_ERROR, {})])

    assert [(one.name, one.values) for one in samples.results().labels] == [("trial", 2)]
    assert [(one.value, one.reward.value, one.missing) for one in samples.slices("trial").slices] == [
        ("1", 0.5, 0),
        ("2", 0.0, 1),
    ]


def test_a_label_called_trial_wins() -> None:
    samples = Repeated([("a", 1.0, {"trial": "phase III"}), ("a", 0.0, {"trial": "phase III"})])

    assert [(one.name, one.values) for one in samples.results().labels] == [("trial", 1)]
    assert [one.value for one in samples.slices("trial").slices] == ["phase III"]


LEVELS: list[tuple[str, Became, dict[str, str]]] = [
    ("a", 1.0, {"level": "easy"}),
    ("b", 0.0, {"level": "easy"}),
    ("c", Cause.WORKFLOW_FAILED, {"level": "easy"}),
    ("d", -2.0, {"level": "hard"}),
    ("e", Cause.GRADER_ERROR, {"level": "hard"}),
    ("f", Cause.SKIPPED, {"level": "hard"}),
    ("g", 1.0, {}),
]


def test_slices_of_a_run_without_a_finished_sample_say_so() -> None:
    with pytest.raises(UnknownName, match="no sample of run r is finished yet"):
        Recorded([]).slices("level")


def test_slices_are_those_of_most_samples_first_and_the_last_has_no_label() -> None:
    found = Recorded(LEVELS).slices("level")

    assert [(one.value, one.samples, one.failed, one.missing, one.skipped) for one in found.slices] == [
        ("easy", 3, 1, 0, 0),
        ("hard", 3, 1, 1, 1),
        (None, 1, 0, 0, 0),
    ]


def test_a_failed_workflow_counts_in_its_slice_as_it_does_in_the_run() -> None:
    easy = Recorded(LEVELS).slices("level").slices[0]

    # The lowest reward of the run is that of another slice.
    assert easy.reward.value == pytest.approx((1.0 + 0.0 - 2.0) / 3)
    assert easy.pass_rate is not None
    assert easy.pass_rate.value == pytest.approx(1 / 3)


def test_slices_of_one_value_are_the_whole_run() -> None:
    recorded = Recorded([(task, became, {"all": "x"}) for task, became, _ in LEVELS])
    rows = list(recorded.result_rows("r", "reward"))
    scored = [
        ScoreRow(r.task, "", 0, "reward", r.score, r.missing, r.outcome == "worst")
        for r in rows
        if r.outcome != "skipped"
    ]
    whole = {metric.name: metric for metric in measure([REWARD, PASS], scored, len(scored))}

    (only,) = recorded.slices("all").slices

    for mine, theirs in ((only.reward, whole["reward"]), (only.pass_rate, whole["pass_rate"])):
        assert mine is not None
        assert (mine.value, mine.low, mine.high, mine.n_scored) == (
            theirs.value,
            theirs.low,
            theirs.high,
            theirs.n_scored,
        )


def test_trials_of_one_task_are_one_cluster_of_a_slice() -> None:
    rewards = [0.1, 0.2, 0.7, 0.9]
    alone = Recorded([(str(n), reward, {"x": "y"}) for n, reward in enumerate(rewards)])
    together = Recorded([(str(n // 2), reward, {"x": "y"}) for n, reward in enumerate(rewards)])

    assert alone.slices("x").slices[0].reward.method == "hall"
    assert together.slices("x").slices[0].reward.method == "clustered"


def test_many_values_are_cut_to_a_hundred() -> None:
    found = Recorded([(str(n), 1.0, {"id": str(n)}) for n in range(110)]).slices("id")

    assert (len(found.slices), found.more) == (100, 10)


def test_a_label_that_no_sample_has_is_unknown() -> None:
    with pytest.raises(UnknownName, match="no sample of run r has a label 'colour'; there are: level"):
        Recorded(LEVELS).slices("colour")


def test_a_run_without_a_primary_metric_cannot_be_taken_apart() -> None:
    bare = Recorded(LEVELS, metrics=(msgspec.structs.replace(REWARD, primary=False),))

    with pytest.raises(UnknownName, match="declares no primary metric"):
        bare.slices("level")


def test_slices_add_up_to_the_run() -> None:
    whole, parts = Recorded(LEVELS).results().counts, Recorded(LEVELS).slices("level").slices

    totals = [
        sum(values) for values in itertools.zip_longest(*((one.samples, one.failed, one.skipped) for one in parts))
    ]
    assert totals == [whole.done, whole.failed, whole.skipped]


def test_what_a_grader_left_out_is_no_pair_and_not_missing() -> None:
    tasks = Tasks()
    rows = [ScoreRow("a", "", 0, "reward", 1.0, None, False)]
    rows += [
        ScoreRow(task, "", 0, "reward", None, cause, False) for task, cause in (("b", "skipped"), ("c", "unverified"))
    ]

    found = read_sample(rows, REWARD, tasks)

    assert (found.scored, found.missing, found.mean(0)) == (1, 1, 1.0)


def test_tasks_that_ask_the_same_are_no_independent_tasks_of_pass_at_k() -> None:
    apart, again = Trials(), Trials()
    for number in range(30):
        value = float(number % 2)
        apart.add(apart.place(str(number)), value)
        # The first of each item has no cluster; the item is called like it.
        again.add(again.place(str(number), "" if number < 10 else str(number % 10)), value)
    one, other = (passes(trials, 0.5)[0].at for trials in (apart, again))
    assert (one.value, other.value) == (0.5, 0.5)
    assert None not in (one.low, one.high, other.low, other.high)
    assert other.high - other.low > 1.5 * (one.high - one.low)  # type: ignore[operator]


def test_failures_below_0_make_no_pass_rate_below_0() -> None:
    reward = Metric("reward", "reward", "mean", primary=True, low=-1.0, high=1.0)
    sample = trials(("a", 1.0), ("b", Cause.AGENT_ERROR), ("c", Cause.AGENT_ERROR), metrics=(reward,))
    seen = sample.result_rows("r", "reward")
    rows = [ScoreRow(row.task, "", 0, "reward", row.score, None, row.score is None) for row in seen]
    shown = measure([reward], rows, 3)

    found = results(sample.run, sample, shown).pass_rate

    assert shown[0].value == pytest.approx(-1 / 3)
    assert found is not None
    assert found.value == pytest.approx(1 / 3)
    assert (found.aggregation, found.n_worst) == ("pass_rate", 2)
