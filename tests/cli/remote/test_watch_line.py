"""The line of progress of a run on a platform: on a terminal, and elsewhere."""

import io
import sys
from typing import Any

import click
import pytest

from mesocosm.cli.command import CommonOptions
from mesocosm.cli.remote.watch import Line, exit_code, follow, print_run, progress
from mesocosm.client.error import ApiError
from mesocosm.compat.swecc.documents import Run
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, RunSpec, RunStatus
from mesocosm.core.run import Run as RunRecord
from mesocosm.server.runs.figures import Figures
from mesocosm.server.runs.run_detail import run_detail
from mesocosm.server.schemas.run import Reproduction, RunDetail


class Terminal(io.StringIO):
    """Standard error on a terminal."""

    def isatty(self) -> bool:
        return True


def said(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, **chosen: Any) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with click.Context(click.Command("x"), obj=CommonOptions(**chosen)):
        line = Line()
        for words in ("one", "one", "two"):
            line.say(words)
        line.end()
    return stream.getvalue()


def test_on_a_terminal_one_line_is_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(monkeypatch, Terminal()) == "\r\x1b[Kone\r\x1b[Ktwo\n"


def test_elsewhere_and_when_asked_for_plainness_every_change_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(monkeypatch, io.StringIO()) == "one\ntwo\n"
    assert said(monkeypatch, Terminal(), plain=True) == "one\ntwo\n"


def test_quiet_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(monkeypatch, Terminal(), quiet=True) == ""


def run(**given: Any) -> Run:
    agent = {"model": "builtin/random"}
    config = {"domain_id": "d", "binding_vow_version": "1.0.0", "agent_config": agent, "num_episodes": 9}
    return Run.model_validate({"id": "r", "config": config, "status": "running", **given})


def test_progress_has_score_interval_and_cost() -> None:
    metric = {"name": "won", "value": 0.5, "low": 0.25, "high": 0.75, "n_planned": 4, "n_scored": 2, "primary": True}

    told = progress(run(planned=4, finished=3, failed=1, metrics=[metric], cost_usd=0.0125))

    assert told == "running: 3/4 done, 1 failed, won 0.5000 [0.2500, 0.7500], $0.0125"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"status": "completed"}, 0),
        ({"status": "partial"}, 3),
        ({"status": "failed", "stopped": True}, 3),
        ({"status": "failed"}, 1),
        ({"status": "cancelled"}, 1),
    ],
)
def test_whoever_waited_for_a_run_ends_as_it_did(given: dict[str, Any], code: int) -> None:
    assert exit_code(run(**given)) == code


def test_progress_of_an_older_platform_counts_what_was_asked_for() -> None:
    assert progress(run()) == "running: 0/9 done"
    assert progress(run(cost_usd=None)).endswith(", cost unknown")


def printed(capsys: pytest.CaptureFixture[str], **given: Any) -> str:
    with click.Context(click.Command("x"), obj=CommonOptions()):
        print_run(run(**{"planned": 9, "finished": 9, **given}))
    return capsys.readouterr().out


def test_owed_episodes_are_not_counted_as_failed() -> None:
    told = progress(run(status="failed", stopped=True, planned=20, finished=5, failed=0))
    assert told == "stopped: 5/20 done, 0 failed"


def test_what_a_run_took_is_the_time_that_was_worked(capsys: pytest.CaptureFixture[str]) -> None:
    dates = {"started_at": "2026-01-01T10:00:00Z", "completed_at": "2026-01-01T11:00:00Z"}
    assert "took 5.0 s" in printed(capsys, status="completed", duration_s=5.0, **dates)
    assert "took" not in printed(capsys, status="completed", **dates)


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ({"status": "completed"}, None),
        ({"status": "cancelled", "finished": 7}, "    continues it: 2 episodes pending"),
        ({"status": "failed", "failed": 9}, " --retry-failed    plays 9 failed episodes again"),
        ({"status": "failed", "failed": 9, "n_worst": 9}, None),
        ({"status": "failed", "failed": 0}, None),
        ({"status": "partial", "failed": 3, "n_worst": 1}, "    plays 2 failed episodes again"),
        ({"status": "partial", "failed": 0}, None),
        ({"status": "cancelled", "finished": 7, "redacted": True}, None),
    ],
)
def test_only_a_command_that_works_is_offered(
    capsys: pytest.CaptureFixture[str], given: dict[str, Any], advice: str | None
) -> None:
    worst = given.get("n_worst", 0)
    metric = {"name": "won", "value": None, "n_planned": 9, "n_scored": 0, "n_worst": worst, "primary": True}
    lines = printed(capsys, **given, metrics=[metric]).splitlines()
    offered = next((line for line in lines if "resume" in line), None)
    assert offered == (None if advice is None else f"  mesocosm run resume r --remote{advice}")


class Restarted:
    """Runs of a platform that gives no answer in between."""

    def __init__(self, *answers: RunDetail | int) -> None:
        self.runs = self
        self._answers = list(answers)

    def get(self, run_id: str) -> RunDetail:
        answer = self._answers.pop(0)
        if isinstance(answer, int):
            raise ApiError("GET", "http://platform/api/runs/r", answer, "gone")
        return answer


def detail(status: RunStatus = RunStatus.RUNNING) -> RunDetail:
    """Return a run as a server answers with it."""
    spec = RunSpec(BenchmarkRef("environment", "d"), ModelSettings("builtin/random"))
    record = RunRecord(
        id="r",
        signature="s",
        benchmark="d",
        benchmark_title="D",
        benchmark_version="1",
        benchmark_digest="x",
        kind="environment",
        model="builtin/random",
        agent="chat",
        spec=spec,
        status=status,
    )
    figures = Figures((), (), (None, None), ())
    return run_detail(record, figures, Reproduction(repeat=None, resume=None, show=""))


def followed(client: Restarted) -> Run | None:
    with click.Context(click.Command("x"), obj=CommonOptions()):
        return follow(client, "r", every_s=0.0)  # type: ignore[arg-type]


def test_a_platform_that_is_started_again_is_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    seen = followed(Restarted(detail(), 0, 502, detail(RunStatus.FINISHED)))

    assert seen is not None
    assert seen.status == "completed"
    assert "the server does not answer; trying again" in capsys.readouterr().err


@pytest.mark.parametrize("answers", [(0,), (detail(), 404)])
def test_what_was_never_there_or_is_gone_is_not_waited_for(answers: tuple[RunDetail | int, ...]) -> None:
    with pytest.raises(ApiError):
        followed(Restarted(*answers))
