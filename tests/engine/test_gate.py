"""Conditions of gates: read, and answered with pass, fail, or cannot tell."""

import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import ResultRow, ScoreRow
from mesocosm.core.run import BenchmarkRef, Counts, Run, RunSpec, RunStatus
from mesocosm.core.score import Metric
from mesocosm.core.usage import Usage
from mesocosm.engine.comparison.gate import (
    ConditionAnswer,
    GateVerdict,
    exit_code,
    judge,
    judge_comparison,
    read_condition,
)
from mesocosm.engine.comparison.runs import RunComparison, compare
from mesocosm.engine.metrics import measure
from mesocosm.stats import mcnemar, mean_interval

ACCURACY = Metric("accuracy", "correct", "mean", low=0.0, high=1.0, primary=True)
ERRORS = Metric("errors", "correct", "mean", low=0.0, high=1.0, higher_is_better=False, primary=True)
REWARD = Metric("reward", "correct", "mean", primary=True)

Values = Sequence[float | None]

GOOD: Values = [1.0] * 30
BAD: Values = [0.0] * 15 + [1.0] * 15
UNCHANGED = (GOOD, GOOD)


@dataclass
class Shelf:
    """Runs with one score for each task; None is missing."""

    rows: dict[str, list[ScoreRow]] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    durations: float | None = 1.0
    labels: dict[str, str] = field(default_factory=dict)

    def add(
        self,
        values: Values,
        *,
        metric: Metric = ACCURACY,
        first: int = 0,
        planned: int | None = None,
        trials: int = 1,
        **given: Any,
    ) -> Run:
        """Put a run there whose tasks are numbered from `first`, with so many values for each."""
        name = f"run-{len(self.runs)}"
        rows = [
            ScoreRow(
                f"t{first + place // trials}",
                "",
                place % trials,
                "correct",
                value,
                None if value is not None else "model_timeout",
                False,
            )
            for place, value in enumerate(values)
        ]
        planned = len(rows) if planned is None else planned
        fields: dict[str, Any] = {
            "id": name,
            "signature": name,
            "benchmark": "words",
            "benchmark_title": "Words",
            "benchmark_version": "1",
            "benchmark_digest": "d",
            "kind": "environment",
            "model": f"ollama/{len(self.runs)}",
            "agent": "loop",
            "spec": RunSpec(BenchmarkRef("environment", "words"), ModelSettings("ollama/m")),
            "status": RunStatus.FINISHED,
            "counts": Counts(planned=planned, completed=len(rows)),
            "info": {"metrics": msgspec.to_builtins((metric,))},
            "metrics": measure((metric,), rows, planned),
        }
        self.rows[name] = rows
        self.runs[name] = Run(**(fields | given))
        return self.runs[name]

    def get_run(self, run_id: str) -> Run:
        if run_id not in self.runs:
            raise UnknownName(run_id)
        return self.runs[run_id]

    def score_rows(self, run_id: str, name: str = "") -> Iterator[ScoreRow]:
        return iter(self.rows[run_id])

    def result_rows(self, run_id: str, primary: str) -> Iterator[ResultRow]:
        for row in self.rows[run_id]:
            labels = json.dumps({"difficulty": self.labels[row.task]}) if row.task in self.labels else None
            became = "scored" if row.value is not None else "missing"
            yield ResultRow(row.task, "", row.value, became, None, row.missing, self.durations, labels)

    def judged(self, *conditions: str) -> tuple[GateVerdict, ...]:
        return judge_comparison(compared(self, list(self.runs)), [read_condition(text) for text in conditions], self)

    def answers(self, *conditions: str) -> list[str]:
        return [str(verdict.answer) for verdict in self.judged(*conditions)]

    def alone(self, run: Run, condition: str) -> GateVerdict:
        (verdict,) = judge([read_condition(condition)], [run], self)
        return verdict


def compared(shelf: Shelf, run_ids: Sequence[str]) -> RunComparison:
    return compare(shelf.get_run, shelf.score_rows, run_ids)


def shelf(*runs: Values, metric: Metric = ACCURACY, **given: Any) -> Shelf:
    made = Shelf()
    for values in runs:
        made.add(values, metric=metric, **given)
    return made


def one(values: Values, condition: str, **given: Any) -> GateVerdict:
    made = Shelf()
    return made.alone(made.add(values, **given), condition)


# Regressions


