"""`mesocosm eval run-local`: what it runs, what it leaves alone, what it says, and how it guards a pipeline."""

import json
import re
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.store import open_store
from mesocosm.store.revision import DATABASE_NAME

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke, Outcome

MAIN = """
from mesocosm.rollouts import AgentWorkflow, AgentWorkflowConfig, AgentWorkflowOutput, Grader, LocalBackend


class Answer(AgentWorkflow):
    async def run(self, ctx):
        print("a word of the workflow")
        with open(ctx.metadata["notes"], "a") as notes:
            notes.write(ctx.prompt[-1]["content"] + "\\n")
        if ctx.metadata["does"] == "fails":
            raise KeyError("no tool")
        if ctx.metadata["does"] == "imports":
            import cheese_of_nowhere
        return AgentWorkflowOutput(
            messages=[*ctx.prompt, {"role": "assistant", "content": ctx.metadata["does"]}], metrics={"turns": 1.0}
        )


class Reward(Grader):
    async def grade(self, ctx):
        said = ctx.sample.messages[-1]["content"]
        if said == "skipped":
            ctx.sample.remove_sample = True
        else:
            ctx.set_reward(float(said))


backend = LocalBackend(workflow=Answer, grader=Reward, workflow_config=AgentWorkflowConfig(name="answer"))
"""
CONFIG = """
[experiment]
rollout = "answering"
entrypoint = "main.py"
model_path = "builtin/empty"
dataset = "rows"

[evaluation]
limit = "all"
batch_size = 4

[advanced]
isolation = "in-process"
"""


class Workspace:
    """A workspace with one rollout whose rows say what becomes of them."""

    def __init__(self, root: Path, mesocosm: "Invoke") -> None:
        self.root = root
        self.mesocosm = mesocosm
        self.notes = root / "notes"
        for folder in ("rollouts/answering", "configs/eval", "data"):
            (root / folder).mkdir(parents=True)
        self.main.write_text(MAIN)
        self.config.write_text(CONFIG)
        self.rows("1", "0", "0.5", "1")

    @property
    def main(self) -> Path:
        return self.root / "rollouts/answering/main.py"

    @property
    def config(self) -> Path:
        return self.root / "configs/eval/answering.toml"

    def rows(self, *does: str) -> None:
        self.notes.write_text("")
        rows = (
            {"user_prompt": f"row {n}", "ground_truth": "x", "does": what, "notes": str(self.notes)}
            for n, what in enumerate(does)
        )
        (self.root / "data/rows.jsonl").write_text("\n".join(map(json.dumps, rows)))

    def run(self, *words: str) -> "Outcome":
        return self.mesocosm("eval", "run-local", self.config, "--no-view", *words)

    def data(self, *words: str) -> dict[str, Any]:
        outcome = self.run("--json", *words)
        assert outcome.code in {0, 1, 3}, outcome.err
        found = outcome.document["data"]
        assert isinstance(found, dict)
        return found

    def played(self) -> Counter[str]:
        return Counter(self.notes.read_text().splitlines())

    def kill(self) -> None:
        """Leave the run as one whose process was killed behind its last row."""
        with closing(sqlite3.connect(self.root / "benchmark_results" / DATABASE_NAME)) as connection:
            connection.execute("UPDATE runs SET status = 'running', ended_at = NULL, metrics = '[]', holder = NULL")
            connection.commit()

    def eval(self, *words: str) -> "Outcome":
        return self.mesocosm("eval", *words)


