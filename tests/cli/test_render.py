"""How numbers, times and progress read."""

import copy
import io
import sys
import threading
from typing import TYPE_CHECKING, Any

import click
import msgspec
import pytest
from rich.cells import cell_len
from rich.console import Console

from mesocosm.cli import progress as progress_module
from mesocosm.cli.command import CommonOptions
from mesocosm.cli.progress import (
    BarProgress,
    LineProgress,
    SilentProgress,
    bars,
    episode_line,
    fitting_line,
    headline,
    status_line,
)
from mesocosm.cli.render import duration, fitting, interval, money, number, table, tokens
from mesocosm.cli.session import exit_code
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import Boundary, Cause, Failure
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Progress
from mesocosm.core.run import Counts, RunStatus
from mesocosm.core.score import Metric, Score
from mesocosm.core.usage import Usage
from mesocosm.engine.progress import Tracker
from mesocosm.interop.record import moment

if TYPE_CHECKING:
    from tests.cli.conftest import Played


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0, "0.0000"), (1 / 3, "0.3333"), (-2.5, "-2.5000"), (999.9999, "999.9999"), (12345.67, "12,345.7")],
)
def test_scores_have_four_decimals(value: float | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(("value", "text"), [(1.05e-5, "1.05e-05"), (-3e-17, "0.0000"), (2e200, "2.00e+200")])
def test_tiny_and_huge_scores_have_a_power_of_ten(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(("width", "shown"), [(40, [0, 1, 2, 3]), (29, [0, 1, 2]), (21, [0, 2]), (1, [0, 2])], ids=str)
def test_a_narrow_terminal_loses_spare_columns_in_their_order(width: int, shown: list[int]) -> None:
    assert fitting(["id", "domain", "score", "started"], [["x" * 10, "y" * 6, "0.5", "today"]], width, (3, 1)) == shown


def test_an_interval_needs_both_ends() -> None:
    assert interval(0.25, 0.5) == "[0.2500, 0.5000]"
    assert interval(None, 0.5) == interval(0.5, None) == ""


def test_different_ends_of_an_interval_never_look_the_same() -> None:
    assert interval(0.49998, 0.50002, weak=True) == "[0.49998, 0.50002] weak"
    assert interval(1e-6, 2e-6) == "[1.00e-06, 2.00e-06]"


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (9_999, "9,999"), (10_000, "10.0k"), (123_456, "123.5k"), (2_500_000, "2.5M")]
)
def test_many_tokens_are_rounded(count: int, text: str) -> None:
    assert tokens(count) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "cost unknown"), (0.0, "$0.0000"), (0.01234, "$0.0123"), (1234.5, "$1,234.50")]
)
def test_a_price_that_is_unknown_is_never_zero(value: float | None, text: str) -> None:
    assert money(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "–"), (0.04, "0.0 s"), (59.9, "59.9 s"), (60, "1 min 00 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")],
)
def test_durations_are_for_people(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_times_have_an_offset() -> None:
    assert moment(0.25) == "1970-01-01T00:00:00.250+00:00"
    assert moment(None) is None


def test_plain_tables_are_aligned_without_boxes(capsys: pytest.CaptureFixture[str]) -> None:
    table(["name", "n"], [["a", "1"], ["longer", "234"]], CommonOptions(), right=(1,))

    assert capsys.readouterr().out == "name      n\na         1\nlonger  234\n"


@pytest.mark.parametrize(
    ("status", "owed", "interrupted", "code"),
    [
        (RunStatus.FINISHED, 0, False, 0),
        (RunStatus.FINISHED, 0, True, 0),
        (RunStatus.FAILED, 0, False, 1),
        (RunStatus.STOPPED, 2, False, 3),
        (RunStatus.FAILED, 2, False, 4),
        (RunStatus.STOPPED, 2, True, 130),
    ],
)
def test_the_exit_code_tells_how_a_run_ended(
    played: "Played", status: RunStatus, owed: int, interrupted: bool, code: int
) -> None:
    run = played.run
    run.status, run.counts = status, Counts(planned=6, completed=6 - owed)

    assert exit_code(run, interrupted=interrupted) == code


def episode(status: EpisodeStatus = EpisodeStatus.COMPLETED, **given: Any) -> Episode:
    fields: dict[str, Any] = {"id": "e", "run_id": "r", "task_digest": "d", "task_id": "seed-7", "seed": 7} | given
    return Episode(status=status, steps=3, total_reward=0.5, scores=(Score("accuracy", 1.0),), **fields)


def test_an_episode_is_one_line() -> None:
    failure = Failure(Cause.ENVIRONMENT_ERROR, Boundary.ENVIRONMENT, "POST /step: 500\nTraceback …")

    assert episode_line(episode()) == "seed=7 reward=0.50  steps=3"
    assert episode_line(episode(EpisodeStatus.TRUNCATED, trial=2)) == "seed=7 trial=3 reward=0.50  steps=3"
    assert episode_line(episode(seed=None)) == "task=seed-7 accuracy=1.00  steps=3"
    assert episode_line(episode(seed=0)) == "task=seed-7 accuracy=1.00  steps=3"
    assert episode_line(episode(EpisodeStatus.FAILED, failure=failure)) == "seed=7 FAILED: POST /step: 500"
    assert episode_line(episode(EpisodeStatus.FAILED)) == "seed=7 FAILED: failed"


def test_a_sample_without_its_score_shows_no_number_in_its_place() -> None:
    def line(*scores: Score) -> str:
        sample = msgspec.structs.replace(episode(seed=None, task_id="6"), scores=(*scores, Score("turns", 2.0)))
        return episode_line(sample, "row")

    assert line(Score("reward", 0.5)) == "row=6 score=0.50"
    assert line(Score("reward", missing=Cause.SKIPPED)) == "row=6 skipped"
    unscored = Score("reward", missing=Cause.GRADER_ERROR, explanation="ValueError: no such label")
    assert line(unscored) == "row=6 NO SCORE, grader_error: ValueError: no such label"
    assert line(Score("reward", worst=True)) == "row=6 FAILED, counts as worst"


def test_a_narrow_table_folds_long_scores_and_cuts_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    row = [
        "01a20510-31a5-7123",
        "partial",
        "zoo/guess-words",
        "openai/some-very-long-name",
        "0.39 [0.30, 0.48] (302 not_run)",
    ]
    columns = ["id", "status", "benchmark", "model", "score"]

    table(columns, [row], CommonOptions(), whole=(0, 1))

    told = capsys.readouterr().out
    assert "not_run)" in told
    assert len(told.splitlines()) <= 4


def test_a_table_that_does_not_fit_has_a_line_for_each_cell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    table(["id", "model", "score"], [["01a20510-31a5-7123", "m", "0.39 [0.30, 0.48]"]], CommonOptions(), whole=(0, 2))

    told = click.unstyle(capsys.readouterr().out)
    assert told.splitlines() == ["id     01a20510-31a5-7123", "model  m", "score  0.39 [0.30, 0.48]"]


def test_the_headline_of_a_rollout_counts_samples_and_names_the_run(tracker: Tracker) -> None:
    tracker.run.kind, tracker.run.name, tracker.run.info["parallel"] = "rollout", "nightly", 2
    told = headline(tracker)

    assert "(4 samples, 2 at a time, as the rollout says)" in told
    assert told.endswith("\nrun nightly")
    tracker.run.spec.benchmark.options["capped"] = True
    assert "(4 samples, 2 at a time)" in headline(tracker)


@pytest.fixture
def tracker(played: "Played") -> Tracker:
    """Return where a run of four episodes stands that has not begun."""
    run = played.run
    run.counts = Counts(planned=4)
    metric = Metric("accuracy", "accuracy", "pass_rate", threshold=0.5, primary=True)
    return Tracker(run, BenchmarkInfo("my-env", "My environment", "1", "d", "environment", metrics=(metric,)))


def test_a_headline_tells_what_runs(tracker: Tracker, played: "Played") -> None:
    assert headline(tracker) == f"Running builtin/oracle on my-env (4 episodes, 3 at a time)\nrun {played.run_id}"
    tracker.resumed, tracker.planned = 1, 1
    assert "(1 episode, 1 of them finished before, 3 at a time)" in headline(tracker)
    tracker.run.info["parallel"] = 2
    assert "2 at a time, as the environment's manifest says)" in headline(tracker)
    tracker.run.info["growing"] = True
    assert "2 at a time)" in headline(tracker)


def test_a_status_line_tells_where_it_stands(tracker: Tracker) -> None:
    failed = episode(EpisodeStatus.FAILED, usage=Usage(90_000, 10_000, cost_usd=0.5, calls=70), retries=3)
    failed.scores = ()
    tracker.add([episode(), failed])

    line = status_line(tracker)

    assert line.startswith(
        "2/4 · 1 failed · accuracy 1.0000 [0.2065, 1.0000] weak · 96 calls · 100.0k tokens · $0.5000 · 3 "
    )
    assert line.endswith(" left")


@pytest.mark.parametrize(
    "names", [["my-env"], ["my-env", "their-environment-with-a-long-name"], ["评测基准环境", "b" * 90]]
)
def test_bars_never_wrap(tracker: Tracker, names: list[str]) -> None:
    tracker.add([episode(usage=Usage(9_000_000, 1, cost_usd=1234.5, calls=70_000), retries=12) for _ in range(3)])
    tracker.planned = 1_000_000
    shown = [copy.copy(tracker) for _ in names]
    for one, name in zip(shown, names, strict=True):
        one.run = msgspec.structs.replace(one.run, benchmark=name)
    for width in (*range(40, 121), 160, 200):
        console = Console(width=width, file=io.StringIO(), force_terminal=True, color_system=None)
        lines = console.render_lines(bars(shown, width), pad=False)
        texts = ["".join(segment.text for segment in line) for line in lines]
        assert len(texts) == len(names), width
        assert all(cell_len(text) <= width and "3/1,0" in text for text in texts), width


def test_a_narrow_bar_keeps_what_matters_most(tracker: Tracker) -> None:
    tracker.add([episode(usage=Usage(90, 10, calls=7), retries=2)])
    assert fitting_line(tracker, 44) == "1/4 · accuracy 1.0000 [0.2065, 1.0000] weak"


def test_an_unknown_price_is_said_to_be_unknown(tracker: Tracker) -> None:
    tracker.add([episode(usage=Usage(10, 1, cost_usd=None))])

    assert "cost unknown" in status_line(tracker)


def tell(observer: LineProgress, tracker: Progress, number: int) -> None:
    observer.run_started(tracker)
    for _ in range(number):
        observer.episode_finished(episode(run_id=tracker.run.id))


def test_a_short_run_tells_every_episode(tracker: Tracker, capsys: pytest.CaptureFixture[str]) -> None:
    tell(LineProgress(), tracker, 4)

    lines = capsys.readouterr().err.splitlines()
    assert lines[2:] == [f"  [{n}/4] seed=7 reward=0.50  steps=3" for n in (1, 2, 3, 4)]


def beside(played: "Played") -> Tracker:
    """Return where another run of four episodes stands."""
    run = msgspec.structs.replace(played.run, id="other", benchmark="their-env", counts=Counts(planned=4))
    return Tracker(run, BenchmarkInfo("their-env", "Their environment", "1", "d", "environment", metrics=()))


def test_runs_side_by_side_are_counted_apart(
    tracker: Tracker, played: "Played", capsys: pytest.CaptureFixture[str]
) -> None:
    other = beside(played)
    lines = LineProgress()
    tell(lines, tracker, 1)
    tell(lines, other, 2)
    lines.run_finished(other.run)
    lines.episode_finished(episode(run_id=tracker.run.id))

    told = [line.split("] ")[0] for line in capsys.readouterr().err.splitlines() if line.startswith("  ")]
    assert told == ["  [1/4", "  their-env [1/4", "  their-env [2/4", "  [2/4"]


def test_bars_of_runs_side_by_side_all_go_away(tracker: Tracker, played: "Played") -> None:
    before = set(threading.enumerate())
    other = beside(played)
    bar = BarProgress()
    bar.run_started(tracker)
    bar.run_started(other)
    bar.run_finished(tracker.run)
    bar.episode_finished(episode(run_id="other"))
    bar.run_finished(other.run)

    drawing = set(threading.enumerate()) - before
    for thread in drawing:
        thread.join(60)
    assert not any(thread.is_alive() for thread in drawing)


@pytest.mark.parametrize(("every", "lines"), [(0.0, 9), (1e9, 0)])
def test_a_long_run_tells_from_time_to_time(
    tracker: Tracker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, every: float, lines: int
) -> None:
    monkeypatch.setattr(progress_module, "EVERY_S", every)
    tracker.planned = 500
    tell(LineProgress(), tracker, 9)

    told = capsys.readouterr().err.splitlines()[2:]
    assert len(told) == lines
    assert all(line.startswith("  0/500 · ") for line in told)


def test_quiet_still_passes_on_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    silent = SilentProgress()
    silent.notice("started adapter.py")
    silent.notice("warning: a reward was not a number")

    assert capsys.readouterr().err == "warning: a reward was not a number\n"
