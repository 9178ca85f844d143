"""`mesocosm eval run-local` against models that refuse, code that writes where it should not, names and credentials."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mesocosm.cli.eval.work import check_name
from mesocosm.core.failure import UsageError
from mesocosm.testing.fault import Fault
from mesocosm.testing.model_server import ModelServer

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Outcome

pytestmark = pytest.mark.usefixtures("forked")

MAIN = """
import json
import os
import urllib.request

from mesocosm.rollouts import AgentWorkflow, Grader, LocalBackend, get_rollout_context


class Answer(AgentWorkflow):
    async def run(self, ctx):
        does = ctx.metadata["does"]
        if does == "writes":
            os.write(1, b"straight to the descriptor\\n")
        if does in {"asks", "swallows", "unnamed"}:
            at = get_rollout_context()
            named = {} if does == "unnamed" else {"model": "any"}
            body = json.dumps({**named, "messages": ctx.prompt}).encode()
            headers = {"Authorization": f"Bearer {at.api_key}", "Content-Type": "application/json"}
            asked = urllib.request.Request(f"{at.chat_completions_url}/chat/completions", body, headers)
            try:
                urllib.request.urlopen(asked).read()
            except OSError:
                if does == "asks":
                    raise
        return [*ctx.prompt, {"role": "assistant", "content": "done"}]


class Reward(Grader):
    async def grade(self, ctx):
        if ctx.metadata["does"] == "tells":
            raise KeyError(os.environ["PLAIN_NAME"])
        ctx.set_reward(1.0)


