"""`mesocosm eval submit | list | info | stop | logs | download` for runs of a workspace on a server with a worker."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.remote.conftest import working

from mesocosm.client import Client
from mesocosm.client.error import ApiError
from mesocosm.client.runs import RunsResource
from mesocosm.sandboxes.bubblewrap import available
from mesocosm.server import adapters

if TYPE_CHECKING:
    from tests.cli.conftest import Outcome
    from tests.cli.remote.conftest import Open, Platform

pytestmark = pytest.mark.skipif(not available(), reason="there is no bubblewrap")

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
    assert (item["name"], item["state"]) == ("first", "finished")
    shown = busy("eval", "info", "first")
    assert shown.code == 0
    for words in ("hard · builtin/empty · finished", "configs/eval/sums.toml", "0.2500  ["):
        assert words in shown.out
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
    assert "reward +0.000" in busy("eval", "info", "second").out
    assert "against first: tie" in busy("eval", "info", "second").out


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
        (["configs/eval/sums.toml", "--dataset", "none"], "has no dataset 'none'"),
        (["configs/eval/sums.toml", "--name", "a b"], "letters, digits"),
        (["configs/eval/sums.toml", "--set", "experiment.model_path=openai/none"], "cannot be run here"),
        (["--from", "none"], "has no evaluation run 'none'"),
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


def test_a_run_that_neither_has_is_unknown(busy: "Platform") -> None:
    seen = busy("eval", "info", "none")
    assert seen.code == 1
    assert "no run 'none'" in seen.err
