"""Conditions of gates: read, and judged over comparisons."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import ScoreRow
from mesocosm.core.run import BenchmarkRef, Counts, Run, RunSpec, RunStatus
from mesocosm.core.score import Metric
from mesocosm.engine.comparison import compare
from mesocosm.engine.gate import Verdict, judge, read_condition
from mesocosm.engine.metrics import measure

ACCURACY = Metric("accuracy", "correct", "mean", low=0.0, high=1.0, primary=True)
LATENCY = Metric("latency", "correct", "mean", higher_is_better=False, primary=True)


class Shelf:
    """Runs with one score for each task; None is missing."""

    def __init__(self, *runs: Sequence[float | None], metric: Metric = ACCURACY, failed: int = 0) -> None:
        self.rows: dict[str, list[ScoreRow]] = {}
        self.runs: dict[str, Run] = {}
        for number, values in enumerate(runs):
            name = f"run-{number}"
            rows = [
                ScoreRow(f"t{task}", "", 0, "correct", value, None if value is not None else "model_timeout", False)
                for task, value in enumerate(values)
            ]
            self.rows[name] = rows
            self.runs[name] = Run(
                id=name,
                signature=name,
                benchmark="words",
                benchmark_title="Words",
                benchmark_version="1",
                benchmark_digest="d",
                kind="environment",
                model=f"ollama/{number}",
                agent="loop",
                spec=RunSpec(BenchmarkRef("environment", "words"), ModelSettings(f"ollama/{number}")),
                status=RunStatus.FINISHED,
                counts=Counts(planned=len(rows), completed=len(rows) - failed, failed=failed),
                info={"metrics": msgspec.to_builtins((metric,))},
                metrics=measure((metric,), rows, len(rows)),
            )

    def get_run(self, run_id: str) -> Run:
        if run_id not in self.runs:
            raise UnknownName(run_id)
        return self.runs[run_id]

    def score_rows(self, run_id: str) -> Iterator[ScoreRow]:
        return iter(self.rows[run_id])

    def judged(self, condition: str) -> tuple[Verdict, ...]:
        return judge(compare(self, list(self.runs)), [read_condition(condition)])

    def broken(self, condition: str) -> list[bool]:
        return [bool(verdict.broken) for verdict in self.judged(condition)]


GOOD: Sequence[float | None] = [1.0] * 30
BAD: Sequence[float | None] = [0.0] * 15 + [1.0] * 15


def test_a_fall_that_chance_hardly_explains_is_a_regression() -> None:
    assert Shelf(GOOD, BAD).broken("regression p<0.05") == [True]


def test_a_gain_is_no_regression() -> None:
    assert Shelf(BAD, GOOD).broken("regression p<0.05") == [False]


def test_a_fall_that_may_be_chance_is_no_regression() -> None:
    slightly = [0.0, *GOOD[1:]]
    shelf = Shelf(GOOD, slightly)
    assert shelf.broken("regression p<0.05") == [False]
    assert shelf.broken("regression") == [False]
    assert shelf.broken("regression>0.02") == [True]


def test_where_less_is_better_a_rise_is_the_regression() -> None:
    assert Shelf(BAD, GOOD, metric=LATENCY).broken("regression p<0.05") == [True]
    assert Shelf(GOOD, BAD, metric=LATENCY).broken("regression p<0.05") == [False]


def test_missing_values_are_looked_at_in_every_run() -> None:
    holes = [None, *GOOD[1:]]
    assert Shelf(GOOD, holes).broken("missing>2%") == [False, True]
    assert Shelf(GOOD, holes).broken("missing>0.04") == [False, False]


def test_a_run_without_any_score_opens_no_gate() -> None:
    shelf = Shelf(GOOD, [None] * 30)
    for condition in ("regression p<0.05", "regression>0.5", "score<0.1"):
        assert shelf.broken(condition) == [True], condition


def test_scores_of_later_runs_have_a_bound() -> None:
    assert Shelf(GOOD, BAD, GOOD).broken("score<0.8") == [True, False]


def test_failed_episodes_are_counted() -> None:
    assert Shelf(GOOD, GOOD, failed=2).broken("failed>1") == [True, True]


def test_a_verdict_says_what_was_found() -> None:
    (verdict,) = Shelf(GOOD, BAD).judged("regression p<0.05")
    assert verdict.subject == "ollama/1 against ollama/0"
    assert verdict.broken.startswith("accuracy -0.5000 [")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "regression p",
        "regression p>0.05",
        "missing",
        "missing p<0.05",
        "score<",
        "score<nan",
        "speed>3",
        "score<1e999",
    ],
)
def test_a_condition_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"regression p<0\.05|no number"):
        read_condition(text)


def test_spaces_and_percents_are_read() -> None:
    read: Any = read_condition(" missing  >= 2.5 % ")
    assert (read.kind, read.sign, read.number) == ("missing", ">=", 0.025)
