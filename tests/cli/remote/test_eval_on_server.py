"""`mesocosm eval submit | list | info | stop | logs | download` for runs of a workspace on a server with a worker."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.remote.conftest import working

from mesocosm.client import Client
from mesocosm.client.credentials import Credentials, write
from mesocosm.client.error import ApiError
from mesocosm.client.runs import RunsResource
from mesocosm.sandboxes.bubblewrap import available
from mesocosm.server import adapters

if TYPE_CHECKING:
    from tests.cli.conftest import Outcome
    from tests.cli.remote.conftest import Open, Platform

pytestmark = [
    pytest.mark.usefixtures("forked_checks"),
    pytest.mark.skipif(not available(), reason="there is no bubblewrap"),
]

MAIN = """
from mesocosm.rollouts import AgentWorkflow, AgentWorkflowContext, Grader, GraderContext, LocalBackend

class Player(AgentWorkflow):
    async def run(self, ctx: AgentWorkflowContext):
        print("asked", ctx.prompt[-1]["content"])
        return [*ctx.prompt, {"role": "assistant", "content": "3"}]

class Judge(Grader):
    async def grade(self, ctx: GraderContext):
        ctx.artifacts_dir.mkdir(parents=True, exist_ok=True)
        (ctx.artifacts_dir / "why.txt").write_text(f"label {ctx.label}")
        ctx.set_reward(float(ctx.label == "3"))

backend = LocalBackend(workflow=Player, grader=Judge)
"""
CONFIG = """
[experiment]
rollout = "sums"
entrypoint = "main.py"
model_path = "builtin/empty"
dataset = "hard"

[evaluation]
limit = "all"
"""


def git(at: Path, *words: str) -> None:
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *author, *words], cwd=at, check=True, capture_output=True)


@pytest.fixture
def busy(open_platform: "Open", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator["Platform"]:
    """A server with a worker, Ada's clone of a connected repository, in which she is, and her dataset."""
    opened: Platform = open_platform(cooldown_s=0.0, local_git=True)
    adapters.bind(opened.service)
    opened.is_now("ada")
    opened("workspace", "create", "reefs", "--use")
    clone = tmp_path / "clone"
    for name, text in {"rollouts/sums/main.py": MAIN, "configs/eval/sums.toml": CONFIG}.items():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text(text)
    git(clone, "init", "-q", "-b", "main")
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "First")
    git(tmp_path, "clone", "-q", "--bare", str(clone), "evals.git")
    git(clone, "remote", "add", "origin", str(tmp_path / "evals.git"))
    git(clone, "fetch", "-q", "origin")
    rows = tmp_path / "hard.jsonl"
    rows.write_text("".join(json.dumps({"user_prompt": f"{n}?", "ground_truth": str(n)}) + "\n" for n in range(4)))
    monkeypatch.chdir(clone)
    with working(opened.service):
        assert opened("workspace", "connect", "--yes", "--wait").code == 0
        assert opened("dataset", "upload", rows).code == 0
        yield opened


def submit(platform: "Platform", *words: str) -> "Outcome":
    return platform("eval", "submit", "configs/eval/sums.toml", "--yes", *words)


def only_run() -> Any:
    (run,) = Client().runs.list(whose="mine").items
    return run


def test_a_configuration_of_the_clone_is_run_and_followed_to_its_end(busy: "Platform") -> None:
    seen = submit(busy, "--wait", "--name", "first")
    assert seen.code == 0, seen.err
    run = Client().runs.get(only_run().id)
    assert (run.name, run.state, run.counts.done) == ("first", "finished", 4)
    assert run.primary is not None
    assert run.primary.value == 0.25
    asked = run.request.evaluation if run.request is not None else None
    assert asked is not None
    assert (asked.configuration, asked.branch, asked.dirty) == ("configs/eval/sums.toml", "main", False)
    for words in ("sums (main.py)", f"{asked.commit[:12]} of main", "hard, version 1", "all 4 rows"):
        assert words in seen.out