@pytest.fixture
def workspace(tmp_path: Path, mesocosm: "Invoke", monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.chdir(tmp_path)
    return Workspace(tmp_path, mesocosm)


def test_results_are_told(workspace: Workspace) -> None:
    outcome = workspace.run()
    assert outcome.code == 0
    assert "answering on rows · builtin/empty · finished" in outcome.out
    assert "rows: all 4 rows" in outcome.err
    assert "4/4 samples: 4 graded, 2 passed (score ≥ 1), 0 failed" in outcome.out


def test_the_document_has_the_older_names_and_every_number(workspace: Workspace) -> None:
    data = workspace.data()
    assert data["summary"]["avg_reward"] == 0.625
    assert data["summary"]["pass_rate"] == 0.5
    assert data["summary"]["progress"] == {"completed": 4, "total": 4, "unit": "samples"}
    assert (data["rollout"], data["dataset"], data["entrypoint"]) == ("answering", "rows", "main.py")
    assert data["results"]["score"]["value"] == 0.625
    assert [one["name"] for one in data["results"]["metrics"]] == ["turns"]


def test_what_a_rollout_prints_is_no_output_of_the_command(workspace: Workspace) -> None:
    outcome = workspace.run("--json")
    assert outcome.document["schema_version"] == 1
    assert "a word of the workflow" not in outcome.out


def test_the_same_command_again_runs_nothing(workspace: Workspace) -> None:
    first, played = workspace.data(), workspace.played()
    again = workspace.run()
    assert "nothing was run" in again.out
    assert workspace.played() == played
    assert workspace.data()["eval_run"]["id"] == first["eval_run"]["id"]


def test_a_run_that_was_killed_behind_its_last_row_gets_its_numbers_and_is_not_played_again(
    workspace: Workspace,
) -> None:
    first, played = workspace.data(), workspace.played()
    workspace.kill()
    again = workspace.data()
    assert workspace.played() == played
    assert again["eval_run"]["id"] == first["eval_run"]["id"]
    assert (again["eval_run"]["status"], again["results"]) == (first["eval_run"]["status"], first["results"])


def test_run_local_takes_a_configuration_too(workspace: Workspace) -> None:
    outcome = workspace.mesocosm("run", "local", workspace.config, "--no-view", "--json")
    assert outcome.document["data"]["summary"]["graded"] == 4


def test_a_changed_threshold_reads_the_stored_rewards_anew(workspace: Workspace) -> None:
    first, played = workspace.data(), workspace.played()
    second = workspace.data("--set", "evaluation.pass_threshold=0.5")
    assert second["eval_run"]["id"] == first["eval_run"]["id"]
    assert (first["summary"]["pass_rate"], second["summary"]["pass_rate"]) == (0.5, 0.75)
    assert second["config"]["pass_threshold"] == 0.5
    assert workspace.played() == played


def test_a_run_that_goes_on_with_another_threshold_is_read_by_it(workspace: Workspace) -> None:
    workspace.data()
    workspace.kill()
    assert workspace.data("--set", "evaluation.pass_threshold=0.5")["summary"]["pass_rate"] == 0.75


def test_a_changed_rollout_is_another_experiment(workspace: Workspace) -> None:
    first = workspace.data()
    workspace.main.write_text(MAIN.replace('"turns": 1.0', '"turns": 2.0'))
    second = workspace.data()
    assert second["eval_run"]["id"] != first["eval_run"]["id"]
    assert second["results"]["metrics"][0]["value"] == 2.0


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda w: w.main.write_text(MAIN + "\n# changed\n"), "rollout source"),
        (lambda w: w.rows("1", "1", "1", "1"), "dataset"),
        (lambda w: w.config.write_text(CONFIG.replace("builtin/empty", "builtin/oracle")), "model"),
        (lambda w: w.config.write_text(CONFIG.replace("[evaluation]", "[evaluation]\nn = 2")), "n"),
    ],
    ids=["source", "dataset", "model", "n"],
)
def test_a_named_run_with_other_inputs_is_refused_and_they_are_named(
    workspace: Workspace, change: Any, named: str
) -> None:
    workspace.data("--name", "mine")
    change(workspace)
    outcome = workspace.run("--name", "mine")
    assert outcome.code == 2
    assert f"changed: {named}." in outcome.err


def test_fresh_begins_anew_and_keeps_the_old_run(workspace: Workspace) -> None:
    first = workspace.data("--name", "mine")
    workspace.rows("1", "1")
    second = workspace.data("--name", "mine", "--fresh")
    assert second["eval_run"]["id"] != first["eval_run"]["id"]
    assert second["summary"]["graded"] == 2
    names = [one["name"] for one in workspace.eval("list", "--json").document["items"]]
    assert names[0] == "mine"
    assert names[1].startswith("mine.archive-")


