"""`mesocosm bench run --remote` and `mesocosm bench compare --remote` against a server with a worker."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.remote.conftest import working

from mesocosm.cli.bench import remote
from mesocosm.client import Client
from mesocosm.client.error import ApiError
from mesocosm.client.runs import RunsResource
from mesocosm.server import adapters

if TYPE_CHECKING:
    from tests.cli.conftest import Outcome
    from tests.cli.remote.conftest import Open, Platform

FORMAT = ("--benchmarks", "eliza-format", "--max-examples", "3")
ORACLE = ("--model", "builtin/oracle")


@pytest.fixture
def idle(open_platform: "Open") -> "Platform":
    """A server without a worker, with Ada's command line and her active workspace."""
    opened: Platform = open_platform(cooldown_s=0.0)
    adapters.bind(opened.service)
    opened.is_now("ada")
    opened("workspace", "create", "reefs", "--use")
    return opened


@pytest.fixture
def busy(idle: "Platform") -> Iterator["Platform"]:
    """The same with a worker."""
    with working(idle.service):
        yield idle


def bench(platform: "Platform", *words: str) -> "Outcome":
    return platform("bench", "run", "--remote", *words)


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Return what lets something happen once, while a command waits between two polls."""

    def placed(happens: Callable[[], Any]) -> None:
        left = [happens]

        def pause(seconds: float) -> None:
            if left:
                left.pop()()
            time.sleep(seconds)

        monkeypatch.setattr(remote, "time", SimpleNamespace(**{**vars(time), "sleep": pause}))

    return placed


def newest(platform: "Platform") -> Any:
    return Client().runs.list(whose="mine").items[0]


def test_a_benchmark_runs_on_the_server_and_is_shown_as_a_local_one(busy: "Platform") -> None:
    seen = bench(busy, *FORMAT, *ORACLE)
    assert seen.code == 0, seen.err
    run = newest(busy)
    assert f"on {busy.url}, in the workspace reefs\n" in seen.out
    (row,) = [line for line in seen.out.splitlines() if line.startswith("eliza-format")]
    assert row.split()[1] == "succeeded"
    assert "Summary: succeeded=1 failed=0 skipped=0 incompatible=0" in seen.out
    assert (run.state, run.counts.planned, run.workspace_id is not None) == ("finished", 3, True)
    assert "eliza-format finished: 3/3 done" in seen.err


def test_the_json_document_has_the_fields_of_the_local_command(busy: "Platform", tmp_path: Path) -> None:
    there = bench(busy, *FORMAT, *ORACLE, "--json").document
    here = busy("bench", "run", *FORMAT, *ORACLE, "--json", "--results-dir", tmp_path / "own").document
    assert list(there) == list(here)
    (remote_one,), (local_one,) = there["outcomes"], here["outcomes"]
    assert list(remote_one) == list(local_one)
    assert list(remote_one["run"]) == list(local_one["run"])
    for name in ("benchmark_id", "benchmark_directory", "status", "score", "failures"):
        assert remote_one[name] == local_one[name], name
    assert remote_one["run"]["benchmark_digest"] == local_one["run"]["benchmark_digest"]


def test_finished_work_is_not_repeated_without_force(busy: "Platform") -> None:
    first = bench(busy, *FORMAT, *ORACLE, "--json").document["outcomes"][0]
    again = bench(busy, *FORMAT, *ORACLE, "--json")
    (second,) = again.document["outcomes"]
    assert (again.code, second["status"], second["reason"]) == (0, "skipped", "already_succeeded")
    assert (second["run_id"], second["score"]) == (first["run_id"], first["score"])
    assert "--fresh runs it again" in bench(busy, *FORMAT, *ORACLE).out
    forced = bench(busy, *FORMAT, *ORACLE, "--force", "--json").document["outcomes"][0]
    assert forced["status"] == "succeeded"
    assert forced["run_id"] != first["run_id"]
    alone = bench(busy, *FORMAT, *ORACLE, "--solo", "--json").document["outcomes"][0]
    assert alone["run_id"] not in {first["run_id"], forced["run_id"]}
    assert Client().runs.get(alone["run_id"]).workspace_id is None


def test_what_the_server_refuses_is_a_row_and_the_others_go_on(busy: "Platform") -> None:
    seen = bench(busy, "--benchmarks", "osworld", "eliza-format", "nonsense", *FORMAT[2:], *ORACLE)
    assert seen.code == 1
    found = {line.split()[0]: line.split()[1] for line in seen.out.splitlines() if len(line.split()) > 4}
    assert (found["osworld"], found["eliza-format"], found["nonsense"]) == ("incompatible", "succeeded", "failed")
    assert "osworld: osworld starts a program of its own, which this server does not" in seen.out
    assert "Summary: succeeded=1 failed=1 skipped=0 incompatible=1" in seen.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--cache", "file"), "--cache does nothing with --remote"),
        (("--benchmarks-dir", "."), "--benchmarks-dir does nothing with --remote"),
        (("--same-server",), "--same-server does nothing with --remote"),
        (("--timeout", "5"), "--timeout does nothing"),
        (("--run-tokens", "5"), "--run-tokens does nothing"),
        (("--outage-seconds", "0"), "--outage-seconds does nothing"),
        (("--rerun-failed",), "mesocosm run resume RUN --remote --retry-failed"),
        (("--dry-run",), "--dry-run does nothing"),
        (("--agent", "file.py:agent"), "runs agents by their names only"),
        (("--baseline", "last"), "--baseline compares runs on this machine"),
        (("--fail-if", "calls>3"), "not labels or calls"),
        (("--model", "tiny"), "names no provider"),
        (("--model", "openai/tiny@http://127.0.0.1:1/v1"), "leave the address out"),
        (("--workspace", "reefs", "--solo"), "contradict each other"),
        (("--on", "http://127.0.0.1:1", "--base-url", "http://127.0.0.1:2"), "name different servers"),
        (("--model", "builtin/oracle", "--model", "builtin/random"), "this is for one model"),
        (("--extra", '{"strange": 1}'), "is not a parameter of eliza-format"),
    ],
)
def test_flags_that_mean_nothing_on_a_server_are_refused(idle: "Platform", words: tuple[str, ...], told: str) -> None:
    seen = bench(idle, *FORMAT, *(() if "--model" in words else ORACLE), *words)
    assert (seen.code, seen.out) == (2, "")
    assert told in seen.err
    assert Client().runs.list(whose="mine").items == []


def test_a_model_is_named_and_a_workspace_belongs_to_a_server(idle: "Platform") -> None:
    assert "which model?" in bench(idle, *FORMAT).err
    local = idle("bench", "run", *FORMAT, *ORACLE, "--workspace", "reefs")
    assert (local.code, "add --remote" in local.err) == (2, True)


def test_conditions_close_the_gate(busy: "Platform", tmp_path: Path) -> None:
    junit = ("--junit", str(tmp_path / "gate.xml"))
    closed = bench(busy, *FORMAT, *ORACLE, "--fail-if", "score<2", "--fail-if", "missing>2%", *junit)
    assert closed.code == 1, closed.err
    assert "gate closed" in closed.out
    assert "failures=" in (tmp_path / "gate.xml").read_text()
    opened = bench(busy, *FORMAT, *ORACLE, "--fail-if", "score<0.1", "--json")
    assert opened.code == 0, opened.out
    assert [one["answer"] for one in opened.document["gate"]] == ["pass"]


def test_ctrl_c_leaves_runs_going_and_says_how_to_follow_and_stop_them(
    idle: "Platform", between: Callable[[Callable[[], Any]], None]
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    between(interrupt)
    seen = bench(idle, *FORMAT, *ORACLE)
    run = newest(idle)
    assert seen.code == 130
    assert run.state == "pending"
    assert f"follow it with: mesocosm run watch {run.id}" in seen.err
    assert f"stop it with: mesocosm run stop {run.id}" in seen.err
    assert "running=1" in seen.out
    with working(idle.service):
        again = bench(idle, *FORMAT, *ORACLE, "--json")
    assert again.code == 0
    assert [outcome["run_id"] for outcome in again.document["outcomes"]] == [run.id]


def test_a_run_that_somebody_stops_is_continued_by_the_same_command(
    idle: "Platform", between: Callable[[Callable[[], Any]], None]
) -> None:
    between(lambda: Client().runs.stop(newest(idle).id))
    seen = bench(idle, *FORMAT, *ORACLE)
    run = newest(idle)
    assert seen.code == 3, seen.err
    assert [line.split()[1] for line in seen.out.splitlines() if line.startswith("eliza-format ")] == ["stopped"]
    assert "3 episodes pending: the same command continues" in seen.out
    with working(idle.service):
        again = bench(idle, *FORMAT, *ORACLE, "--json")
    assert (again.code, again.document["outcomes"][0]["run_id"]) == (0, run.id)
    assert f"continues run {run.id}: 0 of 3 episodes are finished" in again.err


def test_a_run_that_somebody_deletes_has_failed(idle: "Platform", between: Callable[[Callable[[], Any]], None]) -> None:
    def delete() -> None:
        run = newest(idle).id
        Client().runs.stop(run)
        Client().runs.delete(run)

    between(delete)
    seen = bench(idle, *FORMAT, *ORACLE)
    assert seen.code == 1
    assert "was deleted" in seen.out


class Losing:
    """Lets answers of a server be lost: it does what is asked, and nobody learns of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, method: str, times: int) -> None:
        self.left, self.asked = times, 0
        real = getattr(RunsResource, method)

        def losing(resource: RunsResource, *given: Any) -> Any:
            answer = real(resource, *given)
            self.asked += 1
            if self.left:
                self.left -= 1
                raise ApiError("POST", "http://127.0.0.1/api/runs", 0, "closed", kind="RemoteDisconnected")
            return answer

        monkeypatch.setattr(RunsResource, method, losing)