def test_runs_of_the_workspace_are_listed_shown_read_and_downloaded(busy: "Platform", tmp_path: Path) -> None:
    assert submit(busy, "--wait", "--name", "first").code == 0
    assert "first" in busy("eval", "list").out
    (item,) = busy("eval", "list", "--remote", "--json").document["items"]
    assert (item["name"], item["status"], item["summary"]["avg_reward"]) == ("first", "finished", 0.25)
    shown = busy("eval", "info", "first")
    assert shown.code == 0
    for words in ("sums on hard · builtin/empty · finished", "configs/eval/sums.toml", "score      0.2500  ["):
        assert words in shown.out
    assert "hard · builtin/empty · finished" in busy("run", "show", "first", "--remote").out
    log = busy("eval", "logs", "first", "-f").out
    assert "asked 0?" in log
    assert "submitted by ada" in log
    place = tmp_path / "out"
    assert busy("eval", "download", "first", "-o", place, "--type", "all").code == 0
    found = sorted(path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file())
    own = [f"artifacts/row_{row}_run_0/why.txt" for row in range(4)]
    assert found == sorted([*own, "logs/run.txt", "metrics.json", "samples.jsonl", "trajectories.json"])
    assert (place / own[2]).read_text() == "label 2"
    assert json.loads((place / "metrics.json").read_text())["run"]["primary"]["value"] == 0.25


def test_files_that_are_there_are_kept_unless_overwritten(busy: "Platform", tmp_path: Path) -> None:
    assert submit(busy, "--wait", "--name", "first").code == 0
    (tmp_path / "metrics.json").write_text("mine")
    busy("eval", "download", "first", "-o", tmp_path, "--type", "metrics")
    assert (tmp_path / "metrics.json").read_text() == "mine"
    busy("eval", "download", "first", "-o", tmp_path, "--type", "metrics", "--overwrite")
    assert json.loads((tmp_path / "metrics.json").read_text())["run"]["name"] == "first"


def test_files_of_the_disk_are_run_with_upload_and_what_is_not_committed_is_told(busy: "Platform") -> None:
    Path("rollouts/sums/main.py").write_text(MAIN.replace('"3")', '"2")'))
    seen = submit(busy, "--upload", "--wait", "-n", "3")
    assert seen.code == 0, seen.err
    assert "1 file is not committed: rollouts/sums/main.py" in seen.err
    run = Client().runs.get(only_run().id)
    assert run.primary is not None
    assert run.counts.planned == 3
    assert run.primary.value == pytest.approx(1 / 3)
    assert run.request is not None
    assert run.request.evaluation is not None
    assert run.request.evaluation.dirty


def test_a_run_is_repeated_with_changed_settings_and_compared_with_the_one_before(busy: "Platform") -> None:
    assert submit(busy, "--wait", "--name", "first").code == 0
    again = busy("eval", "submit", "--from", "first", "--set", "evaluation.n=2", "--name", "second", "--yes", "--wait")
    assert again.code == 0, again.err
    assert "samples    8 (4 rows, 2 times)" in again.out
    shown = busy("eval", "info", "second").out
    assert "score +0.0000 [" in shown
    assert "against first (4 rows of both): tie" in shown


def test_a_secret_without_a_value_is_named_with_its_command_and_nothing_is_submitted(busy: "Platform") -> None:
    Path("configs/eval/sums.toml").write_text(f'{CONFIG}\n[secrets]\nrequired = ["TOKEN"]\n')
    seen = submit(busy, "--upload")
    assert seen.code == 1
    assert "mesocosm secret set TOKEN" in seen.err
    assert Client().runs.list(whose="mine").items == []