def test_a_fall_that_chance_hardly_explains_is_a_regression() -> None:
    made = shelf(GOOD, BAD)
    assert made.answers("regression p<0.05", "regression", "regression>0.02") == ["fail"] * 3


def test_a_gain_is_no_regression() -> None:
    assert shelf(BAD, GOOD).answers("regression p<0.05", "regression", "regression>0.02") == ["pass"] * 3


def test_a_fall_that_may_be_chance_passes_and_says_what_would_have_shown() -> None:
    made = shelf(GOOD, [0.0, *GOOD[1:]])
    assert made.answers("regression p<0.05", "regression", "regression>0.02") == ["pass", "pass", "fail"]
    assert "would have been detected (80 % power)" in made.judged("regression p<0.05")[0].found


def test_where_less_is_better_a_rise_is_the_regression() -> None:
    assert shelf(BAD, GOOD, metric=ERRORS).answers("regression p<0.05") == ["fail"]
    assert shelf(GOOD, BAD, metric=ERRORS).answers("regression p<0.05") == ["pass"]


def test_a_program_with_one_score_cannot_tell_by_chance_and_fails_by_difference() -> None:
    made = shelf([0.95], [0.05])
    by_chance, by_difference, margin = made.judged("regression p<0.05", "regression>0.02", "worse-by<0.02")
    assert (by_chance.answer, by_difference.answer, margin.answer) == ("undecided", "fail", "undecided")
    assert "at least 6 are needed" in by_chance.found


def test_five_tasks_from_one_to_zero_cannot_tell_and_six_can() -> None:
    (five,) = shelf([1.0] * 5, [0.0] * 5).judged("regression p<0.05")
    assert five.answer == "undecided"
    assert five.found.endswith("at least 6 are needed")
    assert shelf([1.0] * 6, [0.0] * 6).answers("regression p<0.05") == ["fail"]


def test_five_tasks_that_are_all_equal_cannot_tell_either() -> None:
    assert shelf([1.0] * 5, [1.0] * 5).answers("regression p<0.05", "worse-by<0.5") == ["undecided", "undecided"]


def test_a_fall_that_the_interval_shows_and_the_test_does_not_cannot_tell() -> None:
    (found,) = shelf([1.0] * 20, [0.0] * 4 + [1.0] * 16).judged("regression p<0.05")
    assert found.answer == "undecided"
    assert "tasks are needed" in found.found


def test_two_benchmarks_have_nothing_to_judge() -> None:
    made = shelf(GOOD)
    made.add(GOOD, benchmark="numbers")
    verdicts = made.judged("regression p<0.05")
    assert {verdict.answer for verdict in verdicts} == {ConditionAnswer.ERROR}
    assert exit_code(verdicts, allow_undecided=True) == 1
    assert exit_code(made.judged("score<0.5")) == 1


def test_runs_without_a_task_in_common_have_nothing_to_judge() -> None:
    made = shelf(GOOD)
    made.add(GOOD, first=1_000)
    (verdict,) = made.judged("regression>0.5")
    assert (verdict.answer, verdict.found) == (ConditionAnswer.ERROR, "they share no scored task")


def test_other_content_without_a_task_in_common_is_never_compared() -> None:
    made = shelf(GOOD)
    made.add(BAD, first=1_000, benchmark_digest="other rows under the same name")
    found = compared(made, list(made.runs))
    assert found.groups[0].pairs == ()
    assert "they share no task, and the content of the benchmark was another" in found.groups[0].note
    assert exit_code(made.judged("regression"), allow_undecided=True) == 1


def test_a_baseline_of_five_tasks_against_120_cannot_tell() -> None:
    made = shelf([1.0] * 5, [1.0] * 120)
    for verdict in made.judged("regression p<0.05", "regression>0.5", "worse-by<0.9"):
        assert verdict.answer == "undecided"
        assert "they share 5 of 120 tasks" in verdict.found
    assert shelf([1.0] * 120, [1.0] * 5).answers("regression>0.5") == ["undecided"]


@pytest.mark.parametrize("status", sorted(set(RunStatus) - {RunStatus.FINISHED}))
@pytest.mark.parametrize("place", [0, 1])
def test_a_run_that_is_not_whole_cannot_tell_on_either_side(status: RunStatus, place: int) -> None:
    made = Shelf()
    for number in range(2):
        made.add(GOOD, status=status if number == place else RunStatus.FINISHED)
    answers = made.answers("regression p<0.05", "regression>0.5", "worse-by<0.9")
    assert answers == ["undecided"] * 3


