"""Leaderboards."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import ScoreRow
from mesocosm.core.run import BenchmarkRef, Counts, Run, RunSpec, RunStatus
from mesocosm.core.score import Metric
from mesocosm.engine.comparison.leaderboard import Duels, RankedRun, best, leaderboard, reference
from mesocosm.engine.comparison.runs import compare_runs
from mesocosm.engine.metrics import measure

SOLVED = Metric("solved", "solved", "pass_rate", threshold=0.5, primary=True)
POINTS = Metric("points", "points", "mean", primary=True)


class Board:
    """Runs with the scores of their tasks, from which their metrics are measured."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.scores: dict[str, list[ScoreRow]] = {}
        self.read: list[str] = []

    def add(
        self,
        model: str,
        values: Sequence[float | None],
        *,
        metric: Metric = SOLVED,
        created_at: float = 0.0,
        status: RunStatus = RunStatus.FINISHED,
    ) -> None:
        rows = [
            ScoreRow(f"task {i}", "", 0, metric.score, value, "grader_error" if value is None else None, worst=False)
            for i, value in enumerate(values)
        ]
        run = Run(
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
            status=status,
            metrics=tuple(measure([metric], rows, len(values))),
            info={"metrics": msgspec.to_builtins([metric])},
            created_at=created_at,
        )
        self.runs.append(run)
        self.scores[run.id] = rows

    def rows(self, run_id: str, _: str) -> Iterator[ScoreRow]:
        self.read.append(run_id)
        yield from self.scores[run_id]

    def standings(self, **given: Any) -> tuple[RankedRun, ...]:
        return leaderboard(self.runs, self.rows, **given)

    def places(self, **given: Any) -> list[tuple[str, int | None, int | None]]:
        return [(standing.run.model, standing.rank, standing.rank_last) for standing in self.standings(**given)]


@pytest.fixture
def board() -> Board:
    return Board()


def passes(count: int, n: int, *, first: int = 0) -> list[float]:
    return [float(first <= i < first + count) for i in range(n)]


def test_two_runs_share_a_place_unless_their_comparison_names_a_winner(board: Board) -> None:
    board.add("x/a", passes(6, 6))
    board.add("x/b", passes(3, 6))
    assert board.places() == [("x/a", 1, 2), ("x/b", 1, 2)]
    ((pair,),) = (group.pairs for group in compare_runs(board.rows, board.runs).groups)
    assert pair.winner == "tie"


@pytest.mark.parametrize("n", [5, 6, 10, 40])
@pytest.mark.parametrize("metric", [SOLVED, POINTS], ids=["rate", "mean"])
@pytest.mark.parametrize("lower", [0, 1, 3, 6, 9])
def test_places_agree_with_the_comparison_of_the_same_two_runs(
    board: Board, n: int, metric: Metric, lower: int
) -> None:
    high = [0.9 - 0.01 * i if metric is POINTS else 1.0 for i in range(n)]
    board.add("x/a", high, metric=metric)
    board.add("x/b", [value - 0.6 if i < lower else value for i, value in enumerate(high)], metric=metric)
    ((pair,),) = (group.pairs for group in compare_runs(board.rows, board.runs).groups)
    expected = {"tie": [(1, 2), (1, 2)], "a": [(1, 1), (2, 2)], "b": [(2, 2), (1, 1)]}[pair.winner]
    found = {model: (rank, last) for model, rank, last in board.places()}
    assert [found["x/a"], found["x/b"]] == expected


def test_clear_differences_make_places_of_their_own(board: Board) -> None:
    for model, count in (("x/c", 10), ("x/a", 90), ("x/b", 50)):
        board.add(model, passes(count, 100))
    assert board.places() == [("x/a", 1, 1), ("x/b", 2, 2), ("x/c", 3, 3)]


def test_the_lowest_value_is_first_where_lower_is_better(board: Board) -> None:
    moves = Metric("moves", "moves", "mean", primary=True, higher_is_better=False)
    board.add("x/slow", [9.0 + i % 3 for i in range(20)], metric=moves)
    board.add("x/fast", [2.0 + i % 4 for i in range(20)], metric=moves)
    assert board.places() == [("x/fast", 1, 1), ("x/slow", 2, 2)]


def test_floor_and_ceiling_are_shown_by_value_without_a_place(board: Board) -> None:
    for model, count in (("builtin/random", 5), ("x/weak", 1), ("x/good", 30), ("builtin/oracle", 40)):
        board.add(model, passes(count, 40))
    assert board.places() == [
        ("builtin/oracle", None, None),
        ("x/good", 1, 1),
        ("builtin/random", None, None),
        ("x/weak", 2, 2),
    ]
    assert [standing.reference for standing in board.standings()] == ["ceiling", "", "floor", ""]


def test_of_equal_values_the_newer_run_is_named_first(board: Board) -> None:
    for model, created_at in (("x/old", 1.0), ("x/new", 2.0), ("x/older", 0.0)):
        board.add(model, passes(5, 10), created_at=created_at)
    assert board.places() == [("x/new", 1, 3), ("x/old", 1, 3), ("x/older", 1, 3)]