def test_a_lost_answer_makes_no_second_run(busy: "Platform", monkeypatch: pytest.MonkeyPatch) -> None:
    create, lost = RunsResource.create, [True]

    def unlucky(self: RunsResource, run: Any) -> Any:
        made = create(self, run)
        if lost:
            lost.pop()
            raise ApiError("POST", "/api/runs", 0, "connection reset")
        return made

    monkeypatch.setattr(RunsResource, "create", unlucky)
    assert submit(busy, "--wait").code == 0
    assert only_run().state == "finished"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["configs/eval/none.toml"], "there is no file"),
        ([], "name a configuration"),
        (["configs/eval/sums.toml", "--upload", "--branch", "main"], "leave --branch and --commit out"),
        (["configs/eval/sums.toml", "--dataset", "hard@x"], "is a number"),
        (["configs/eval/sums.toml", "--dataset", "none"], "has no dataset 'none'; upload it with"),
        (["configs/eval/sums.toml", "--dataset", "hrad"], "has no dataset 'hrad'; did you mean 'hard'?"),
        (["configs/eval/sums.toml", "--dataset", "hard@7"], "has no version 7; its newest one is 1"),
        (["configs/eval/smus.toml"], "did you mean configs/eval/sums.toml?"),
        (["configs/eval/sums.toml", "--name", "a b"], "letters, digits"),
        (["configs/eval/sums.toml", "--set", "experiment.model_path=openai/none"], "cannot be run here"),
        (["--from", "none"], "has no run 'none'"),
    ],
)
def test_what_cannot_be_submitted_is_said_before_anything_runs(busy: "Platform", words: list[str], told: str) -> None:
    seen = busy("eval", "submit", *words, "--yes")
    assert seen.code in {1, 2}
    assert told in seen.err
    assert Client().runs.list(whose="mine").items == []


def test_only_a_run_that_goes_on_is_stopped(busy: "Platform") -> None:
    assert submit(busy, "--wait", "--name", "first").code == 0
    seen = busy("eval", "stop", "first")
    assert seen.code == 2
    assert "run first is finished" in seen.err


def test_a_run_that_neither_has_is_unknown_and_a_near_name_is_suggested(busy: "Platform") -> None:
    seen = busy("eval", "info", "none", "--json")
    assert seen.code == 1
    assert "no run 'none'; `mesocosm eval list`" in seen.err
    assert (seen.document["error"], seen.document["status_code"]) == ("http_error", 404)
    assert submit(busy, "--wait", "--name", "first").code == 0
    assert "did you mean 'first'?" in busy("eval", "info", "frist").err
    assert "did you mean 'first'?" in busy("eval", "submit", "--from", "frist").err


def test_the_newest_pushed_commit_is_synced_and_run(busy: "Platform") -> None:
    main = Path("rollouts/sums/main.py")
    main.write_text(MAIN.replace('"3"}]', '"2"}]'))
    git(Path(), "commit", "-qam", "Second")
    assert "the run is of a commit that the server has" in submit(busy, "--wait", "--name", "unpushed").err
    git(Path(), "push", "-q", "origin", "main")
    seen = submit(busy, "--wait", "--name", "pushed")
    assert seen.code == 0, seen.err
    head = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    place = Client().workspaces.list()[0].id
    runs = {name: Client().runs.of_workspace(place, name).request for name in ("unpushed", "pushed")}
    commits = {name: one.evaluation.commit for name, one in runs.items() if one is not None and one.evaluation}
    assert commits["pushed"] == head != commits["unpushed"]


def test_a_commit_that_is_older_than_the_synced_one_is_told_and_the_newer_one_run(busy: "Platform") -> None:
    git(Path(), "commit", "-q", "--allow-empty", "-m", "Second")
    git(Path(), "push", "-q", "origin", "main")
    assert submit(busy, "--wait").code == 0
    git(Path(), "reset", "-q", "--hard", "HEAD~1")
    seen = submit(busy, "--wait")
    assert seen.code == 0, seen.err
    assert "of main is run, and the one here is" in seen.err


def test_a_failed_sample_is_named_with_its_row_in_results_and_log(busy: "Platform") -> None:
    Path("rollouts/sums/main.py").write_text(
        MAIN.replace("        return [", "        1 / int(ctx.prompt[-1]['content'][0])\n        return [")
    )
    seen = submit(busy, "--upload", "--wait", "--name", "broken")
    assert seen.code == 0, seen.err
    for words in ("4/4 samples: 3 graded, 1 passed", "1 failed", "workflow_failed", "row 0: ZeroDivisionError"):
        assert words in seen.out
    assert "mesocosm eval logs broken --failed" in seen.out
    failed = busy("eval", "logs", "broken", "--failed").out
    assert "row 0 trial 1 · failed" in failed
    assert "main.py" in failed
    assert "row 1" not in failed
    chosen = busy("eval", "logs", "broken", "--rows", "1,3", "--json").document["items"]
    assert [(one["row"], one["reward"], one["cause"]) for one in chosen] == [("1", 0.0, None), ("3", 1.0, None)]
    whole = busy("eval", "logs", "broken").out
    assert "row 3 trial 1 · completed · score 1.0000" in whole
    assert "asked 3?" in whole


