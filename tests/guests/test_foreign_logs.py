"""Logs and trajectories against the programs that they are of: inspect_ai, lm_eval and harbor themselves.

MESOCOSM_TEST_GUESTS names a folder with an environment for each: `inspect`, `lmeval`, `harbor`.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Invoke, invoke

GUESTS = Path(os.environ.get("MESOCOSM_TEST_GUESTS") or "/nowhere")
HERE = Path(__file__).parent

_VALIDATE = """
import json, pathlib, sys
from harbor.models.trajectories.trajectory import Trajectory
files = list(pathlib.Path(sys.argv[1]).glob("**/*.json"))
for file in files:
    Trajectory.model_validate_json(file.read_text())
print(len(files))
"""

_TASK = """
task: toy_sums
dataset_path: json
dataset_kwargs: {{data_files: {{test: {rows}}}}}
test_split: test
output_type: generate_until
doc_to_text: "Q: {{{{question}}}}\\nA:"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: ["\\n"]}}
metric_list:
  - {{metric: exact_match, aggregation: mean, higher_is_better: true}}
"""


def python(kind: str) -> Path:
    """Return the interpreter of a program. Skips the test if there is none."""
    path = GUESTS / kind / "bin" / "python"
    if not path.exists():
        pytest.skip(f"MESOCOSM_TEST_GUESTS names no folder with an environment {kind!r}")
    return path


def run(program: Path, *words: str | Path, cwd: Path) -> str:
    """Run a program of another environment and return its standard output."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    done = subprocess.run(
        [program, *words], cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=540
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture
def mesocosm() -> Invoke:
    """Return what runs a command line in this process."""
    return invoke


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[dict[str, Any]]]:
    """Return the logs that inspect_ai made, the results that they were imported into, and the runs."""
    program = python("inspect")
    place = tmp_path_factory.mktemp("inspect")
    run(program, HERE / "make_inspect_logs.py", place / "logs", cwd=place)
    taken = invoke("import", place / "logs", "--results-dir", place / "results", "--json")
    assert taken.code == 0, taken.err
    return place / "logs", place / "results", taken.document["runs"]


def test_numbers_of_inspect_are_ours(imported: tuple[Path, Path, list[dict[str, Any]]]) -> None:
    _, results, runs = imported
    assert len(runs) == 50
    compared = 0
    for one in runs:
        shown = invoke("run", "show", one["run_id"], "--results-dir", results, "--json").document["run"]
        stated = shown["provenance"].get("headline") or {}
        for name, value in shown["scores"].items():
            theirs = [
                stated[key] for key in (f"{name} accuracy", f"{name} mean", f"{name} (mean) accuracy") if key in stated
            ]
            assert all(number == pytest.approx(value, abs=1e-12) for number in theirs), (shown["benchmark"], name)
            compared += len(theirs)
    assert compared >= 44


def test_logs_that_were_read_are_written_again_equal(
    imported: tuple[Path, Path, list[dict[str, Any]]], tmp_path: Path
) -> None:
    logs, results, runs = imported
    for one in runs:
        path = tmp_path / f"{one['run_id']}.eval"
        assert invoke("export", one["run_id"], "-o", path, "--results-dir", results).code == 0
    report = json.loads(run(python("inspect"), HERE / "compare_inspect_logs.py", logs, tmp_path, cwd=tmp_path))
    assert report["different"] == []
    assert (report["equal"], report["opened"]) == (50, 50)


def test_runs_of_ours_open_in_inspect(tmp_path: Path, mesocosm: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    program = python("inspect")
    there = ("--results-dir", tmp_path / "results")
    assert mesocosm("init", "--dir", tmp_path / "env").code == 0
    monkeypatch.chdir(tmp_path / "env")
    assert mesocosm("run", "local", "--model", "builtin/random", "--episodes", "3", "--trials", "2", *there).code == 0
    (tmp_path / "out").mkdir()
    assert mesocosm("export", "last", "-o", tmp_path / "out" / "a.eval", *there).code == 0
    report = json.loads(
        run(program, HERE / "compare_inspect_logs.py", tmp_path / "none", tmp_path / "out", cwd=tmp_path)
    )
    assert (report["opened"], report["samples"]) == (1, 6)


def test_trajectories_validate_in_harbor(imported: tuple[Path, Path, list[dict[str, Any]]], tmp_path: Path) -> None:
    program = python("harbor")
    _, results, runs = imported
    for one in runs[::5]:
        assert (
            invoke(
                "export", one["run_id"], "--format", "atif", "-o", tmp_path / one["run_id"], "--results-dir", results
            ).code
            == 0
        )
    (tmp_path / "check.py").write_text(_VALIDATE)
    assert int(run(program, tmp_path / "check.py", tmp_path, cwd=tmp_path)) > 20


def test_results_of_lm_eval_have_its_numbers(tmp_path: Path, mesocosm: Invoke) -> None:
    program = python("lmeval")
    rows = tmp_path / "rows.jsonl"
    answers = ["lol" if number % 3 else str(number) for number in range(9)]
    rows.write_text("".join(json.dumps({"question": f"{n}?", "answer": answers[n]}) + "\n" for n in range(9)))
    (tmp_path / "toy.yaml").write_text(_TASK.format(rows=rows))
    words = ("run", "--model", "dummy", "--tasks", "toy_sums", "--include_path", tmp_path, "--log_samples")
    run(program, "-m", "lm_eval", *words, "--output_path", tmp_path / "out", cwd=tmp_path)
    taken = mesocosm("import", tmp_path / "out", "--results-dir", tmp_path / "results", "--json").document["runs"]
    shown = mesocosm("run", "show", taken[0]["run_id"], "--results-dir", tmp_path / "results", "--json").document["run"]
    assert shown["scores"] == {"exact_match": pytest.approx(6 / 9)}
    assert shown["provenance"]["headline"]["exact_match,none"] == pytest.approx(6 / 9)