def test_a_run_that_an_older_version_called_finished_cannot_tell_where_too_much_is_missing() -> None:
    values = [*([1.0] * 97), *([None] * 23)]
    verdict = one(values, "score<0.8")
    assert verdict.answer == "undecided"
    assert "23 missing: 23 model_timeout" in verdict.found
    assert "it is partial" in verdict.found
    assert shelf(values, values).answers("regression>0.5") == ["undecided"]


def test_a_run_without_any_score_opens_no_gate() -> None:
    made = shelf(GOOD, [None] * 30)
    for condition in ("regression p<0.05", "regression>0.5", "worse-by<0.5", "score<0.1"):
        assert exit_code(made.judged(condition), allow_undecided=True) == 1, condition


def test_p_values_are_corrected_over_all_benchmarks_of_a_gate() -> None:
    """Eight flips one way among 30 tasks give p = 0.0052: shown alone, not among ten."""
    alone, among = Shelf(), Shelf()
    worse = [0.0] * 8 + [1.0] * 22
    for number in range(10):
        among.add(GOOD, benchmark=f"b{number}")
        among.add(worse if not number else GOOD, benchmark=f"b{number}")
    alone.add(GOOD)
    alone.add(worse)
    (found,) = alone.judged("regression p<0.05")
    assert found.answer == "fail"
    assert "p = 0.00522" in found.found
    first, *others = among.judged("regression p<0.05")
    assert "p = 0.0522" in first.found
    assert first.answer == "undecided"
    assert {verdict.answer for verdict in others} == {ConditionAnswer.PASS}


def test_among_many_comparisons_it_takes_more_tasks() -> None:
    made = Shelf()
    for number in range(10):
        made.add([1.0] * 8, benchmark=f"b{number}")
        made.add([0.0] * 8, benchmark=f"b{number}")
    found = made.judged("regression p<0.05")[0]
    assert (found.answer, found.found.endswith("among 10 comparisons; at least 9 are needed")) == (
        "undecided",
        True,
    )


# Non-inferiority


def test_worse_by_passes_only_where_the_interval_excludes_the_margin() -> None:
    same = [1.0, 0.0] * 500
    assert shelf(same, same).answers("worse-by<0.02") == ["pass"]
    (few,) = shelf(*UNCHANGED).judged("worse-by<0.02")
    assert few.answer == "undecided"
    assert "tasks are needed" in few.found


def test_worse_by_fails_where_the_loss_is_shown_to_be_above_the_margin() -> None:
    made = shelf([1.0] * 100, [0.0] * 50 + [1.0] * 50)
    assert made.answers("worse-by<0.1", "worse-by<0.5", "worse-by<0.7") == ["fail", "undecided", "pass"]


def test_worse_by_follows_the_direction_of_the_metric() -> None:
    made = shelf([0.0] * 100, [1.0] * 50 + [0.0] * 50, metric=ERRORS)
    assert made.answers("worse-by<0.1", "worse-by<0.7") == ["fail", "pass"]


def test_graded_scores_that_agree_on_few_tasks_exclude_no_loss() -> None:
    """The interval of differences that do not vary has no width, which says nothing of other tasks."""
    few, many = [0.5] * 10, [0.5] * 1_000
    assert shelf(few, few).answers("worse-by<0.02") == ["undecided"]
    assert shelf(many, many).answers("worse-by<0.02") == ["pass"]


def test_margins_are_judged_by_intervals_that_hold_for_all_benchmarks() -> None:
    alone, among = Shelf(), Shelf()
    b = [0.0] * 4 + [1.0] * 96
    alone.add([1.0] * 100)
    alone.add(b)
    for number in range(10):
        among.add([1.0] * 100, benchmark=f"b{number}")
        among.add(b, benchmark=f"b{number}")
    assert alone.answers("worse-by<0.1") == ["pass"]
    assert set(among.answers("worse-by<0.1")) == {"undecided"}


def test_p_values_of_graded_scores_are_those_of_scipy() -> None:
    import scipy.stats

    chance = random.Random(3)
    a = [chance.random() for _ in range(12)]
    b = [value - 0.1 * chance.random() for value in a]
    contrast = compared(shelf(a, b, metric=REWARD), ["run-0", "run-1"]).groups[0].pairs[0].contrast
    differences = [y - x for x, y in zip(a, b, strict=True)]
    assert contrast.delta == mean_interval(differences, symmetric=True)
    permuted = scipy.stats.permutation_test(
        (differences,), lambda x: sum(x) / len(x), permutation_type="samples", n_resamples=math.inf
    )
    assert contrast.found.p_value == pytest.approx(permuted.pvalue)


