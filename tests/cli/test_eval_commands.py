"""`mesocosm eval list | info | stop | logs | download` on runs of this machine."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke

MAIN = """
from mesocosm.rollouts import AgentWorkflow, Grader, LocalBackend


class Answer(AgentWorkflow):
    async def run(self, ctx):
        if ctx.artifacts_dir is not None:
            ctx.artifacts_dir.mkdir(parents=True, exist_ok=True)
            (ctx.artifacts_dir / "note.txt").write_text("a note")
        if ctx.metadata["level"] == "hard":
            raise RuntimeError("too hard")
        return [*ctx.prompt, {"role": "assistant", "content": "4"}]


class Right(Grader):
    async def grade(self, ctx):
        ctx.set_reward(1.0)


backend = LocalBackend(workflow=Answer, grader=Right)
"""
CONFIG = """
[experiment]
rollout = "sums"
entrypoint = "main.py"
model_path = "builtin/empty"
dataset = "rows"
[evaluation]
limit = "all"
[advanced]
isolation = "in-process"
"""


@pytest.fixture
def run(tmp_path: Path, mesocosm: "Invoke", monkeypatch: pytest.MonkeyPatch) -> "Invoke":
    """Return what runs `mesocosm` in a workspace where the run `first` is finished."""
    monkeypatch.chdir(tmp_path)
    for folder in ("rollouts/sums", "configs/eval", "data"):
        Path(folder).mkdir(parents=True)
    Path("rollouts/sums/main.py").write_text(MAIN)
    Path("configs/eval/sums.toml").write_text(CONFIG)
    levels = ("easy", "easy", "hard")
    rows = ({"user_prompt": f"q{n}", "ground_truth": "4", "level": level} for n, level in enumerate(levels))
    Path("data/rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert mesocosm("eval", "run-local", "configs/eval/sums.toml", "--name", "first", "--no-view", "--json").code == 0
    return mesocosm


def test_runs_are_listed(run: "Invoke") -> None:
    outcome = run("eval", "list")
    assert outcome.code == 0
    assert "first" in outcome.out
    assert "sums" in outcome.out
    (item,) = run("eval", "list", "--json").document["items"]
    assert (item["name"], item["status"], item["rollout_name"], item["dataset_name"]) == (
        "first",
        "finished",
        "sums",
        "rows",
    )


@pytest.mark.parametrize(
    ("flags", "count"),
    [(("--rollout", "sums"), 1), (("--dataset", "other"), 0), (("--status", "failed"), 0), (("--all",), 1)],
)
def test_the_list_is_filtered(run: "Invoke", flags: tuple[str, ...], count: int) -> None:
    assert len(run("eval", "list", *flags, "--json").document["items"]) == count


def test_runs_of_other_kinds_are_not_listed(run: "Invoke") -> None:
    assert (
        run("bench", "run", "--benchmarks", "context-bench", "--model", "builtin/oracle", "--max-examples", "1").code
        == 0
    )
    assert len(run("eval", "list", "--json").document["items"]) == 1


def test_info_shows_results_configuration_and_slices(run: "Invoke") -> None:
    outcome = run("eval", "info", "first", "--by", "level")
    assert outcome.code == 0
    assert "sums on rows · builtin/empty · finished" in outcome.out
    assert "3/3 samples: 2 graded, 2 passed (score ≥ 1), 1 failed" in outcome.out
    assert "by level" in outcome.out
    assert "mesocosm eval info" not in outcome.out
    assert outcome.out.count("worst") == 1
    assert "pass threshold" in outcome.out
    data = run("eval", "info", "last", "--by", "level", "--json").document["data"]
    assert {one["value"]: one["samples"] for one in data["slices"]["slices"]} == {"easy": 2, "hard": 1}


def test_a_label_that_nobody_has_is_an_error_that_lists_those_there_are(run: "Invoke") -> None:
    outcome = run("eval", "info", "first", "--by", "levle")
    assert outcome.code == 2
    assert "level" in outcome.err
    assert "run first" in outcome.err
    assert outcome.out == ""


def test_an_unknown_run_is_an_error(run: "Invoke") -> None:
    outcome = run("eval", "info", "nothing-like-it")
    assert outcome.code == 2
    assert "the newest evaluation is first" in outcome.err


def test_a_finished_run_cannot_be_stopped(run: "Invoke") -> None:
    outcome = run("eval", "stop", "first", "--yes")
    assert outcome.code == 2
    assert "finished" in outcome.err


def test_logs_tell_of_failures_with_their_traceback(run: "Invoke") -> None:
    outcome = run("eval", "logs", "first", "--failed")
    assert "row 2 trial 1 · failed" in outcome.out
    assert "workflow_failed: RuntimeError: too hard" in outcome.out
    assert "main.py" in outcome.out
    assert "row 0" not in outcome.out


def test_logs_of_chosen_rows(run: "Invoke") -> None:
    found = run("eval", "logs", "first", "--rows", "0-1", "--json").document["items"]
    assert [one["row"] for one in found] == ["0", "1"]


def test_download_writes_the_files_of_a_run(run: "Invoke") -> None:
    outcome = run("eval", "download", "first", "-o", "out", "--type", "all", "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.document["status"] == "done"
    metrics = json.loads(Path("out/metrics.json").read_text())
    assert metrics["summary"]["graded"] == 2
    trajectory = json.loads(Path("out/trajectories/row_0_run_0.json").read_text())
    assert trajectory["steps"]
    assert [path.read_text() for path in Path("out").rglob("note.txt")] == ["a note"] * 3


def test_download_replaces_nothing_unless_it_may(run: "Invoke") -> None:
    words = ("eval", "download", "first", "-o", "out", "--type", "metrics")
    assert run(*words).code == 0
    assert run(*words).code == 2
    assert run(*words, "--overwrite").code == 0


def test_an_unknown_type_is_refused(run: "Invoke") -> None:
    assert run("eval", "download", "first", "--type", "wrong").code == 2


def test_a_report_leads_to_the_log_of_what_failed(run: "Invoke") -> None:
    again = ("eval", "run-local", "configs/eval/sums.toml", "--no-view")
    assert "mesocosm eval logs first --failed\n" in run(*again, "--name", "first").out
    assert "mesocosm eval logs easy\n" in run(*again, "--name", "easy", "--rows", "0-1").out


def test_a_run_from_elsewhere_gives_no_files_of_this_machine(run: "Invoke", tmp_path: Path) -> None:
    ours = run("eval", "download", "first", "-o", "ours", "--type", "all", "--json")
    assert any(name.endswith("note.txt") for name in ours.document["files"])
    assert run("export", "first", "-o", "first.zip").code == 0

    assert run("import", "first.zip", "--results-dir", "theirs").code == 0
    theirs = run("eval", "download", "first", "-o", "copied", "--type", "all", "--results-dir", "theirs", "--json")

    assert theirs.code == 0
    assert "samples.jsonl" in theirs.document["files"]
    assert not any(name.endswith("note.txt") for name in theirs.document["files"])