backend = LocalBackend(workflow=Answer, grader=Reward)
"""
CONFIG = """
[experiment]
rollout = "answering"
entrypoint = "main.py"
model_path = "builtin/empty"
dataset = "rows"
[evaluation]
limit = "all"
batch_size = 1
[advanced]
isolation = "in-process"
"""
KEY = "canary-0123456789"


class Workspace:
    """A workspace with one rollout."""

    def __init__(self, root: Path, mesocosm: "Invoke") -> None:
        self.root = root
        self._mesocosm = mesocosm
        for folder in ("rollouts/answering", "configs/eval", "data"):
            (root / folder).mkdir(parents=True)
        (root / "rollouts/answering/main.py").write_text(MAIN)
        self.config = root / "configs/eval/answering.toml"
        self.config.write_text(CONFIG)

    def rows(self, *does: str) -> None:
        rows = ({"user_prompt": f"row {n}", "ground_truth": "x", "does": what} for n, what in enumerate(does))
        (self.root / "data/rows.jsonl").write_text("\n".join(map(json.dumps, rows)))

    def run(self, *words: str) -> "Outcome":
        return self._mesocosm("eval", "run-local", self.config, "--no-view", *words)

    def finished(self) -> int:
        """Return how many episodes are kept, apart from owed ones: the trace of one that takes long is kept so far."""
        with sqlite3.connect(self.root / "benchmark_results/orchestrator.sqlite") as connection:
            wanted = "SELECT count(*) FROM episodes WHERE status <> 'cancelled' OR score IS NOT NULL"
            return int(connection.execute(wanted).fetchone()[0])


@pytest.fixture
def workspace(tmp_path: Path, mesocosm: "Invoke", monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    yield Workspace(tmp_path, mesocosm)
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert not kept


@pytest.mark.parametrize(("does", "delay"), [("asks", 0.0), ("asks", 0.8), ("swallows", 0.0)])
def test_a_model_that_refuses_the_key_ends_the_run_and_nothing_is_scored(
    workspace: Workspace, does: str, delay: float
) -> None:
    workspace.rows(does, does, does)
    refusing = repeat(Fault(status=401, text=f"unknown key {KEY}"))
    with ModelServer(faults=refusing, delay=delay) as server:
        outcome = workspace.run("--set", f"experiment.model_path=openai/m@{server.openai_url}")
    assert outcome.code == 4, outcome.out
    assert "401" in outcome.out + outcome.err
    assert KEY not in outcome.out + outcome.err
    assert workspace.finished() == 0


def test_a_model_that_is_not_there_ends_the_run_when_a_workflow_fails_of_it(workspace: Workspace) -> None:
    workspace.rows("asks", "asks")
    with ModelServer(faults=repeat(Fault(status=404, text="no such model"))) as server:
        outcome = workspace.run("--set", f"experiment.model_path=openai/m@{server.openai_url}")
    assert outcome.code == 4, outcome.out
    assert "no such model" in outcome.out + outcome.err
    assert workspace.finished() == 0


@pytest.mark.parametrize("does", ["asks", "swallows"])
def test_a_model_that_answers_every_request_with_400_leaves_no_zeros(workspace: Workspace, does: str) -> None:
    workspace.rows(does, does)
    with ModelServer(faults=repeat(Fault(status=400, text="no such thing"))) as server:
        outcome = workspace.run("--set", f"experiment.model_path=openai/m@{server.openai_url}")
    assert outcome.code != 0, outcome.out
    assert "model_rejected" in outcome.out
    assert "workflow_failed" not in outcome.out


def test_a_workflow_that_names_no_model_is_answered_by_that_of_the_run(workspace: Workspace) -> None:
    workspace.rows("unnamed")
    with ModelServer(models=["m"]) as server:
        outcome = workspace.run("--set", f"experiment.model_path=openai/m@{server.openai_url}")
        assert [call.body["model"] for call in server.calls] == ["m"]
    assert outcome.code == 0, outcome.out


def test_what_is_written_past_python_is_no_part_of_the_document(workspace: Workspace) -> None:
    workspace.rows("writes", "writes")
    command = [sys.executable, "-m", "mesocosm", "eval", "run-local", str(workspace.config), "--json", "--no-view"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=workspace.root)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["data"]["summary"]["graded"] == 2
    assert done.stderr.count("straight to the descriptor") == 2


@pytest.mark.parametrize(
    "name", ["last", "../x", "a/b", "-x", "a\nb", "a\x1b[31m", "n" * 97, "01a1ff8c", "trailing ", ".hidden"]
)
def test_names_that_could_not_be_used_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="--name"):
        check_name(name)


@pytest.mark.parametrize("name", ["", "prompt-2.1", "mit Umlaut ü", "deadline", "2026-11-21", "a" * 96])
def test_ordinary_names_are_taken(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize(
    "setting",
    [
        "experiment.model_path=openai/m@http://user:hunter22@127.0.0.1:9/v1",
        "model.judge=openai/m@http://user:hunter22@127.0.0.1:9/v1",
        f"env.TARGET={KEY}",
    ],
)
def test_settings_with_credentials_are_refused_before_anything_is_stored(workspace: Workspace, setting: str) -> None:
    workspace.rows("asks")
    outcome = workspace.run("--set", setting)
    assert outcome.code == 2
    assert "holds a credential" in outcome.err
    assert not (workspace.root / "benchmark_results").exists()


def test_a_variable_that_looks_like_a_credential_is_pointed_out(workspace: Workspace) -> None:
    workspace.rows("done")
    outcome = workspace.run("--set", "env.SEARCH_API_KEY=not-yet-known")
    assert outcome.code == 0
    assert "env.SEARCH_API_KEY is stored with the results" in outcome.err


def test_secrets_are_hidden_when_a_run_is_resumed_by_another_command(
    workspace: Workspace, mesocosm: "Invoke", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAIN_NAME", KEY)
    workspace.config.write_text(CONFIG + '[secrets]\nrequired = ["PLAIN_NAME"]\n')
    workspace.rows("tells", "tells")
    assert workspace.run("--name", "mine").code == 1
    resumed = mesocosm("run", "resume", "mine", "--retry-failed", "--no-view")
    assert "2 grader_error" in resumed.out
    assert KEY not in resumed.out + resumed.err


def test_rows_that_the_budget_of_the_run_cuts_off_are_owed(workspace: Workspace) -> None:
    workspace.rows("asks", "asks", "asks")
    with ModelServer() as server:
        model = ("--set", f"experiment.model_path=openai/m@{server.openai_url}", "--name", "mine", "--json")
        short = workspace.run(*model, "--run-tokens", "1")
        assert short.code == 3, short.err
        assert short.document["data"]["summary"]["failed"] == 0
        whole = workspace.run(*model, "--run-tokens", "100000")
    assert whole.code == 0, whole.err
    assert whole.document["data"]["summary"]["graded"] == 3