def test_p_values_of_passes_are_those_of_mcnemar() -> None:
    a = [1.0] * 20 + [0.0] * 10
    b = [0.0] * 9 + [1.0] * 11 + [1.0] * 2 + [0.0] * 8
    pair = compared(shelf(a, b), ["run-0", "run-1"]).groups[0].pairs[0]
    assert pair.contrast.found == mcnemar(2, 9, 30)


# One run


def test_missing_values_are_looked_at_in_every_run() -> None:
    made = shelf(GOOD, [None, *GOOD[1:]])
    assert made.answers("missing>2%") == ["pass", "fail"]
    assert made.answers("missing>0.04") == ["pass", "pass"]


def test_what_is_missing_is_decided_in_a_run_that_was_stopped() -> None:
    stopped = {"planned": 60, "status": RunStatus.STOPPED}
    assert one(GOOD, "missing>2%", **stopped).answer == "fail"
    assert one(GOOD, "missing>60%", **stopped).answer == "pass"
    assert one(GOOD, "score<0.5", **stopped).answer == "undecided"
    assert one(GOOD, "failed>0", **stopped).answer == "undecided"


def test_a_score_has_a_bound() -> None:
    assert one(BAD, "score<0.8").answer == "fail"
    assert one(GOOD, "accuracy<0.8").answer == "pass"
    assert shelf(GOOD, BAD, GOOD).answers("score<0.8") == ["fail", "pass"]


def test_a_score_that_missing_values_could_change_cannot_tell() -> None:
    verdict = one([1.0] * 40 + [0.0] * 9 + [None], "score<0.81")
    assert verdict.answer == "undecided"
    assert "counted as worst it is 0.8000" in verdict.found


@pytest.mark.parametrize("condition", ["worse-by<0.03", "regression>0.01", "regression p<0.5", "regression"])
def test_a_loss_that_missing_values_could_hide_cannot_tell(condition: str) -> None:
    whole: Values = [1.0] * 400
    assert shelf(whole, [*whole[8:], *[None] * 8]).answers(condition) == ["undecided"]
    assert shelf(whole, whole).answers(condition) == ["pass"]


def test_a_baseline_that_lacks_values_may_have_been_better() -> None:
    lacking: Values = [*[0.0] * 390, *[None] * 8, 1.0, 1.0]
    found = shelf(lacking, [0.0] * 398 + [1.0] * 2).judged("regression>0.01")[0]
    assert found.answer == "undecided"
    assert "with missing values counted against it -0.0200" in found.found


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, None])] * 2), min_size=2, max_size=12), st.randoms())
@settings(max_examples=60)
def test_no_values_in_place_of_the_missing_ones_are_worse_than_the_pessimistic_reading(
    both: list[tuple[float | None, float | None]], chance: random.Random
) -> None:
    both = [(1.0, 1.0), *(pair for pair in both if pair != (None, None))]
    a, b = zip(*both, strict=True)
    pair = compared(shelf(a, b), ["run-0", "run-1"]).groups[0].pairs[0]
    filled = [[chance.choice([0.0, 1.0]) if value is None else value for value in run] for run in (a, b)]
    delta = sum(filled[1]) - sum(filled[0])
    worst = pair.pessimistic or pair.contrast
    assert worst.delta.value * len(both) <= delta + 1e-9
    assert worst.n_a == len(both)


def test_a_metric_that_is_not_there_cannot_be_decided() -> None:
    verdict = one(GOOD, "speed>3")
    assert (verdict.answer, verdict.found) == (ConditionAnswer.UNDECIDED, "it has no metric 'speed'; it has accuracy")
    assert exit_code([verdict], allow_undecided=True) == 3


def test_a_bound_outside_of_the_scale_is_an_error() -> None:
    assert one(GOOD, "score>2").answer == "error"
    assert one(GOOD, "score<0").answer == "error"
    assert shelf(GOOD, BAD).answers("regression>1", "worse-by<1") == ["error", "error"]


def test_failed_episodes_are_counted() -> None:
    assert one(GOOD, "failed>1", counts=Counts(planned=30, completed=28, failed=2)).answer == "fail"
    assert one(GOOD, "failed>2", counts=Counts(planned=30, completed=28, failed=2)).answer == "pass"