def test_code_that_fails_before_a_model_is_asked_is_told_once_and_is_to_be_mended_not_resumed(
    busy: "Platform", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mesocosm.engine.execution.ALIKE", 3)
    code = MAIN.replace("        print(", "        {}['SEARCH_API_KEY']\n        print(")
    Path("rollouts/sums/main.py").write_text(code)
    submit(busy, "--upload", "--wait", "--name", "broken")
    shown = busy("eval", "info", "broken").out
    assert "failed: workflow_failed: KeyError: 'SEARCH_API_KEY'; the first 3 episodes all failed so" in shown
    assert "the same code fails again; mend it" in shown
    assert "mesocosm eval submit configs/eval/sums.toml --upload" in shown
    assert "run resume" not in shown
    log = busy("eval", "logs", "broken").out
    assert "row 0 trial 1 · failed, not counted, still pending" in log
    assert log.count("workflow_failed: as in row 0") == 2
    assert log.count("error: workflow_failed") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-f", "--failed"], "leave --rows and --failed out"),
        (["--cursor", "x"], "name the samples with --rows or --failed"),
    ],
)
def test_flags_of_a_log_that_a_server_does_not_take_are_refused(busy: "Platform", words: list[str], told: str) -> None:
    assert submit(busy, "--wait", "--name", "first").code == 0
    seen = busy("eval", "logs", "first", *words)
    assert (seen.code, seen.out) == (2, "")
    assert told in seen.err


def test_a_run_of_a_pipeline_is_judged_by_its_conditions(busy: "Platform") -> None:
    assert submit(busy, "--fail-if", "reward<0.5").code == 2
    passed = submit(busy, "--wait", "--name", "first", "--fail-if", "reward<0.2")
    assert passed.code == 0, passed.err
    assert "gate open" in passed.err
    closed = submit(busy, "--wait", "--fail-if", "pass_rate<0.5", "--json")
    assert closed.code == 1
    assert closed.document["data"]["gate"][0]["answer"] == "fail"
    assert busy("eval", "info", "first", "--fail-if", "reward<0.5").code == 1


def test_runs_of_this_machine_and_of_the_workspace_are_one_list_of_equal_documents(busy: "Platform") -> None:
    assert submit(busy, "--wait", "--name", "there").code == 0
    (alone,) = busy("eval", "list", "--json").document["items"]
    Path("data").mkdir()
    Path("data/hard.jsonl").write_text('{"user_prompt": "3?", "ground_truth": "3"}\n')
    assert busy("eval", "run-local", "configs/eval/sums.toml", "--name", "here").code == 0
    here, there = busy("eval", "list", "--json").document["items"]
    assert (here["name"], there["name"]) == ("here", "there")
    assert there == alone
    assert set(here) - set(there) == set()


def test_runs_of_the_workspace_are_compared_and_judged_as_those_of_this_machine(
    busy: "Platform", tmp_path: Path
) -> None:
    assert submit(busy, "--wait", "--name", "three").code == 0
    for name, passing in (("two", 'ctx.label == "2"'), ("two-and-three", 'ctx.label in "23"')):
        Path("rollouts/sums/main.py").write_text(MAIN.replace('ctx.label == "3"', passing))
        assert submit(busy, "--upload", "--wait", "--name", name).code == 0
    names = ("three", "two", "two-and-three")
    seen = busy("compare", *names, "--remote", "--json")
    assert seen.code == 0, seen.err
    place = Client().workspaces.list()[0].id
    ids = [Client().runs.of_workspace(place, name).id for name in names]
    there = Client().runs.compare(ids)
    fields = ("a", "b", "delta", "low", "high", "p_value", "p_adjusted", "test", "n_a", "n_b", "winner")
    (group,) = seen.document["benchmarks"]
    (other,) = there.benchmarks
    assert [[pair[name] for name in fields] for pair in group["pairs"]] == [
        [getattr(pair, name) for name in fields] for pair in other.pairs
    ]
    assert (group["scores"], [one["task"] for one in group["pairs"][0]["flipped_tasks"]]) == (
        [0.25, 0.25, 0.5],
        ["2", "3"],
    )
    report = tmp_path / "gate.xml"
    words = ("--fail-if", "regression>0.1", "--fail-if", "score>0.4", "--junit", report)
    judged = busy("compare", *names, "--workspace", "reefs", *words)
    assert judged.code == 1
    assert "row passes only in two-and-three: 2" in judged.out
    assert "they differ in commit: " in judged.out
    assert f"{busy.url}/compare?run={ids[0]}&run={ids[1]}" in judged.out
    assert "score&gt;0.4" in report.read_text()
    assert busy("compare", "three", "frist", "--remote").code == 1
    assert "--remote compares runs of your workspace" in busy("compare", "three", "two").err


