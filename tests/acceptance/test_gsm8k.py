"""Recorded completions of two models on 1,319 problems get the scores that their publisher gives them.

The data is no part of the project: the test is skipped where the folder `shared/data` does not lie beside it.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "gsm8k"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the published data is not at {DATA}")

MANIFEST = {
    "id": "grade-school-math",
    "adapter": "adapter.py",
    "name": "Grade-school math",
    "binding_vow": {
        "version": "1.0.0",
        "tier": "tier1",
        "description": "Solve the problem. End with a line `A: ` and the number.",
        "observation_space": {"type": "text", "description": "a word problem"},
        "action_space": {"type": "text", "description": "the solution"},
        "reward": {"type": "binary", "range": {"low": 0, "high": 1}},
        "episode": {"max_steps": 1, "parallel_episodes": 64, "deterministic_reset": True},
    },
    "scoring": {
        "primary_metric": "accuracy",
        "metrics": [
            {"name": "accuracy", "type": "terminal_field", "field": "correct", "aggregation": "pass_rate"},
            {"name": "answered", "type": "terminal_field", "field": "answered", "aggregation": "mean"},
        ],
    },
}

ADAPTER = """
import argparse, json, re
from pathlib import Path
from bench_common.env_sdk import BaseEnv, StepResult, serve

ROWS = [json.loads(line) for line in Path(__file__).with_name("test.jsonl").read_text(encoding="utf-8").splitlines()]

def number(text):
    found = re.search(r"-?[\\d,]*\\.?\\d+", text)
    return float(found[0].replace(",", "")) if found else None

class Problems(BaseEnv):
    def reset(self, seed=None, **params):
        self.row = ROWS[seed]
        return self.row["question"]

    def step(self, action):
        gold = number(self.row["answer"].rpartition("####")[2])
        _, marker, rest = str(action).rpartition("A:")
        given = number(rest) if marker else None
        correct = given is not None and abs(given - gold) < 1e-6
        return StepResult("", float(correct), True, False, {"correct": correct, "answered": "yes" if marker else "no"})

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int)
serve(Problems, port=parser.parse_args().port, host="127.0.0.1")
"""


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    (tmp_path / "benchanything.json").write_text(json.dumps(MANIFEST))
    (tmp_path / "adapter.py").write_text(ADAPTER)
    (tmp_path / "test.jsonl").symlink_to(DATA / "test.jsonl")
    return tmp_path


def run_local(place: Path, recorded: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "mesocosm", "run", "local", "--model", f"replay/{recorded}", "--json", "--quiet"]
    done = subprocess.run(
        [*command, "--episodes", "1319", "--parallel", "16"], cwd=place, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    return document


@needs_data
@pytest.mark.parametrize(
    ("file", "correct", "interval"),
    [("recorded_6b_finetuning.jsonl", 286, (0.195, 0.240)), ("recorded_175b_finetuning.jsonl", 458, (0.322, 0.373))],
)
def test_the_replay_of_a_recorded_model_scores_as_published(
    environment: Path, file: str, correct: int, interval: tuple[float, float]
) -> None:
    run = run_local(environment, DATA / file)["run"]
    metric = next(metric for metric in run["metrics"] if metric["name"] == "accuracy")
    assert metric["n_scored"] == metric["n_planned"] == 1319
    assert round(metric["value"] * 1319) == correct
    assert metric["value"] == pytest.approx(correct / 1319)
    assert (metric["low"], metric["high"]) == pytest.approx(interval, abs=0.0006)