def test_retry_failed_runs_what_has_no_value_again_and_leaves_what_counts_as_worst(workspace: Workspace) -> None:
    workspace.rows("1", "fails", "skipped", "bad number", "0")
    first = workspace.data()
    assert (first["summary"]["failed"], first["summary"]["skipped"]) == (2, 1)
    second = workspace.data("--retry-failed")
    assert second["eval_run"]["id"] == first["eval_run"]["id"]
    assert workspace.played() == Counter({"row 0": 1, "row 1": 1, "row 2": 2, "row 3": 2, "row 4": 1})
    assert second["summary"]["progress"]["completed"] == 5


def test_causes_are_told_apart(workspace: Workspace) -> None:
    workspace.rows("1", "fails", "bad number")
    outcome = workspace.run()
    assert "1 workflow_failed (workflow, counts as worst); row 1: KeyError: 'no tool'" in outcome.out
    assert "1 grader_error (grader, has no score); row 2: ValueError: could not convert" in outcome.out


def test_rows_are_chosen_by_place(workspace: Workspace) -> None:
    data = workspace.data("--rows", "0,2-3")
    assert set(workspace.played()) == {"row 0", "row 2", "row 3"}
    assert data["rows"] == "3 of 4 rows by their places from 0 (0,2-3)"


def test_a_limit_on_the_line_goes_before_the_configuration(workspace: Workspace) -> None:
    assert workspace.data("--limit", "1")["summary"]["progress"]["total"] == 1


def test_n_tries_give_pass_at_k_for_every_k(workspace: Workspace) -> None:
    data = workspace.data("--set", "evaluation.n=3")
    passes = data["results"]["passes"]
    assert [one["k"] for one in passes] == [1, 2, 3]
    assert all(one["at"]["value"] == one["hat"]["value"] == 0.5 for one in passes)
    told = workspace.run("--set", "evaluation.n=3").out
    assert re.search(r"k  pass@k  95 % interval +pass\^k  95 % interval +rows", told)
    assert "\n\n\n" not in told
    assert re.search(r"\n3  0\.5000  \[0\.\d{4}, 0\.\d{4}\] weak  0\.5000  \[0\.\d{4}, 0\.\d{4}\] weak +4\n", told)


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("pass_rate<0.6", 1),
        ("pass_rate<0.5", 0),
        ("score<0.7", 1),
        ("failed>0", 0),
        ("missing>1%", 0),
        ("turns>0.5", 1),
        ("nothing<1", 3),
    ],
)
def test_gates(workspace: Workspace, condition: str, code: int) -> None:
    assert workspace.run("--fail-if", condition).code == code


def test_a_gate_is_written_as_junit_and_markdown(workspace: Workspace) -> None:
    words = ("--fail-if", "pass_rate<0.9", "--junit", "out/gate.xml", "--markdown", "out/report.md")
    assert workspace.run(*words).code == 1
    assert 'failures="1"' in (workspace.root / "out/gate.xml").read_text()
    report = (workspace.root / "out/report.md").read_text()
    assert "### answering on rows" in report
    assert "❌ `pass_rate<0.9` rows " in report
    assert "FAIL: pass_rate is 0.5000" in report


def test_a_baseline_guards_against_regressions(workspace: Workspace) -> None:
    workspace.data("--name", "main")
    workspace.main.write_text(MAIN.replace("float(said)", "float(said) - 1"))
    words = ("--name", "worse", "--baseline", "main", "--fail-if", "regression>0.5", "--markdown", "report.md")
    outcome = workspace.run(*words)
    assert outcome.code == 1
    report = (workspace.root / "report.md").read_text()
    assert "Against the baseline main:\n\n| benchmark | run | score |" in report
    assert "against the baseline main:" in outcome.out
    assert "gate regression>0.5  rows  worse against main  FAIL: reward -1.0000" in outcome.out
    assert "\ngate closed\n" in outcome.out


def test_the_document_has_the_comparison_with_the_baseline(workspace: Workspace) -> None:
    workspace.data("--name", "main")
    workspace.main.write_text(MAIN.replace("float(said)", "1 - float(said)"))
    data = workspace.data("--name", "turned", "--baseline", "main")
    (pair,) = data["comparison"]["benchmarks"][0]["pairs"]
    assert data["baseline"] == "main"
    assert pair["delta"] == pytest.approx(-0.25)