def test_last_is_the_newest_run_of_this_machine_and_of_the_workspace(busy: "Platform") -> None:
    Path("data").mkdir()
    Path("data/hard.jsonl").write_text('{"user_prompt": "3?", "ground_truth": "3"}\n')
    assert busy("eval", "run-local", "configs/eval/sums.toml", "--name", "here").code == 0
    seen = busy("eval", "info", "last")
    assert "note: the newest evaluation is here, on this machine" in seen.err
    assert re.search(r"where +on this machine\n", seen.out)
    assert submit(busy, "--wait", "--name", "there").code == 0
    seen = busy("eval", "info", "last")
    assert "note: the newest evaluation is there, in the workspace reefs" in seen.err
    assert re.search(r"where +in the workspace reefs on http", seen.out)
    assert busy("eval", "run-local", "configs/eval/sums.toml", "--name", "later", "--fresh").code == 0
    assert "is later, on this machine" in busy("eval", "logs", "last").err
    assert "is there" not in busy("eval", "info", "last", "--remote").err


def test_a_server_that_is_away_is_said_where_last_is_looked_for(
    busy: "Platform", monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("data").mkdir()
    Path("data/hard.jsonl").write_text('{"user_prompt": "3?", "ground_truth": "3"}\n')
    assert busy("eval", "run-local", "configs/eval/sums.toml", "--name", "here").code == 0
    away = "http://127.0.0.1:9"
    write(Credentials("member", busy.add("ada"), away, away, username="ada"))
    monkeypatch.setenv("MESOCOSM_WORKSPACE", "reefs")
    seen = busy("eval", "info", "last")
    assert seen.code == 0
    assert "warning: only this machine was looked at: " in seen.err
    assert "note: the newest evaluation is here, on this machine" in seen.err


def test_a_stopped_run_is_called_stopped_with_who_stopped_it_and_how_to_go_on(busy: "Platform") -> None:
    Path("rollouts/sums/main.py").write_text(
        MAIN.replace(
            "        print(",
            "        import asyncio; await asyncio.Event().wait() if '3' in str(ctx.prompt) else None\n        print(",
        )
    )
    assert submit(busy, "--upload", "--name", "long").code == 0
    place = Client().workspaces.list()[0].id
    while Client().runs.of_workspace(place, "long").counts.done < 3:
        pass
    assert busy("eval", "stop", "long", "--json").document["operation"] == "eval.stop"
    seen = busy("run", "watch", only_run().id)
    shown = busy("eval", "info", "long")
    assert (seen.code, shown.code) == (1, 0)
    for words in ("· stopped", "stopped by ada", "continues it: 1 sample pending"):
        assert words in shown.out


def test_the_only_workspace_of_a_member_need_not_be_chosen_to_find_its_runs(busy: "Platform") -> None:
    assert submit(busy, "--wait", "--name", "first").code == 0
    assert busy("workspace", "clear").code == 0
    assert "first" in busy("eval", "list").out
    assert "sums on hard" in busy("eval", "info", "first").out
    assert busy("run", "show", "first", "--remote", "--json").document["run"]["name"] == "first"
    assert "did you mean 'first'?" in busy("run", "delete", "frist", "--remote", "--yes").err
    assert busy("run", "delete", "first", "--remote", "--yes").code == 0
    busy.is_now("bob")
    seen = busy("run", "show", "first", "--remote")
    assert (seen.code, "that you may see" in seen.err, "log in" in seen.err) == (1, True, False)
    seen = busy("eval", "list")
    assert (seen.code, seen.out) == (2, "")
    assert "there are no results at" in seen.err