def test_what_a_run_used_has_bounds() -> None:
    used = {"usage": Usage(900, 100, cost_usd=3.0, calls=60)}
    assert one(GOOD, "cost>2.5", **used).answer == "fail"
    assert one(GOOD, "cost.mean>0.2", **used).answer == "pass"
    assert one(GOOD, "tokens>1000", **used).answer == "pass"
    assert one(GOOD, "calls.mean>1.5", **used).answer == "fail"
    assert one(GOOD, "tokens>100").answer == "error"
    assert one(GOOD, "cost>1", usage=Usage(1, 1, cost_usd=None, calls=1)).answer == "undecided"
    assert one(GOOD, "cost>9", **used, status=RunStatus.STOPPED).answer == "undecided"
    assert one(GOOD, "cost>1", **used, status=RunStatus.STOPPED).answer == "fail"


def test_the_time_of_episodes_has_bounds() -> None:
    assert one(GOOD, "latency>0.5").answer == "fail"
    assert one(GOOD, "latency.p95>1.5").answer == "pass"
    made = Shelf(durations=None)
    assert made.alone(made.add(GOOD), "latency.p95>1.5").answer == "error"


def test_a_slice_has_bounds_of_its_own() -> None:
    made = Shelf(labels={f"t{place}": "hard" if place < 15 else "easy" for place in range(30)})
    run = made.add(BAD)
    assert made.alone(run, "score[difficulty=hard]<0.6").answer == "fail"
    assert made.alone(run, "score[difficulty=easy]<0.6").answer == "pass"
    assert made.alone(run, "missing[difficulty=easy]>2%").answer == "pass"
    assert made.alone(run, "score[difficulty=odd]<0.6").answer == "error"
    assert made.alone(run, "score[colour=red]<0.6").answer == "error"


def test_pass_at_k_has_bounds() -> None:
    made = Shelf()
    run = made.add([1.0, 0.0, 0.0] * 10, trials=3)
    assert made.alone(run, "pass@3<0.5").answer == "pass"
    assert made.alone(run, "pass^3<0.5").answer == "fail"
    assert made.alone(run, "pass@4<0.5").answer == "error"


# Words