def test_a_run_that_is_its_own_baseline_is_an_error(workspace: Workspace) -> None:
    workspace.data("--name", "main")
    for words in ((), ("--fail-if", "regression"), ("--fail-if", "score<0.1", "--allow-undecided")):
        outcome = workspace.run("--name", "main", "--baseline", "main", *words)
        assert outcome.code == 1
        assert "NOTHING TO JUDGE: the baseline is this run itself" in outcome.out


def test_a_regression_without_a_baseline_cannot_be_asked_for(workspace: Workspace) -> None:
    outcome = workspace.run("--fail-if", "regression")
    assert outcome.code == 2
    assert "--baseline" in outcome.err


def test_all_problems_of_a_configuration_are_told_and_nothing_is_made(workspace: Workspace) -> None:
    workspace.config.write_text(CONFIG.replace("batch_size = 4", 'batch_size = "x"\nn = 0'))
    outcome = workspace.run()
    assert outcome.code == 2
    assert "evaluation.batch_size" in outcome.err
    assert "evaluation.n" in outcome.err
    assert not (workspace.root / "benchmark_results").exists()


def test_a_run_without_a_score_is_a_failure(workspace: Workspace) -> None:
    workspace.rows("bad", "bad")
    assert workspace.run().code == 1


@pytest.mark.parametrize(
    ("does", "words", "most"),
    [("imports", "ModuleNotFoundError: No module named 'cheese_of_nowhere'", 8), ("fails", "KeyError: 'no tool'", 12)],
)
def test_a_rollout_that_fails_before_it_asks_the_model_ends_the_run(
    does: str, words: str, most: int, workspace: Workspace
) -> None:
    workspace.rows(*[does] * 40)
    outcome = workspace.run()
    assert outcome.code == 4
    assert "failed so before a model was asked, so every other one would\n  | " in outcome.out
    assert f"\n  | {words}\n" in outcome.out
    assert len(workspace.played()) <= most
    with closing(sqlite3.connect(workspace.root / "benchmark_results" / DATABASE_NAME)) as connection:
        states = connection.execute("SELECT status, count(*) FROM episodes GROUP BY status").fetchall()
    assert "failed" not in dict(states)


def test_rows_that_fail_after_others_did_not_are_results(workspace: Workspace) -> None:
    workspace.rows("1", *["imports"] * 3, *["fails"] * 8)
    workspace.config.write_text(CONFIG.replace("batch_size = 4", "batch_size = 1"))
    assert workspace.run().code == 0
    assert len(workspace.played()) == 12