@pytest.mark.parametrize("words", [(), ("--force",), ("--solo",)])
def test_a_lost_answer_starts_no_second_run(
    busy: "Platform", monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    losing = Losing(monkeypatch, "create", 2)
    seen = bench(busy, *FORMAT, *ORACLE, *words)
    assert seen.code == 0, seen.err
    assert "the server does not answer; trying again" in seen.err
    assert losing.asked == 3
    assert len(Client().runs.list(whose="mine").items) == 1


def test_a_request_that_cannot_be_repeated_is_not(busy: "Platform", monkeypatch: pytest.MonkeyPatch) -> None:
    losing = Losing(monkeypatch, "create", 1)
    seen = bench(busy, *FORMAT, *ORACLE, "--solo", "--force")
    assert seen.code == 1
    assert losing.asked == 1
    assert "whether eliza-format was started is unknown" in seen.err


def test_a_server_that_is_away_for_a_while_is_waited_for(busy: "Platform", monkeypatch: pytest.MonkeyPatch) -> None:
    Losing(monkeypatch, "get", 3)
    seen = bench(busy, *FORMAT, *ORACLE)
    assert seen.code == 0, seen.err
    assert "the server does not answer; trying again" in seen.err


def test_a_server_that_stays_away_leaves_runs_going_and_says_so(
    idle: "Platform", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "PATIENCE_S", 0.0)
    Losing(monkeypatch, "get", 1_000)
    seen = bench(idle, *FORMAT, *ORACLE)
    assert seen.code == 1
    assert "got no answer" in seen.err
    assert "keeps running; follow it with: mesocosm run watch" in seen.err


def test_a_server_that_is_not_there_is_said_at_once(idle: "Platform") -> None:
    seen = idle("bench", "run", "--on", "http://127.0.0.1:1", *FORMAT, *ORACLE)
    assert seen.code == 1
    assert "got no answer" in seen.err
    assert "is the server running" in seen.err


def test_two_models_are_compared_by_the_server(busy: "Platform", tmp_path: Path) -> None:
    words = ("bench", "compare", "--remote", "--a", "builtin:empty", "--b", "builtin:oracle", *FORMAT)
    seen = busy(*words, "--out", tmp_path / "out")
    assert seen.code == 0, seen.err
    here = busy(*(word for word in words if word != "--remote"), "--results-dir", tmp_path / "own")
    rows = [[line for line in one.out.splitlines() if line.startswith("eliza-format |")] for one in (seen, here)]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 1
    (written,) = (tmp_path / "out").iterdir()
    (row,) = json.loads(written.read_text())["rows"]
    assert (row["a_status"], row["b_status"]) == ("succeeded", "succeeded")
    again = busy(*words, "--json").document["rows"][0]
    assert (again["a_run_id"], again["a_status"]) == (row["a_run_id"], "skipped")
    assert again["comparison"] == row["comparison"]


def test_a_comparison_with_a_refused_side_fails_and_conditions_are_refused(busy: "Platform") -> None:
    words = ("bench", "compare", "--remote", "--a", "builtin:oracle", *FORMAT)
    seen = busy(*words, "--b", "openai:unheard-of")
    assert seen.code == 1
    assert "nothing could be compared" in seen.err
    assert "B eliza-format: failed:" in seen.out
    gated = busy(*words, "--b", "builtin:empty", "--fail-if", "regression")
    assert (gated.code, "do nothing with bench compare --remote" in gated.err) == (2, True)


def test_the_command_of_a_forecast_submits_the_run_that_it_was_for(busy: "Platform") -> None:
    words = [
        "eliza-format",
        "--remote",
        "--workspace",
        "reefs",
        "--model",
        "builtin/oracle",
        "--max-examples",
        "3",
        "--parallel",
        "32",
    ]
    more = ("--extra", '{"temperature": 0.5}', "--run-usd", "1.5", "--tag", "a b", "--fresh")
    seen = busy("bench", "run", *words, *more)
    assert seen.code == 0, seen.err
    run = newest(busy)
    spec = busy.service.store.runs.get(run.id).spec
    assert (run.counts.planned, spec.parallel, spec.model.temperature, list(run.tags)) == (3, 32, 0.5, ["a b"])