@pytest.mark.parametrize(
    "text",
    ["", "regression p", "regression p>0.05", "missing", "missing p<0.05", "score<", "score<nan", "score<1e999"],
)
def test_a_condition_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"regression p<0\.05|no finite number"):
        read_condition(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("missing>2", "did you mean 'missing>2%'"),
        ("missing>1", "can never hold"),
        ("missing>200%", "cannot exceed 100 %"),
        ("regression p<5", "did you mean 'regression p<5%'"),
        ("pass@3<50", "did you mean 'pass@3<50%'"),
        ("failed>2%", "'missing>2%' for a share"),
        ("failed>0.02", "write a whole number, or 'missing>2%'"),
        ("failed<0", "can never hold"),
        ("regression p<0", "can never hold"),
        ("cost>2%", "cost is not a share"),
        ("worse-by>0.02", "write 'worse-by<0.02'"),
        ("regression<0.02", "'regression>0.02' for a loss above that"),
        ("regression[difficulty=hard]>0.1", "applies to whole runs"),
    ],
)
def test_a_number_that_cannot_be_meant_is_refused_with_what_may_be(text: str, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_condition(text)
    assert told in str(refused.value)


def test_spaces_and_percents_are_read() -> None:
    read = read_condition(" missing  >= 2.5 % ")
    assert (read.kind, read.sign, read.number) == ("missing", ">=", 0.025)
    read = read_condition("score[difficulty = very hard]<60%")
    assert (read.kind, read.label, read.value, read.number) == ("score", "difficulty", "very hard", 0.6)


def test_a_verdict_says_what_was_found() -> None:
    (verdict,) = shelf(GOOD, BAD).judged("regression p<0.05")
    assert verdict.subject == "ollama/1 against ollama/0"
    assert verdict.found.startswith("accuracy -0.5000 [")


# Whatever the runs are

_VALUES = st.lists(st.sampled_from([0.0, 0.3, 1.0, None]), max_size=12)
_CONDITIONS = (
    "regression p<0.05",
    "regression",
    "regression>0.02",
    "worse-by<0.02",
    "missing>2%",
    "failed>0",
    "score<0.5",
    "accuracy>0.5",
    "nothing<1",
    "score[difficulty=hard]<0.5",
    "pass@2<0.5",
    "cost>5",
    "latency.p95>10",
)


@settings(max_examples=300, deadline=None)
@given(
    runs=st.lists(st.tuples(_VALUES, st.sampled_from(RunStatus), st.sampled_from("ab")), min_size=2, max_size=4),
    conditions=st.lists(st.sampled_from(_CONDITIONS), min_size=1, max_size=3, unique=True),
    whole=st.booleans(),
)
def test_no_gate_opens_without_a_condition_that_passed(
    runs: list[tuple[Values, RunStatus, str]], conditions: list[str], whole: bool
) -> None:
    made = Shelf(labels={"t0": "hard"})
    for values, status, benchmark in runs:
        made.add(values, status=RunStatus.FINISHED if whole else status, benchmark=benchmark)
    verdicts = made.judged(*conditions)
    code = exit_code(verdicts)
    of = {text: {verdict.answer for verdict in verdicts if verdict.condition == text} for text in conditions}
    assert (code == 0) == all(answers == {ConditionAnswer.PASS} for answers in of.values())
    assert all(verdict.found for verdict in verdicts)
    if any(ConditionAnswer.ERROR in answers for answers in of.values()):
        assert exit_code(verdicts, allow_undecided=True) == 1


def test_an_environment_with_other_rules_is_no_baseline() -> None:
    others = shelf(BAD, benchmark_digest="old")
    others.add(GOOD, benchmark_digest="new")
    verdicts = others.judged("regression", "worse-by<0.5")
    assert [verdict.answer for verdict in verdicts] == ["undecided"] * 2
    assert "different rules" in verdicts[0].found


def test_another_choice_of_rows_under_the_same_grader_can_be_compared() -> None:
    info = {"metrics": msgspec.to_builtins((ACCURACY,)), "inputs": {"dataset": "d", "grader": "exact"}}
    found = shelf(GOOD, info=info, benchmark_digest="all")
    found.add(GOOD[:20], info={**info, "inputs": {**info["inputs"], "rows": "20"}}, benchmark_digest="some")
    assert found.answers("regression") == ["pass"]


def test_programs_that_never_asked_the_model_cannot_tell_of_it() -> None:
    info = {"metrics": msgspec.to_builtins((ACCURACY,)), "judged": True}
    assert one(GOOD, "score<0.5", info=info).answer == "undecided"
    assert one(GOOD, "score<0.5", info=info, usage=Usage(5, 5, calls=30)).answer == "pass"


def test_runs_of_one_name_are_told_apart() -> None:
    alike = shelf(GOOD, GOOD, GOOD, model="openai/m")
    subjects = [verdict.subject for verdict in alike.judged("regression p<0.05")]
    assert subjects == ["openai/m against the baseline", "openai/m against the baseline (2)"]


def test_a_baseline_that_was_rescored_by_other_rules_cannot_tell() -> None:
    rescored = shelf(GOOD, provenance={"rescored_with": "other rules", "graded_with": "other rules"})
    rescored.add(GOOD)
    assert rescored.answers("regression") == ["undecided"]


def test_a_baseline_that_was_read_by_another_threshold_and_back_is_one() -> None:
    read = shelf(GOOD, provenance={"rescored_with": "its metrics", "graded_with": "d"})
    read.add(GOOD)
    assert read.answers("regression") == ["pass"]


@pytest.mark.parametrize("doubt", [{"rescoring": True, "graded_with": "d"}, {"unverified": True}, {"doubt": "why"}])
@pytest.mark.parametrize("condition", ["score<0.5", "missing>2%", "missing[difficulty=hard]>2%", "failed>0"])
def test_no_condition_passes_on_a_run_that_is_in_doubt(condition: str, doubt: dict[str, Any]) -> None:
    shown = Shelf(labels={f"t{number}": "hard" for number in range(len(GOOD))})
    verdict = shown.alone(shown.add(GOOD, provenance=doubt), condition)
    assert (verdict.answer, verdict.found.endswith(f", but {shown.runs['run-0'].doubt}")) == ("undecided", True)


def test_runs_that_declare_the_metric_differently_cannot_tell() -> None:
    declared = shelf(GOOD, metric=REWARD)
    declared.add(GOOD, metric=msgspec.structs.replace(REWARD, low=-1.0))
    assert declared.answers("regression") == ["undecided"]
