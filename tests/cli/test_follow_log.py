"""The log of a run on a server as it is followed."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from mesocosm.cli.eval import on_server
from mesocosm.cli.eval.on_server import WorkspaceRun
from mesocosm.server.schemas.run_request import RunLog, RunLogLine, RunOutputPage


class Logs:
    """A server whose answers are given, one after the other."""

    def __init__(self, *logs: list[str]) -> None:
        self._logs = list(logs)
        self.runs = self

    def log(self, run_id: str) -> RunLog:
        lines = [RunLogLine(kind="state", at=None, text=text) for text in self._logs.pop(0)]
        return RunLog(run_id=run_id, lines=lines)

    def output(self, run_id: str, after: int) -> RunOutputPage:
        return RunOutputPage(run_id=run_id, items=[], last=after, ended=not self._logs)


def test_a_line_that_takes_the_place_of_another_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_server, "FOLLOW_S", 0)
    client = Logs(["submitted", "waits"], ["submitted", "waits"], ["submitted", "began", "finished"])
    run = cast(Any, SimpleNamespace(id="one", name="one"))
    assert WorkspaceRun(cast(Any, client), "place", run).follow_log() == 0
    assert capsys.readouterr().out.split("\n") == [
        "state: submitted",
        "state: waits",
        "state: began",
        "state: finished",
        "",
    ]