def test_secrets_reach_the_rollout_and_nothing_else(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLAIN_NAME", raising=False)
    value = "canary-0123456789"
    workspace.main.write_text(
        MAIN.replace('print("a word', 'import os; print(os.environ["PLAIN_NAME"]); print("a word').replace(
            'KeyError("no tool")', 'KeyError(os.environ["PLAIN_NAME"])'
        )
    )
    workspace.config.write_text(CONFIG.replace("in-process", "process") + '\n[secrets]\nrequired = ["PLAIN_NAME"]\n')
    workspace.rows("1", "fails")
    (workspace.root / "secret.env").write_text(f"PLAIN_NAME={value}\n")
    outcome = workspace.run("--secrets-file", "secret.env")
    assert outcome.code == 0, outcome.err
    assert "1 workflow_failed" in outcome.out
    logs = workspace.eval("logs", "last")
    texts = [outcome.out, outcome.err, logs.out]
    texts += [
        path.read_bytes().decode(errors="replace") for path in (workspace.root / "benchmark_results").rglob("*.*")
    ]
    assert not [text[:80] for text in texts if value in text]


def test_missing_secrets_are_named_before_anything_runs(workspace: Workspace) -> None:
    workspace.config.write_text(CONFIG + '\n[secrets]\nrequired = ["NOT_THERE_1", "NOT_THERE_2"]\n')
    outcome = workspace.run()
    assert outcome.code == 2
    assert "NOT_THERE_1" in outcome.err
    assert "NOT_THERE_2" in outcome.err
    assert workspace.played() == Counter()


def test_the_run_names_the_command_that_repeats_it(workspace: Workspace) -> None:
    from mesocosm.server.runs.commands import repeat_command

    workspace.data("--rows", "0,1")
    with closing(open_store(workspace.root / "benchmark_results")) as store:
        run = store.runs.get(store.runs.list().items[0].id)
    assert repeat_command(run.spec) == f"mesocosm eval run-local {workspace.config} --rows 0,1 --fresh"


def test_logs_name_what_the_grader_did_and_do_not_take_skipped_samples_for_failed(workspace: Workspace) -> None:
    workspace.rows("1", "skipped", "no number")
    workspace.run("--name", "mixed")
    told = workspace.eval("logs", "mixed").out
    assert "row 1 trial 1 · skipped" in told
    assert "row 2 trial 1 · completed · no score" in told
    assert "grader_error: ValueError: could not convert" in told
    assert "main.py" in told
    failed = workspace.eval("logs", "mixed", "--failed").out
    assert "row 2" in failed
    assert "row 1" not in failed
    assert "no sample failed" in workspace.eval("logs", "mixed", "--failed", "--rows", "0").out


def test_another_choice_of_rows_is_not_called_another_dataset(workspace: Workspace) -> None:
    workspace.data("--name", "mine")
    outcome = workspace.run("--name", "mine", "--rows", "0-1")
    assert outcome.code == 2
    assert "changed: rows." in outcome.err


def test_the_model_of_the_line_goes_before_the_configuration(workspace: Workspace) -> None:
    workspace.run("--name", "mine", "--model", "builtin/oracle")
    assert "answering on rows · builtin/oracle · finished" in workspace.eval("info", "mine").out


def test_all_rows_can_be_asked_for_on_the_line(workspace: Workspace) -> None:
    workspace.config.write_text(CONFIG.replace('limit = "all"', "limit = 1"))
    assert workspace.data()["summary"]["progress"]["total"] == 1
    assert workspace.data("--limit", "all")["summary"]["progress"]["total"] == 4


def test_who_submits_without_a_login_is_told_how_to_log_in_and_how_to_do_without_a_server(workspace: Workspace) -> None:
    outcome = workspace.eval("submit", str(workspace.config), "--yes")
    assert outcome.code == 1
    assert "mesocosm auth login" in outcome.err
    assert f"mesocosm eval run-local {workspace.config}" in outcome.err


def test_a_comparison_names_the_run_that_passes_and_why_five_rows_are_a_tie(workspace: Workspace) -> None:
    workspace.rows("1", "1", "1", "1", "1")
    workspace.run("--name", "before")
    workspace.main.write_text(MAIN.replace("float(said)", "0.0"))
    told = workspace.run("--name", "after", "--baseline", "before").out
    assert "5 rows pass only in before: 0, 1, 2, 3, 4\n" in told
    assert "the interval of after's difference excludes 0, but the test does not reject" in told


def test_the_log_of_a_run_has_the_lines_of_that_run_alone(workspace: Workspace) -> None:
    workspace.config.write_text(CONFIG.replace('"in-process"', '"process"'))
    workspace.rows("0.5", "no number")
    workspace.main.write_text(f"print('the first source')\n{MAIN}")
    workspace.run("--name", "first")
    workspace.main.write_text(f"print('the second source')\n{MAIN}")
    workspace.run("--name", "second")
    workspace.run("--name", "second", "--retry-failed")
    workspace.run("--name", "second", "--set", "evaluation.pass_threshold=0.4")
    first, second = (workspace.eval("logs", name, "--limit", "1").out for name in ("first", "second"))
    assert (first.count("the first source"), first.count("the second source")) == (1, 0)
    assert (second.count("the first source"), second.count("the second source")) == (0, 3)


def test_a_dataset_that_is_not_there_names_the_near_one(workspace: Workspace) -> None:
    outcome = workspace.run("--set", "experiment.dataset=row")
    assert outcome.code == 2
    assert ".parquet" in outcome.err
    assert "experiment.dataset: there is no dataset 'row'" in outcome.err
    assert "did you mean 'rows'?" in outcome.err


def test_a_limit_that_is_no_number_is_told_what_it_may_be(workspace: Workspace) -> None:
    outcome = workspace.run("--limit", "some")
    assert outcome.code == 2
    assert """'some' is neither a number, at least 1, nor "all\"""" in outcome.err