def test_a_run_of_a_handful_of_tasks_beats_nobody(board: Board) -> None:
    board.add("x/lucky", passes(3, 3))
    board.add("x/a", passes(80, 100))
    board.add("x/b", passes(20, 100, first=80))
    assert board.places() == [("x/lucky", 1, 3), ("x/a", 1, 2), ("x/b", 2, 3)]


@pytest.mark.parametrize("status", [RunStatus.FINISHED, RunStatus.PARTIAL])
def test_a_run_that_lacks_more_than_the_board_allows_takes_no_place_whatever_its_own_limit_was(
    board: Board, status: RunStatus
) -> None:
    board.add("x/whole", passes(95, 100))
    board.add("x/tolerant", [1.0] * 10 + [None] * 90, status=status)
    assert board.places() == [("x/tolerant", None, None), ("x/whole", 1, 1)]


def test_runs_without_a_value_are_left_out(board: Board) -> None:
    board.add("x/none", [None])
    board.add("x/nothing", [1.0])
    board.runs[-1].metrics = ()
    board.add("x/a", [1.0])
    assert board.places() == [("x/a", 1, 1)]
    assert leaderboard([], board.rows) == ()


def test_runs_that_were_measured_by_other_rules_share_places(board: Board) -> None:
    board.add("x/strict", passes(10, 40))
    board.add("x/lenient", [1.0] * 40, metric=msgspec.structs.replace(SOLVED, threshold=-1.0))
    assert board.places() == [("x/lenient", 1, 2), ("x/strict", 1, 2)]


def test_what_was_compared_is_not_read_again(board: Board) -> None:
    duels = Duels()
    board.add("x/a", passes(30, 40))
    board.add("x/b", passes(5, 40))
    first = board.places(duels=duels)
    board.read.clear()
    assert (board.places(duels=duels), board.read) == (first, [])


def test_what_was_compared_is_forgotten_when_it_was_not_asked_for_the_longest() -> None:
    duels = Duels(2)
    duels.keep("a", "b", "a")
    duels.keep("a", "c", "b")
    assert duels.get("b", "a") == "b"
    duels.keep("b", "c", "tie")
    assert [duels.get("a", "b"), duels.get("a", "c"), duels.get("c", "b")] == ["a", None, "tie"]


def test_only_the_built_in_models_are_references() -> None:
    assert (reference("builtin/random"), reference("builtin/oracle")) == ("floor", "ceiling")
    assert (reference("builtin/empty"), reference("ollama/random")) == ("floor", "")


def test_runs_that_were_scored_by_other_rules_share_places_and_nobody_loses_one(board: Board) -> None:
    for model, count in (("generous", 100), ("a", 90), ("b", 10)):
        board.add(model, passes(count, 100))
    board.runs[0].provenance = {"rescored_with": "other rules", "graded_with": "other rules"}
    assert board.places() == [("generous", 1, 3), ("a", 1, 2), ("b", 2, 3)]
    assert [standing.uncompared for standing in board.standings()] == [2, 1, 1]


def test_the_best_of_a_benchmark_was_scored_by_its_own_rules(board: Board) -> None:
    board.add("generous", passes(100, 100))
    board.runs[0].provenance = {"rescored_with": "other rules", "graded_with": "other rules"}
    alone = best(board.runs)
    board.add("a", passes(90, 100))
    found = best(board.runs)
    assert alone is not None
    assert found is not None
    assert (alone.run.model, found.run.model) == ("generous", "a")


@pytest.mark.parametrize("newer", [1, 4])
def test_how_many_runs_are_of_a_version_gives_and_takes_no_places(board: Board, newer: int) -> None:
    board.add("x/old", passes(100, 100))
    board.add("x/older", passes(10, 100))
    for number in range(newer):
        board.add(f"x/new{number}", passes(50, 100))
        board.runs[-1].benchmark_digest = "a comment was added"
    found = {model: (rank, last) for model, rank, last in board.places()}
    assert (found["x/old"], found["x/older"]) == ((1, newer + 1), (2, newer + 2))
    assert found["x/new0"] == (1, newer + 2)


def test_a_run_without_a_place_says_why(board: Board) -> None:
    board.add("x/part", [1.0] * 90 + [None] * 10)
    board.add("x/file", passes(80, 100))
    board.runs[-1].provenance = {"unverified": True}
    board.add("builtin/random", passes(5, 100))
    board.add("x/a", passes(4, 100))
    assert [standing.unranked for standing in board.standings()] == [
        "10 of 100 episodes have no value",
        board.runs[1].doubt,
        "",
        "",
    ]


def test_a_run_that_was_read_by_another_threshold_and_back_keeps_its_place(board: Board) -> None:
    board.add("a", passes(90, 100))
    board.add("b", passes(10, 100))
    board.runs[0].provenance = {"rescored_with": "its metrics", "graded_with": board.runs[0].benchmark_digest}
    assert board.places() == [("a", 1, 1), ("b", 2, 2)]


def test_programs_that_never_asked_their_model_have_no_place(board: Board) -> None:
    board.add("openai/m", passes(100, 100))
    (silent,) = board.runs
    silent.info, silent.counts = {**silent.info, "judged": True}, Counts(100, 100)
    assert board.places() == [("openai/m", None, None)]
